# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies in Python.

A policy is an object of a class derived from Policy. The engine calls `create` at the start of a run, `observe` for
each event and `decide` after the events of each instant. A job is represented by its index in the trace, from 0.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import re
import time
from typing import Any, Dict, List, Optional

from . import _arguments as arguments
from ._base import NEVER_US, Owner, copied, ffi, lib, text

#: Values of Policy.abilities. PREEMPTS: the policy stops running jobs. STARVES_NOBODY: no job that fits waits forever.
PREEMPTS, STARVES_NOBODY = lib.HR_POLICY_PREEMPTS, lib.HR_POLICY_STARVES_NOBODY

_NONE = 2**32 - 1  # HR_NONE
_MAX_NAME, _MAX_PLACEMENT = 63, 23  # bytes of the texts in glue.c
_numbers = itertools.count(1)
_bound: Dict[int, "BoundPolicy"] = {}
_runs: Dict[int, "_PolicyRun"] = {}


class View:
    """The state that a policy reads: `now_us`, `n_waiting`, `n_running`, and `jobs`, the columns of the trace by their
    names in C, such as view.jobs["work_us"][job]. A real scheduler does not know the run time `work_us` in advance, but
    it knows `limit_us`, `estimate_us` and `user`."""

    __slots__ = ("_view", "jobs", "trace")

    def __init__(self, trace, columns):
        self._view, self.trace, self.jobs = None, trace, columns

    @property
    def now_us(self) -> int:
        return self._now().now_us

    @property
    def n_waiting(self) -> int:
        return self._now().n_waiting

    @property
    def n_running(self) -> int:
        return self._now().n_running

    @property
    def free_gpus(self) -> float:
        return (self._now().total_milli - self._now().allocated_milli) / 1000

    def state(self, job: int) -> str:
        return ("future", "waiting", "running", "completed", "rejected")[self._of(job).state[job]]

    def done_us(self, job: int) -> int:
        """The work that a job has completed, in microseconds of its recorded run time."""
        return lib.hr_view_done_us(self._of(job), {"id": job})

    def _now(self):
        """The state in C. It exists only while the engine calls the policy."""
        if self._view is None:
            raise RuntimeError("a view can be read, and moves can be made, only in 'observe' and 'decide'")
        return self._view

    def _of(self, job: int):
        """Checks the index of a job. Returns the state in C."""
        now = self._now()
        if not 0 <= arguments.whole("job", job, -(2**63), 2**63) < now.jobs.n_jobs:
            raise IndexError("job %r: the trace has jobs 0 to %d" % (job, self._view.jobs.n_jobs - 1))
        return self._view


class Event:
    """An event. `kind`: such as "submit", "end" or "interrupt". `at_us`: its time. `job`: None for events of nodes."""

    __slots__ = ("kind", "at_us", "job")

    def __init__(self, kind, at_us, job):
        self.kind, self.at_us, self.job = kind, at_us, job


class Moves:
    """What a policy can do in `decide`."""

    __slots__ = ("_run", "_view", "_moves", "_found")

    def __init__(self, run, view):
        self._run, self._view, self._moves, self._found = run, view, None, ffi.new("bool *")

    def start(self, job: int, backfill: bool = False) -> bool:
        """Starts a waiting job. The placement rule of the policy selects its GPUs. Returns False if it does not fit
        now."""
        reason = lib.HR_REASON_BACKFILL if arguments.flag("backfill", backfill) else lib.HR_REASON_IN_ORDER
        self._check(lib.hrpy_start(self._run, self._view._of(job), self._made(), job, reason, self._found))
        return self._found[0]

    def preempt(self, job: int, keep: bool = True) -> None:
        """Stops a running job and requeues it. keep: whether all its work is kept; otherwise the work since its last
        checkpoint is lost. The policy must declare PREEMPTS."""
        keeps = arguments.flag("keep", keep)
        self._check(lib.hrpy_stop(self._run, self._view._of(job), self._made(), job, keeps))

    def reject(self, job: int) -> None:
        """Rejects a waiting job. It will never start."""
        self._view._of(job)  # checks the number
        self._check(lib.hrpy_reject(self._made(), job, lib.HR_REASON_POLICY))

    def wake_at(self, at_us: int) -> None:
        """Requests a call of `decide` at a time in the future."""
        self._check(lib.hr_moves_wake_at(self._made(), _time(at_us)))

    def _made(self):
        """The moves in C, which exist only in `decide`."""
        if self._moves is None:
            raise RuntimeError("moves can be made only in 'decide'")
        return self._moves

    @staticmethod
    def _check(status):
        if status != 0:
            raise _BrokenRule(status)


