"""Kernels bound to data: dense Gram, cached columns, and the planner that chooses."""

from kernelweave.operators.base import Operator, product
from kernelweave.operators.expansion.cross import CrossKernel
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import DenseGram
from kernelweave.operators.planner.one import bind, plan

__all__ = ["CachedColumns", "CrossKernel", "DenseGram", "Operator", "bind", "plan", "product"]
