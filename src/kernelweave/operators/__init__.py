"""Kernels bound to data: dense Gram, cached columns, and the planner that chooses."""

from kernelweave.operators.base import Operator, product
from kernelweave.operators.cached import CachedColumns
from kernelweave.operators.cross import CrossKernel
from kernelweave.operators.dense import DenseGram
from kernelweave.operators.planner import bind, plan

__all__ = ["CachedColumns", "CrossKernel", "DenseGram", "Operator", "bind", "plan", "product"]
