"""``python -m kernelweave``: the program `kernelweave`."""

from kernelweave.cli.entry import main

if __name__ == "__main__":
    main()
