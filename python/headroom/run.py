# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a scenario, and its results."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Union

from . import _arguments as arguments
from ._base import NEVER_US, check, ffi, lib, new_error, notes_of, numpy, taken_text, text, view
from ._interrupt import Stoppable
from .policy import Policy, bound_policy, without_address
from .scenario import Scenario, ScenarioLike, TraceLike, overrides_of
from .trace import CLASSES, OUTCOMES, TIERS, Trace

_STATES = ["future", "waiting", "running", "completed", "rejected"]
# Columns of numbers, and the texts that the numbers stand for.
_ENUMS = {"state": _STATES, "class_": CLASSES, "outcome": OUTCOMES, "within": TIERS}


def run(scenario: ScenarioLike, trace: TraceLike = None, *, policy: Union[str, Policy, None] = None,
        seed: Optional[int] = None, check: bool = False, timeline: bool = False,
        settings: Optional[Mapping[str, Any]] = None, **overrides: Any) -> "Run":
    """Replays a trace on the cluster of a scenario, once.

    scenario: path or dictionary. trace: a Trace or a path; None: the trace of the scenario. policy:
    "NAME:KEY=VALUE,...", or an object of a class derived from Policy; None: the policy of the scenario. check: verify
    all invariants during the run. timeline: record the timeline. settings, overrides: keys of the scenario and their
    values. In names of arguments, two underscores stand for a dot: policy__order="sjf" and
    settings={"policy.order": "sjf"} are equivalent.

    Raises InputError with file, line and column for an invalid scenario or trace, and PolicyError if the policy breaks
    a rule. An exception in a Python policy is raised unchanged."""
    check, timeline = arguments.flag("check", check), arguments.flag("timeline", timeline)
    if isinstance(policy, Policy) and isinstance(scenario, Mapping) and "policy" not in scenario:
        scenario = {**scenario, "policy": {"name": "queue"}}  # required, and not used
    loaded = Scenario(scenario, overrides_of(policy, seed, settings, overrides))
    with loaded.renamed():
        jobs = loaded.read_trace(trace)
        return Run(loaded, jobs, policy if isinstance(policy, Policy) else None, check, timeline)


class _Finish:
    """The destructor of a replay. It keeps all objects that the replay uses alive until the replay is freed."""

    def __init__(self, *borrowed):
        self.borrowed = borrowed

    def __call__(self, replay):
        lib.hr_replay_finish(replay)


def _new_replay(scenario, trace, policy, check_all, progress):
    finish = _Finish(scenario._scenario, trace._trace, policy, progress)
    replay = ffi.gc(ffi.new("struct hr_replay *"), finish)
    config = ffi.new("struct hr_replay_config *", {
        "scenario": scenario._scenario, "trace": trace._trace, "seed": scenario.seed, "check": check_all, "alerts": True,
        "policy": policy.choice if policy else ffi.NULL, "progress": progress})
    error = new_error()
    check(lib.hr_replay_init(replay, config, error), error)
    return replay


