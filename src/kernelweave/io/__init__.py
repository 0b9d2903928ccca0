"""Readers and writers, one file per format."""

from kernelweave.data.atomic import check_writable, open_aside
from kernelweave.io.dataset import Dataset
from kernelweave.io.formats.fasta import read_fasta
from kernelweave.io.registry import FORMATS, Format, register
from kernelweave.io.sniff import read, sniff, write

__all__ = [
    "FORMATS",
    "Dataset",
    "Format",
    "check_writable",
    "open_aside",
    "read",
    "read_fasta",
    "register",
    "sniff",
    "write",
]
