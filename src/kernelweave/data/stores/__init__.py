"""Stores on disk: rows of any kind in part files with a manifest, read by memory map."""

from kernelweave.data.stores.cuts import PART_ROWS_STORED, in_memory, is_stored, parts_of
from kernelweave.data.stores.manifest import is_store, read_manifest
from kernelweave.data.stores.packing import Packing
from kernelweave.data.stores.rows import Stored, open_store
from kernelweave.data.stores.writer import StoreWriter, check_target, write_store

__all__ = [
    "PART_ROWS_STORED",
    "Packing",
    "StoreWriter",
    "Stored",
    "check_target",
    "in_memory",
    "is_store",
    "is_stored",
    "open_store",
    "parts_of",
    "read_manifest",
    "write_store",
]
