"""Run the campaign: `make campaign`, or `python -m tests.campaign --help`."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
