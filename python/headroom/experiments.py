# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs: comparisons of policies, plans, and sweeps."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _arguments as arguments
from ._base import InputError, check, ffi, lib, new_error, notes_of, taken_text, text
from ._interrupt import Stoppable
from .policy import BoundPolicy, Policy, without_address
from .scenario import Scenario, ScenarioLike, TraceLike, overrides_of


_MOST = 2**32 - 1  # maximum number of replications, and of threads


def _threads(threads: Optional[int]) -> int:
    """The number of threads; None and 0: as many as processors."""
    return arguments.whole("threads", 0 if threads is None else threads, 0, _MOST) or os.cpu_count() or 1


def _contenders(scenario, overrides, policies):
    """The contenders of a comparison. `policies`: a list of policies, or a single policy."""
    if isinstance(policies, (str, Policy)):
        policies = [policies]
    if isinstance(policies, (bytes, bytearray)):
        raise arguments.wrong_type("policies", "a list of policies", policies)
    try:
        found = list(policies)
    except TypeError:
        raise arguments.wrong_type("policies", "a list of policies", policies) from None
    labels = set()
    for policy in found:
        if not isinstance(policy, (str, Policy)):
            raise arguments.wrong_type("policies", "a name or an object of a class derived from Policy", policy)
        label = policy.name if isinstance(policy, Policy) else policy
        arguments.encoded("name of policy", label)
        if label in labels:
            raise InputError("policies: '%s' is listed twice" % label)
        labels.add(label)
        if isinstance(policy, Policy):
            _check_unused(overrides, label)
    return [_Contender(scenario, overrides, policy) for policy in found]


def _check_unused(overrides, label):
    """Raises an exception if overrides set parameters of the policy: a policy in Python has none."""
    for key in (override.partition("=")[0] for override in overrides):
        if key == "policy" or key.startswith("policy."):
            raise InputError("settings: '%s' has no effect on '%s', which is a policy in Python" % (key, label))


class _Contender:
    """A policy of a comparison: a text "NAME:KEY=VALUE,...", or an object of a class derived from Policy. A text is an
    override of the scenario, which is loaded again for it."""

    def __init__(self, scenario: ScenarioLike, overrides: list, policy: Union[str, Policy]):
        label = policy.name if isinstance(policy, Policy) else policy
        self.label = ffi.new("char[]", arguments.encoded("policy", label))
        self.name = ffi.new("char[]", label.partition(":")[0].encode())
        self.bound = BoundPolicy(policy) if isinstance(policy, Policy) else None
        self.scenario = None if self.bound else Scenario(scenario, overrides + overrides_of(policy))
        self.choice = self.bound.choice if self.bound else ffi.addressof(self.scenario._scenario, "policy")

    def row(self) -> Dict[str, Any]:
        return {"name": self.name, "label": self.label, "policy": self.choice, "labelled": False}

    def close(self):
        if self.bound:
            self.bound.close()


def compare(scenario: ScenarioLike, policies: Union[str, Policy, Sequence[Union[str, Policy]]], trace: TraceLike = None, *,
            replications: int = 0, threads: Optional[int] = None, settings: Optional[Mapping[str, Any]] = None,
            **overrides: Any) -> Dict[str, Any]:
    """Runs policies on the same trace with the same random events. Returns the comparison as a dictionary, as
    `headroom compare --json` writes it. policies: a list, or one policy. replications: their number; 0: the number in
    the scenario. Settings such as policy.backfill apply to all policies that do not set this parameter themselves; with
    a policy in Python, they are an error. Python policies share the lock of the interpreter, so more threads do not
    speed them up."""
    replications, threads = arguments.whole("replications", replications, 0, _MOST), _threads(threads)
    loaded = Scenario(scenario, overrides_of(None, None, settings, overrides), keeps_file=True)
    with contextlib.closing(loaded), loaded.renamed():
        return _compare(loaded, loaded.read_trace(trace), _contenders(scenario, loaded.overrides, policies), replications,
                        threads)


