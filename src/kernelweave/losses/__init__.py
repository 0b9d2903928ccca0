"""Losses: values, derivatives, conjugates, and what solvers ask of them."""

from __future__ import annotations

from kernelweave.losses.base import BoxQP as BoxQP
from kernelweave.losses.base import Loss as Loss
from kernelweave.losses.registry import LOSSES as LOSSES
from kernelweave.losses.registry import losses_for as losses_for
from kernelweave.losses.registry import make_loss as make_loss
from kernelweave.losses.registry import open_parameters as open_parameters
from kernelweave.losses.registry import parameters_for as parameters_for

# The registry: one line for each loss.  Messages and tables list them in this order.
# isort: off
from kernelweave.losses.hinge import Hinge as Hinge
from kernelweave.losses.logistic import Logistic as Logistic
from kernelweave.losses.squared_hinge import SquaredHinge as SquaredHinge
from kernelweave.losses.smooth_hinge import SmoothHinge as SmoothHinge
from kernelweave.losses.epsilon_insensitive import EpsilonInsensitive as EpsilonInsensitive
from kernelweave.losses.squared import Squared as Squared
from kernelweave.losses.huber import Huber as Huber
from kernelweave.losses.squared_epsilon_insensitive import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
from kernelweave.losses.one_class import OneClass as OneClass
