"""The options of the commands, in groups."""

from kernelweave.cli.options.groups import as_option, grouped
from kernelweave.cli.options.learning import Boosting, Effort, Learning
from kernelweave.cli.options.output import Explaining, Measuring, ModelOut, Scanning, Show, TableOut
from kernelweave.cli.options.placing import Placing, every_core
from kernelweave.cli.options.reading import Model, Reading, Rows
from kernelweave.cli.options.searching import Keeping, Searching

__all__ = [
    "Boosting",
    "Effort",
    "Explaining",
    "Keeping",
    "Learning",
    "Measuring",
    "Model",
    "ModelOut",
    "Placing",
    "Reading",
    "Rows",
    "Scanning",
    "Searching",
    "Show",
    "TableOut",
    "as_option",
    "every_core",
    "grouped",
]
