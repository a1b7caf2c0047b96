"""Alarms, and what the library behind them says."""

from __future__ import annotations

import logging

import pytest

from catchment.clock import ManualClock
from catchment.schedule.jobs import Timers


class Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def raw():
    """What anybody would see who listens to Python's own logging, or prints it for want of a listener."""
    handler = Collected()
    logging.getLogger().addHandler(handler)
    yield handler.lines
    logging.getLogger().removeHandler(handler)


@pytest.mark.proves("R-32")
@pytest.mark.parametrize("name", ["apscheduler.scheduler", "apscheduler.executors.default"])
async def test_no_raw_line_of_the_scheduler_reaches_the_log(clock: ManualClock, log, raw, name):
    timers = Timers(clock)
    timers.start(lambda _: None)
    timers.set("cleanup", clock.now())
    logging.getLogger(name).warning('Run time of job "%s" was missed by %s', "Alarms._rung", "0:00:02")
    timers.stop()
    assert raw == []
    said = [line for line in log if "_rung" in line]
    assert [line.split(" ")[0] for line in said] == ["DEBUG"]


@pytest.mark.proves("R-32")
async def test_an_alarm_that_breaks_is_still_told(clock: ManualClock, log):
    Timers(clock)
    logging.getLogger("apscheduler.executors.default").error("Job raised an exception")
    assert any(line.startswith("ERROR") and "Job raised" in line for line in log)
