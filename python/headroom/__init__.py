# SPDX-License-Identifier: GPL-3.0-or-later
"""Headroom: simulator and capacity planner for GPU clusters.

    import headroom

    result = headroom.run("scenarios/demo.json", policy__order="sjf")
    result.digest, result.metrics["wait_s.p95"], result.jobs

docs/researcher/python.md explains the package.
"""

from ._base import NEVER_US, HeadroomError, InputError, PolicyError, lib, text
from .experiments import Sweep, compare, plan, sweep
from .policy import PREEMPTS, STARVES_NOBODY, Event, Moves, Policy, View
from .run import Run, run
from .scenario import Scenario
from .trace import Trace

__version__ = text(lib.hr_version())

__all__ = ["NEVER_US", "PREEMPTS", "STARVES_NOBODY", "Event", "HeadroomError", "InputError", "Moves", "Policy",
           "PolicyError", "Run", "Scenario", "Sweep", "Trace", "View", "compare", "plan", "run", "sweep"]

for _class in (HeadroomError, InputError, PolicyError):
    _class.__module__ = __name__
