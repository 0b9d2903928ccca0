"""`kernelweave predict --scan`: windows of long sequences, and the forms that browsers read."""

from kernelweave.cli.scanning.scan import scan

__all__ = ["scan"]