def _time(at_us) -> int:
    """A time in microseconds; the fraction of a number with a decimal point is dropped."""
    if isinstance(at_us, float) and math.isfinite(at_us):
        at_us = int(at_us)
    return arguments.whole("at_us", at_us, -NEVER_US - 1, NEVER_US)


class _BrokenRule(Exception):
    """A move failed with this status. The error of the engine contains the reason."""


_WITHOUT_DECIDE = ("policy %s has no 'decide': define decide(self, view, moves), which starts waiting jobs with "
                   "moves.start(job)")


class Policy:
    """A scheduling policy. `name` is shown in tables, `abilities` combines PREEMPTS and STARVES_NOBODY with |,
    `placement` is a placement rule such as "best-fit". Each run uses a copy of the object, so a policy can store state
    in attributes."""

    name: str = "python"
    abilities: int = 0
    placement: str = "best-fit"

    def create(self, view: View) -> None:
        """Called before the first event. Only `view.jobs` and `view.trace` can be read."""

    def observe(self, view: View, event: Event) -> None:
        """Called for each event that is not a move of the policy."""

    def decide(self, view: View, moves: Moves) -> None:
        """Makes the moves of an instant."""
        raise NotImplementedError(_WITHOUT_DECIDE % type(self).__name__)


class _PolicyRun:
    def __init__(self, bound, run):
        from .trace import Trace

        env = lib.hrpy_run_env(run)
        trace = Trace.__new__(Trace)  # does not own its memory: the pointer keeps the owners alive
        trace._trace, trace._columns = ffi.gc(env.jobs, Owner(bound.owners)), None
        self.is_temporary = bound.jobs not in (None, env.jobs)
        if self.is_temporary:  # a comparison of a scenario with services adds their replicas to the jobs
            trace._columns = {name: copied(column) for name, column in trace.columns.items()}
        self.bound, self.policy = bound, copy.copy(bound.policy)
        self.view = View(trace, trace.columns)
        self.moves = Moves(run, self.view)
        self.withdrawn: List[int] = []
        self.policy.create(self.view)


def register(bound) -> int:
    """Assigns a number to a policy. C code identifies the policy by this number."""
    number = next(_numbers)
    _bound[number] = bound
    return number


class BoundPolicy:
    """A policy with the structs by which the engine calls it. `pending` is the first exception of a run."""

    def __init__(self, policy: Policy):
        self.policy, self.pending = policy, None
        self.owners: List[Any] = []  # objects that must live as long as views on the jobs of a run
        self.seconds = 0.0  # time spent in Python code
        self.jobs: Any = None  # the trace that `owners` contains; None: the trace of each run
        if getattr(policy.decide, "__func__", None) is Policy.decide:
            raise NotImplementedError(_WITHOUT_DECIDE % type(policy).__name__)
        name = arguments.encoded("name of policy", policy.name, _MAX_NAME)
        placement = arguments.encoded("placement of policy", policy.placement, _MAX_PLACEMENT)
        abilities = arguments.whole("abilities of policy", policy.abilities, 0, 2**32 - 1)
        self.number = register(self)
        self.ops = lib.hrpy_policy_create(name, self.number, abilities, placement)
        if self.ops == ffi.NULL:
            raise MemoryError("out of memory")
        self.params = ffi.new("struct hr_param_value[1]", [{"integer": int(ffi.cast("intptr_t", self.ops))}])
        self.choice = ffi.new("struct hr_policy_choice *", {"ops": self.ops, "params": self.params, "n_params": 1})

    def close(self):
        """Unregisters the policy. Its structs remain, because the results of the run refer to its name."""
        _bound.pop(self.number, None)
        self.owners = []  # now only views of the policy keep the owners

    def raise_pending(self):
        """Raises the exception of the run, and removes it from this object. Otherwise there would be a reference cycle:
        the frames of the exception refer to the run, and the run refers to this object through C memory. The garbage
        collector cannot find such a cycle."""
        exception, self.pending = self.pending, None
        try:
            if exception is not None:
                raise exception
        finally:
            del exception

    def __del__(self):
        if getattr(self, "ops", ffi.NULL) != ffi.NULL:
            lib.hrpy_policy_destroy(self.ops)


