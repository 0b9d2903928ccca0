"""Options about where work runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kernelweave.cli.options.groups import WORK, option


@dataclass(frozen=True)
class Placing:
    """Where work runs: here, or on a cluster."""

    engine: Annotated[
        Literal["serial", "threads", "dask"] | None,
        option(
            WORK,
            "serial: one thread; threads (default); dask: processes on this machine, or the cluster of --scheduler.",
            metavar="NAME",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        option(WORK, "Address of a Dask scheduler, such as tcp://10.0.0.1:8786: work runs there.", metavar="ADDRESS"),
    ] = None

    def chosen(self) -> str | None:
        """Return the engine as an estimator takes it, None where the command line does not say."""
        if self.scheduler is None:
            return self.engine
        if self.engine not in (None, "dask"):
            raise ValueError(f"--scheduler needs --engine dask, not --engine {self.engine}.")
        if "://" not in self.scheduler:
            raise ValueError(
                f"--scheduler {self.scheduler} is not an address; write it as 'dask scheduler' prints it, such as "
                "tcp://10.0.0.1:8786."
            )
        return self.scheduler

    def apply(self, model: Any) -> Any:
        """Let a loaded model work where the command line says, and on every core unless the model says otherwise."""
        core = model[-1] if hasattr(model, "steps") else model
        core.set_params(engine=self.chosen() or core.engine, n_jobs=every_core(core.n_jobs))
        return model


def every_core(n_jobs: int | None) -> int:
    """Return the number of jobs of a command: where nobody says how many, one for each core."""
    return -1 if n_jobs is None else n_jobs