def _compare(loaded, jobs, contenders, replications, threads):
    stoppable = Stoppable()
    for contender in contenders:
        if contender.bound:
            contender.bound.owners += [jobs, loaded]
            contender.bound.jobs = jobs._trace
    rows = ffi.new("struct hr_contender[]", [contender.row() for contender in contenders])
    config = ffi.new("struct hr_compare_config *", {
        "scenario": loaded._scenario, "overrides": loaded._words, "n_overrides": len(loaded.overrides),
        "trace": jobs._trace, "contenders": rows, "n_contenders": len(contenders), "n_replications": replications,
        "n_threads": threads, "progress": stoppable.progress})
    out, error = ffi.new("struct hr_comparison **"), new_error()
    try:
        status = stoppable.call(lib.hr_compare, config, out, error)
        for contender in contenders:
            if contender.bound:
                contender.bound.raise_pending()
        check(status, error)
        text = taken_text(lib.hr_comparison_json(out[0], ffi.new("struct hr_perf *")))
        return json.loads(without_address(text))
    finally:
        lib.hr_comparison_destroy(out[0])
        for contender in contenders:
            contender.close()


_SEARCHES = {"auto": 0, "fast": 1, "exhaustive": 2}


def plan(scenario: ScenarioLike, trace: TraceLike = None, *, search: str = "auto", sensitivity: bool = True,
         threads: Optional[int] = None, settings: Optional[Mapping[str, Any]] = None, **overrides: Any) -> Dict[str, Any]:
    """The cheapest mix of capacity that meets the goals of the scenario's `plan`. Returns the plan as a dictionary, as
    `headroom plan --json` writes it."""
    threads = _threads(threads)
    if not isinstance(search, str) or search not in _SEARCHES:
        raise InputError("search: one of %s is expected, %s" % (", ".join(_SEARCHES), arguments.found(search)))
    config = {"search": _SEARCHES[search], "no_sensitivity": not arguments.flag("sensitivity", sensitivity),
              "n_threads": threads}
    loaded = Scenario(scenario, overrides_of(None, None, settings, overrides), keeps_file=True)
    with contextlib.closing(loaded), loaded.renamed():
        return _plan(loaded, trace, config)


def _plan(loaded, trace, config):
    if loaded._scenario.plan == ffi.NULL:
        raise InputError("%s: has no plan; add \"plan\" with variables and goals" % text(loaded._scenario.path))
    jobs, stoppable = loaded.read_trace(trace), Stoppable()
    config = ffi.new("struct hr_plan_config *", {
        **config, "progress": stoppable.progress, "scenario": loaded._scenario, "overrides": loaded._words, "n_overrides": len(loaded.overrides),
        "trace": jobs._trace})
    out, error = ffi.new("struct hr_plan **"), new_error()
    try:
        check(stoppable.call(lib.hr_plan, config, out, error), error)
        return json.loads(taken_text(lib.hr_plan_json(out[0], ffi.new("struct hr_perf *"))))
    finally:
        lib.hr_plan_destroy(out[0])


class Sweep:
    """The runs of a grid. `frame` has one row for each run."""

    def __init__(self, csv: str, runs: int, notes: List[str]):
        self.csv, self.runs, self.notes = csv, runs, notes

    @property
    def frame(self):
        """A pandas data frame, as `headroom sweep --csv` writes it."""
        import pandas

        return pandas.read_csv(io.StringIO(self.csv))


def sweep(grid: Union[str, os.PathLike], *, file: Union[str, os.PathLike, None] = None, max_runs: int = 0,
          threads: Optional[int] = None) -> Sweep:
    """Runs a scenario with all settings of a grid file. `file`: the SQLite file that stores the runs, so that an
    interrupted sweep can resume; None: a temporary file."""
    folder, stoppable = tempfile.TemporaryDirectory(prefix="headroom-"), Stoppable()
    with folder:
        path = file if file is not None else os.path.join(folder.name, "sweep.db")
        name = ffi.new("char[]", arguments.path("grid", grid))
        store = ffi.new("char[]", arguments.path("file", path))
        config = ffi.new("struct hr_sweep_config *", {"grid": name, "file": store,
                                                      "max_runs": arguments.whole("max_runs", max_runs, 0, 2**64 - 1),
                                                      "n_threads": _threads(threads), "progress": stoppable.progress})
        counts, error = ffi.new("struct hr_sweep_counts *"), new_error()
        check(stoppable.call(lib.hr_sweep, config, counts, error), error)
        notes = notes_of(counts.notes)
        lib.hr_notes_finish(ffi.addressof(counts, "notes"))
        csv = os.path.join(folder.name, "sweep.csv")
        check(lib.hr_sweep_write_csv(csv.encode(), store, error), error)
        with open(csv, encoding="utf-8") as written:
            return Sweep(written.read(), counts.runs, notes)