def without_address(json_text: str) -> str:
    """Removes the parameter `address` of a policy in Python from a JSON text, because it differs between equal runs."""
    return re.sub(r'(,\s*)?"address":\s*\d+', "", json_text)


@contextlib.contextmanager
def bound_policy(policy: Optional[Policy]):
    """A context in which a policy is bound to the engine. If the policy is None, nothing is bound."""
    bound = BoundPolicy(policy) if policy is not None else None
    try:
        yield bound
    finally:
        if bound:
            bound.close()


def _called(bound, function, *arguments) -> int:
    """Calls a Python function for the engine and returns a status. The first exception is stored until the run has
    ended."""
    began = time.perf_counter()
    try:
        function(*arguments)
    except _BrokenRule as broken:
        return broken.args[0]
    except BaseException as exception:  # noqa: B036 (the exception must not cross C)
        bound.pending = bound.pending or exception
        return lib.HR_BAD_POLICY
    finally:
        bound.seconds += time.perf_counter() - began
    return 0


def on_create(number, run, out) -> int:
    """on_create, on_destroy, on_observe and on_decide are the Python functions that glue.c calls (see glue.h)."""
    bound = _bound[number]

    def create():
        made = _PolicyRun(bound, run)
        out[0] = next(_numbers)
        _runs[out[0]] = made

    return _called(bound, create)


def on_destroy(number) -> None:
    run = _runs.pop(number, None)
    if run is not None and run.is_temporary:
        run.view.trace._trace = ffi.new("struct hr_trace *")  # without names


def on_observe(number, view, event) -> int:
    run = _runs[number]
    run.view._view = view
    job = event.job.id if event.job.id != _NONE else None
    kind = _KINDS[event.kind]
    if kind == "withdraw":
        run.withdrawn.append(job)
    status = _called(run.bound, run.policy.observe, run.view, Event(kind, event.at_us, job))
    run.view._view = None
    return status


def on_decide(number, view, moves) -> int:
    run = _runs[number]
    run.view._view, run.moves._moves = view, moves
    status = _called(run.bound, _decide, run)
    run.view._view = run.moves._moves = None
    return status


def _decide(run):
    for job in run.withdrawn:
        Moves._check(lib.hrpy_reject(run.moves._moves, job, lib.HR_REASON_WITHDRAWN))
    run.withdrawn.clear()
    run.policy.decide(run.view, run.moves)


def _outside(_kind, exception, trace) -> int:
    """Handles an exception in one of the functions above that was raised outside `_called`, such as by Ctrl-C."""
    number = trace.tb_frame.f_locals.get("number")
    bound = _runs[number].bound if number in _runs else _bound.get(number)
    if bound is not None:
        bound.pending = bound.pending or exception
    return lib.HR_BAD_POLICY


for _name, _function in (("create", on_create), ("observe", on_observe), ("decide", on_decide)):
    ffi.def_extern("hrpy_python_" + _name, onerror=_outside)(_function)
ffi.def_extern("hrpy_python_destroy")(on_destroy)


def _kinds() -> List[str]:
    names: List[Any] = []
    while len(names) < 16:
        names.append(text(lib.hr_event_name(len(names))))
    return names


_KINDS = _kinds()
