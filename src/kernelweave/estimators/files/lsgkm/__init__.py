"""Files of LS-GKM: its models, read and written, and the table of l-mer scores that deltaSVM takes."""

from kernelweave.estimators.files.lsgkm.lmers import write_lmers
from kernelweave.estimators.files.lsgkm.read import is_lsgkm, read_lsgkm
from kernelweave.estimators.files.lsgkm.write import write_lsgkm

__all__ = ["is_lsgkm", "read_lsgkm", "write_lmers", "write_lsgkm"]
