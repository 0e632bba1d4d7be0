# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenarios: a file or a dictionary, with overrides, and the trace that it names."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from typing import Any, Mapping, Optional, Union

from . import _arguments as arguments
from ._base import HeadroomError, InputError, check, ffi, lib, new_error, notes_of, text, words
from .policy import Policy
from .trace import Trace

#: A path of a scenario file, or its contents as a dictionary.
ScenarioLike = Union[str, os.PathLike, Mapping[str, Any]]
#: A trace, or the path of a trace file.
TraceLike = Union[Trace, str, os.PathLike, None]


def overrides_of(policy: Any = None, seed: Optional[int] = None, settings: Optional[Mapping[str, Any]] = None,
                 overrides: Optional[Mapping[str, Any]] = None) -> list:
    """Converts the arguments of a run to overrides "path=value". In keys, two underscores stand for a dot. A key that
    is set twice is an error."""
    found, keys = [], set()
    if settings is not None and not isinstance(settings, Mapping):
        raise arguments.wrong_type("settings", "a dictionary", settings)
    if isinstance(policy, str):
        found += _policy_overrides(policy)
    elif policy is not None and not isinstance(policy, Policy):
        raise arguments.wrong_type("policy", "a name or an object of a class derived from Policy", policy)
    if seed is not None:
        keys.add("seed")
        found.append("seed=%d" % arguments.whole("seed", seed, 0, 2**64 - 1))
    keys.update(override.partition("=")[0] for override in found)
    for key, value in [*(settings or {}).items(), *(overrides or {}).items()]:
        arguments.encoded("a key of settings", key)
        dotted = key.replace("__", ".")
        if not dotted or "=" in dotted:
            raise InputError("settings: a key such as policy.order is expected, %s" % arguments.found(key))
        _check_key(dotted, keys, policy)
        if value is None:
            raise InputError("%s: a value is expected, found None; leave the key out to use the scenario's" % key)
        keys.add(dotted)
        found.append("%s=%s" % (dotted, json.dumps(arguments.plain(key, value))))
    return found


def _check_key(key, keys, policy):
    """Raises an exception if a key was set before, or if it has no effect because of the argument `policy`."""
    if key in keys:
        raise InputError("settings: '%s' is set twice" % key)
    if key == "policy" or (key.startswith("policy.") and isinstance(policy, Policy)):
        if policy is not None:
            raise InputError("settings: '%s' has no effect, since the argument 'policy' replaces it" % key)


def _policy_overrides(policy):
    error = new_error()
    out, count = ffi.new("char ***"), ffi.new("size_t *")
    status = lib.hr_policy_overrides(arguments.encoded("policy", policy), out, count, error)
    found = [text(out[0][i]) for i in range(count[0])] if status == 0 else []
    for i in range(count[0]):
        lib.free(out[0][i])
    lib.free(out[0])
    check(status, error)
    return found


@functools.lru_cache(maxsize=None)
def _catalog():
    """The built-in catalogue. It is read once and never changes."""
    out, error = ffi.new("struct hr_catalog **"), new_error()
    check(lib.hr_catalog_load(ffi.NULL, out, error), error)
    return out[0]


class Scenario:
    """A loaded scenario, with its overrides. A dictionary is written to a temporary file and loaded from it. The file
    is removed after loading, or by `close` if `keeps_file` is true: plans and replications load the scenario again."""

    def __init__(self, scenario: ScenarioLike, overrides: list, keeps_file: bool = False):
        self.overrides, self._file = overrides, None
        self._words, self._kept = words(overrides)
        if isinstance(scenario, Mapping):
            self._scenario = self._load_mapping(scenario, keeps_file)
        else:
            self._scenario = self._load(arguments.path("scenario", scenario))

    def _load(self, path):
        error = new_error()
        out = ffi.new("struct hr_scenario **")
        check(lib.hr_scenario_load_with(_catalog(), path, self._words, len(self.overrides), out, error), error)
        return ffi.gc(out[0], lib.hr_scenario_destroy)

    def _load_mapping(self, scenario, keeps_file):
        """Paths in the dictionary are relative to the current folder, so the temporary file is there if it is
        writable."""
        content = arguments.plain("scenario", scenario)
        folder = os.getcwd() if os.access(os.getcwd(), os.W_OK) else None
        handle, self._file = tempfile.mkstemp(".json", ".headroom-", folder)
        loaded = None
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
            with self.renamed():
                loaded = self._load(os.fsencode(os.path.basename(self._file) if folder else self._file))
            return loaded
        finally:
            if loaded is None or not keeps_file:
                os.unlink(self._file)

    def close(self) -> None:
        """Removes the temporary file of a dictionary."""
        if self._file is not None:
            os.unlink(self._file)

    @contextlib.contextmanager
    def renamed(self):
        """A context in which errors name the temporary file of a dictionary "scenario". Their line and column refer to
        the output of json.dumps with indent=1."""
        try:
            yield
        except HeadroomError as wrong:
            if self._file is None:
                raise
            name = os.path.basename(self._file)
            raise type(wrong)(str(wrong).replace(self._file, "scenario").replace(name, "scenario")) from None

    @property
    def name(self) -> str:
        return text(self._scenario.name)

    @property
    def seed(self) -> int:
        return self._scenario.seed

    @property
    def notes(self) -> list:
        return notes_of(self._scenario.notes)

    def read_trace(self, trace: TraceLike, format: Optional[str] = None) -> Trace:
        """Returns the trace of the argument. If it is None, reads the trace that the scenario names."""
        if isinstance(trace, Trace):
            if self._scenario.drop_failed and trace._has_failed():
                raise InputError("%s: the scenario leaves out failed jobs (trace.failed), but they are in the trace; read "
                                 "it with Trace.read(..., failed=\"drop\")" % text(self._scenario.path))
            return trace
        if trace is None and self._scenario.trace_file == ffi.NULL:
            return self._no_jobs()
        path = arguments.path("trace", trace) if trace is not None else ffi.string(self._scenario.trace_file)
        name = format or (text(self._scenario.trace_format))
        columns = ffi.addressof(self._scenario, "columns")
        return Trace._read(path, name, columns, self._scenario.lenient, self._scenario.drop_failed)

    def _no_jobs(self):
        if self._scenario.services == ffi.NULL:
            raise InputError("%s: names no trace; pass one with trace=" % text(self._scenario.path))
        error = new_error()
        out = ffi.new("struct hr_trace **")
        check(lib.hr_trace_empty(self._scenario.path, out, error), error)
        return Trace(out[0])
