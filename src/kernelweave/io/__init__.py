"""Readers and writers, one file per format."""

from kernelweave.io.atomic import atomic_path, check_writable
from kernelweave.io.dataset import Dataset
from kernelweave.io.formats.fasta import read_fasta
from kernelweave.io.sniff import FORMATS, read, sniff, write

__all__ = ["FORMATS", "Dataset", "atomic_path", "check_writable", "read", "read_fasta", "sniff", "write"]
