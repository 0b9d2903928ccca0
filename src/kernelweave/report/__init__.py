"""One page on a model: what it is, how well it does, what it goes by, in a file that asks for nothing."""

from kernelweave.report.write import write_report

__all__ = ["write_report"]