class Run:
    """The results of a run. Columns are views on memory of C, which lives as long as a view on it."""

    def __init__(self, scenario: Scenario, trace: Trace, policy: Optional[Policy], check_all: bool, timeline: bool):
        self.scenario, self.trace = scenario, trace
        self._json: Optional[str] = None
        self._columns: Optional[Dict[str, Any]] = None
        self._timeline: Optional[str] = None
        self._stoppable = Stoppable()
        with bound_policy(policy) as bound:
            self._replay = _new_replay(scenario, trace, bound, check_all, self._stoppable.progress)
            self._is_python = bound is not None
            if bound:
                bound.owners += [self._replay, trace, scenario]
            self._choice = bound.choice if bound else ffi.addressof(scenario._scenario, "policy")
            self._run(timeline, bound)
            self._policy_seconds = bound.seconds if bound else 0.0
        self._result = self._replay.result

    def _run(self, timeline, bound):
        error = new_error()
        notes = ffi.addressof(self._replay, "notes")
        check(lib.hr_replay_input_notes(self.scenario._scenario, self._choice, self.trace._trace, notes, error), error)
        with _Timeline(self._replay, self.trace) if timeline else _NoTimeline() as file:
            # A policy in Python runs in the thread of the caller, so Ctrl-C raises an exception in a call of the
            # policy.
            call = self._stoppable.call if bound is None else _call
            status = call(lib.hr_replay_run, self._replay, error)
            if bound:
                bound.raise_pending()
            check(status, error)
            self._timeline = file.finish()

    @property
    def digest(self) -> str:
        """The digest of all events, as the command line prints it."""
        return "%016x" % self._result.digest

    @property
    def notes(self) -> List[str]:
        """What the run assumed or could not do, in sentences."""
        return self.scenario.notes + self.trace.notes + notes_of(self._replay.notes)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the simulation."""
        return self._replay.sim_s

    @property
    def policy_seconds(self) -> float:
        """The part of `seconds` that was spent in a policy in Python; 0 for other policies."""
        return self._policy_seconds

    def to_json(self) -> str:
        """The summary in the format of `headroom run --json`, without wall-clock times."""
        if self._json is None:
            lists = [ffi.addressof(self.scenario._scenario, "notes"), ffi.addressof(self.trace._trace, "notes"),
                     ffi.addressof(self._replay, "notes")]
            notes = ffi.new("const struct hr_notes *[]", lists)
            label = ffi.new("struct hr_run_label *", {
                "scenario": self.scenario._scenario.name, "trace": self.trace._trace.source,
                "format": self.trace._trace.format, "cluster": ffi.addressof(self.scenario._scenario, "cluster"),
                "policy": self._choice, "seed": self.scenario.seed, "notes": notes, "n_notes": len(lists),
                "alerts": self._replay.alerts, "clock_us": lib.hr_trace_clock_us(self.trace._trace),
                "skipped": self.trace._trace.skipped, "n_skipped_reasons": self.trace._trace.n_skipped_reasons})
            perf = ffi.new("struct hr_perf *")
            self._json = taken_text(lib.hr_summary_json(self._replay.summary, label, perf))
            self._json = without_address(self._json) if self._is_python else self._json
        return self._json

    @property
    def summary(self) -> Dict[str, Any]:
        """The summary as a dictionary, with the keys of `headroom run --json`."""
        return json.loads(self.to_json())

    @property
    def metrics(self) -> Dict[str, float]:
        """All numbers of the summary by their paths, such as "wait_s.p95". For an element of a list, the path contains
        the name of its pool, tenant or other subject, as in "by_pool.p.utilization". If the elements have no names, or
        two have the same name, the path contains the index in the list. "alerts" is the number of alerts."""
        return dict(_numbers("", self.summary))

    @property
    def columns(self) -> Dict[str, Any]:
        """Columns of the jobs, in the order of the trace: those of the trace, and start_us, end_us and state. start_us
        or end_us is `headroom.NEVER_US` if the job never started or ended. If jobs could be stopped, there are also the
        columns of their accounts: attempts, kept_us, lost_us, saving_us, restarting_us, held_us."""
        if self._columns is None:
            columns = dict(self.trace.columns)
            columns.update(self._result_columns())
            self._columns = columns
        return self._columns

    def _result_columns(self):
        result, owner, count = self._result, self._replay, len(self.trace)
        found = {"state": view(result.state, count, 1, False, owner),
                 "start_us": view(result.start_us, count, 8, True, owner)}
        if result.account != ffi.NULL and count > 0:
            found["end_us"] = view(result.ended_us, count, 8, True, owner)
            found.update(self._accounts(found["start_us"], found["end_us"]))
        elif result.ended_us != ffi.NULL:
            found["end_us"] = view(result.ended_us, count, 8, True, owner)
        else:
            found["end_us"] = _ends(found["state"], found["start_us"], self.trace.columns["work_us"])
        return found

    def _accounts(self, start_us, end_us):
        """The columns of the accounts. A job that ran without interruption from its start to its end has no stored
        account; its values follow from its start and end."""
        result, owner, count = self._result, self._replay, len(self.trace)
        account = view(result.account, count, 4, False, owner)
        rows, base = int(max(account)) + 1, ffi.cast("char *", result.accounts)
        held_us = _held(start_us, end_us)
        found = {}
        for name in ("attempts", "kept_us", "lost_us", "saving_us", "restarting_us", "held_us"):
            width = 4 if name == "attempts" else 8
            of_rows = view(base + ffi.offsetof("struct hr_job_accounting", name), rows, width, width == 8, owner,
                           ffi.sizeof("struct hr_job_accounting"))
            if name == "attempts":
                plain = [int(start != NEVER_US) for start in start_us]
            else:
                plain = held_us if name in ("kept_us", "held_us") else [0] * count
            found[name] = _chosen(account, of_rows, plain)
        return found

    @property
    def jobs(self):
        """A pandas data frame of the jobs: `columns`, with names instead of their numbers, and wait_us."""
        import pandas

        module, data = numpy(), {}
        for name, values in self.columns.items():
            data[name] = values
            if name in _ENUMS:
                data[name] = pandas.Categorical.from_codes(values.astype("int8"), _ENUMS[name])
            elif name in self.trace.columns:
                data[name] = self._named(name, values, pandas)
        start = self.columns["start_us"]
        if "submit_us" in self.columns:  # false if there are no jobs, as in a scenario with services only
            data["wait_us"] = module.where(start == NEVER_US, NEVER_US, start - self.columns["submit_us"])
        return pandas.DataFrame(data, copy=False)

    def _named(self, name, values, pandas):
        try:
            names = self.trace.names(name)
        except KeyError:
            return values
        unknown = values == 2**32 - 1
        return pandas.Categorical.from_codes(numpy().where(unknown, -1, values.astype("int64")), names)

    @property
    def timeline(self):
        """A pandas data frame of the timeline, as `headroom run --timeline` writes it; the run needs timeline=True."""
        import io

        import pandas

        if self._timeline is None:
            raise ValueError("the timeline was not recorded; run with timeline=True")
        return pandas.read_csv(io.StringIO(self._timeline))

    @property
    def costs(self):
        """A pandas data frame of the costs: one row for each number below `cost` in the summary. A number is in dollars
        if its path ends with _usd."""
        import pandas

        rows = list(_numbers("", self.summary.get("cost") or {}))
        return pandas.DataFrame(rows, columns=["path", "value"])

    def __repr__(self) -> str:
        return "<headroom.Run of %s: %d jobs, digest %s>" % (self.scenario.name, len(self.trace), self.digest)


def _call(function, *arguments):
    return function(*arguments)


class _NoTimeline:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def finish(self):
        return None


class _Timeline:
    """Records the timeline of a replay in a temporary file. `finish` returns the text of the file."""

    def __init__(self, replay, trace):
        handle, self.path = tempfile.mkstemp(".csv", "headroom-")
        os.close(handle)
        out, error = ffi.new("struct hr_timeline **"), new_error()
        check(lib.hr_timeline_create(self.path.encode(), trace._trace, replay.usage, False, False, out, error),
              error)
        self.timeline = out[0]
        check(lib.hr_replay_add(replay, lib.hr_timeline_observer(self.timeline), error), error)

    def __enter__(self):
        return self

    def finish(self):
        error = new_error()
        check(lib.hr_timeline_finish(self.timeline, error), error)
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def __exit__(self, *_):
        lib.hr_timeline_destroy(self.timeline)
        os.unlink(self.path)


def _ends(state, start_us, work_us):
    """The times at which jobs completed, if none of them was stopped."""
    module = numpy()
    if module:
        return module.where(state == _STATES.index("completed"), start_us + work_us, NEVER_US)
    completed = _STATES.index("completed")
    return [a + b if s == completed else NEVER_US for s, a, b in zip(state, start_us, work_us)]


def _held(start_us, end_us):
    """The times from the start of each job to its end; 0 for jobs that have not ended."""
    module = numpy()
    if module:
        return module.where(end_us == NEVER_US, 0, end_us - start_us)
    return [0 if end == NEVER_US else end - start for start, end in zip(start_us, end_us)]


def _chosen(account, of_rows, plain):
    """The value of each job: from its account, or from `plain` if it has no account."""
    module = numpy()
    if module:
        return module.where(account > 0, of_rows[account], module.asarray(plain, dtype=of_rows.dtype))
    return [of_rows[a] if a else value for a, value in zip(account, plain)]


def _numbers(prefix, value):
    """The numbers below a part of the summary, with their paths."""
    if isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        yield prefix, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _numbers(prefix + "." + key if prefix else key, part)
    elif isinstance(value, list):
        for name, part in zip(_part_names(value), value):
            yield from _numbers("%s.%s" % (prefix, name), part)


def _part_names(parts):
    """The names of the elements of a list: their "name" or "tenant" if all these differ, otherwise their indices."""
    for key in ("name", "tenant"):
        names = [part.get(key) if isinstance(part, dict) else None for part in parts]
        if None not in names and len(set(map(str, names))) == len(names):
            return names
    return range(len(parts))
