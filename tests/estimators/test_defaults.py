"""What estimators do where the user says nothing: cores, kernels, scaling."""

import logging

from kernelweave.estimators.fitting import make_monitor
from kernelweave.solvers.loop import Progress


def test_the_log_says_once_that_cores_are_idle(caplog):
    with caplog.at_level(logging.INFO, logger="kernelweave"):
        monitor = make_monitor((), verbose=1, idle=7)
        for seconds in (0.1, 6.0, 7.0):
            monitor(Progress(1, seconds, 2.0, 1.0, 0.5))
    hints = [record.getMessage() for record in caplog.records if "idle" in record.getMessage()]
    assert hints == ["7 more cores are idle: n_jobs=-1 uses them all"]
