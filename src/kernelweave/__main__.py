"""``python -m kernelweave``: the program `kernelweave`."""

from kernelweave.cli.app import main

if __name__ == "__main__":
    main()
