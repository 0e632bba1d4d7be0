# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces: the jobs of a run, read from a file or made from columns."""

from __future__ import annotations

import decimal
import math
import numbers
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from . import _arguments as arguments
from ._base import InputError, check, ffi, lib, new_error, notes_of, text, view

_REQUIRED = ("submit_s", "duration_s", "gpus")
# By kind of column: the factor from the unit of the column to the unit of the member of struct hr_job_record. Other
# kinds have the factor 1.
_FACTORS = {"INSTANT": 1_000_000, "DURATION": 1_000_000, "CPUS": 1000, "GIB": 1024, "FRACTION": 1_000_000}
CLASSES = [text(lib.hr_job_class_name(i)) for i in range(lib.HR_N_CLASSES)]
OUTCOMES = [text(lib.hr_outcome_name(i)) for i in range(lib.HR_N_OUTCOMES)]
TIERS = [text(lib.hr_tier_name(i)) for i in range(lib.HR_TIER_POOL)]
_WORDS = {"CLASS": CLASSES, "STATUS": OUTCOMES, "TIER": TIERS}
_NUMBERS = (numbers.Real, decimal.Decimal)


class _Field(NamedTuple):
    """A column. `member`: of struct hr_job_record, which the column sets. `kind`: how values are written. `flag`: the
    bit of a column of truth values; 0 for other columns."""
    member: str
    kind: str = ""
    flag: int = 0


def _read_fields() -> Dict[str, _Field]:
    found = ffi.new("struct hrpy_field[]", lib.HRPY_MAX_COLUMNS)
    return {text(f.column): _Field(text(f.member), text(f.kind), f.flag) for f in found[0 : lib.hrpy_fields(found)]}


_FIELDS = _read_fields()


def _field(name) -> _Field:
    """The field of a column. A name that is not in the table is the name of a member."""
    return _FIELDS.get(name) or _Field(name)


class Trace:
    """Jobs, sorted by submit time. `len(trace)` is their number; `trace.columns` has their columns."""

    def __init__(self, pointer):
        self._trace = ffi.gc(pointer, lib.hr_trace_destroy)
        self._columns: Optional[Dict[str, Any]] = None

    @classmethod
    def read(cls, path: str, format: Optional[str] = None, *, map: Optional[str] = None,
             lenient: bool = False, failed: str = "keep") -> "Trace":
        """Reads a trace file. `format`: one of `headroom list formats`; None: detected from the content. `map`: names
        of columns, such as "submit=arrival_s,gpus=gpu_count". `lenient`: skip invalid rows. `failed`: "drop" skips jobs
        that failed when the trace was recorded."""
        error = new_error()
        columns = ffi.gc(ffi.new("struct hr_column_map *"), lib.hr_column_map_finish)
        lenient = arguments.flag("lenient", lenient)
        if failed not in ("keep", "drop"):
            raise InputError("failed: \"keep\" or \"drop\" is expected, %s" % arguments.found(failed))
        if map is not None:
            check(lib.hr_column_map_parse(columns, arguments.encoded("map", map), error), error)
        return cls._read(path, format, columns, lenient, failed == "drop")

    @classmethod
    def _read(cls, path, format, columns, lenient, drop_failed):
        error = new_error()
        name = ffi.new("char[]", arguments.encoded("format", format)) if format is not None else ffi.NULL
        options = ffi.new("struct hr_trace_options *", {"format": name, "map": columns, "lenient": lenient,
                                                        "drop_failed": drop_failed})
        out = ffi.new("struct hr_trace **")
        check(lib.hr_trace_read(arguments.path("path", path), options, out, error), error)
        return cls(out[0])

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], source: str = "columns") -> "Trace":
        """A trace of columns of equal length, named as in Headroom's CSV: submit_s, duration_s and gpus, and any of the
        others, such as tenant, class, priority or limit_s. None and NaN are unknown."""
        if isinstance(columns, Trace) or not (isinstance(columns, Mapping) or hasattr(columns, "columns")):
            raise arguments.wrong_type("columns", "a dictionary of columns", columns)
        label, names = arguments.encoded("source", source), list(columns)
        for name in names:
            arguments.encoded("the name of a column", name)
        _check_names(source, names)
        values = [_values(source, name, columns[name]) for name in names]
        if len({len(column) for column in values}) > 1:
            raise InputError("%s: the columns have different lengths" % source)
        builder = ffi.gc(lib.hr_trace_builder_create(label, b"memory"), lib.hr_trace_builder_destroy)
        record = ffi.new("struct hr_job_record *")
        error = new_error()
        for row, job in enumerate(zip(*values), 1):
            lib.hr_job_record_init(record)
            kept = [_set(record, name, value, source, row) for name, value in zip(names, job)]
            check(lib.hr_trace_builder_add(builder, record, row, error), error)
            del kept
        out = ffi.new("struct hr_trace **")
        check(lib.hr_trace_builder_finish(builder, False, False, out, error), error)
        return cls(out[0])

    @classmethod
    def from_frame(cls, frame, source: str = "frame") -> "Trace":
        """A trace of a pandas data frame with the columns of `from_columns`."""
        if not hasattr(frame, "columns") or isinstance(frame, (Trace, Mapping)):
            raise arguments.wrong_type("frame", "a pandas data frame", frame)
        names = [str(name) for name in frame.columns]
        _check_names(arguments.encoded("source", source).decode(), names)
        return cls.from_columns({name: frame.iloc[:, i].tolist() for i, name in enumerate(names)}, source)

    def __len__(self) -> int:
        return self._trace.n_jobs

    @property
    def source(self) -> str:
        return text(self._trace.source)

    @property
    def notes(self) -> List[str]:
        return notes_of(self._trace.notes)

    @property
    def clock_us(self) -> int:
        """The time of the first submit on the clock of the trace, in microseconds; 0 if the trace has dates. Times in
        columns are relative to the first submit. Times in the timeline and the summary of a run are relative to the
        zero of this clock."""
        return lib.hr_trace_clock_us(self._trace)

    @property
    def columns(self) -> Dict[str, Any]:
        """Views on the columns of the trace, by their names in C, such as submit_us, work_us and gpus. A column of
        names contains numbers; the method `names` returns the texts."""
        if self._columns is None:
            found = ffi.new("struct hrpy_column[64]")
            count = lib.hrpy_columns(self._trace, found)
            self._columns = {text(c.name): view(c.at, len(self), c.width, c.is_signed, self._trace)
                             for c in found[0:count]}
        return self._columns

    def _has_failed(self) -> bool:
        """Whether a job failed when the trace was recorded."""
        return OUTCOMES.index("failed") in self.columns.get("outcome", ())

    def names(self, column: str) -> List[str]:
        """The texts that the numbers of a column such as tenant or model stand for."""
        arguments.encoded("column", column)
        found = ffi.new("struct hrpy_column[64]")
        for c in found[0 : lib.hrpy_columns(self._trace, found)]:
            if text(c.name) == column and c.names != ffi.NULL:
                return [text(c.names.text[i]) for i in range(c.names.count)]
        raise KeyError("'%s' is not a column of names of this trace" % column)

    def job_id(self, job: int) -> str:
        """The id of a job in the input."""
        if not 0 <= arguments.whole("job", job, -(2**63), 2**63) < len(self):
            raise IndexError("job %d: the trace has %d jobs, from 0" % (job, len(self)))
        buffer = ffi.new("char[24]")
        return text(lib.hr_trace_job_id(self._trace, {"id": job}, buffer))


def _check_names(source, names) -> None:
    """Raises an exception if a required column is missing, or if two columns set the same field."""
    for name in _REQUIRED:
        if name not in names:
            raise InputError("%s: column '%s' is missing" % (source, name))
    first = {}
    for name in names:
        field = _field(name)
        other = first.setdefault(name if field.flag else field.member, name)
        if names.count(name) > 1:
            raise InputError("%s: column '%s' exists twice" % (source, name))
        if other != name:
            raise InputError("%s: the columns '%s' and '%s' are the same field" % (source, other, name))


def _values(source, name, column) -> list:
    """The values of a column, as objects of Python."""
    if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
        raise TypeError("%s: column '%s': a list of values is expected, %s" % (source, name, arguments.found(column)))
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _is_unknown(value) -> bool:
    """None, NaN, pandas.NA and pandas.NaT, and empty texts."""
    if value is None or (isinstance(value, str) and value == ""):
        return True
    if isinstance(value, _NUMBERS):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def _code(name, value, words, source, row):
    if not isinstance(value, str) or value not in words:
        raise InputError("%s:%d: column '%s': one of %s is expected, %s"
                         % (source, row, name, ", ".join(words[1:]), arguments.found(value)))
    return words.index(value)


def _truth(name, value, source, row) -> bool:
    """True and False, also as 0, 1, "true" and "false", as in a CSV file."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    known = words.get(str(int(value) if arguments.is_boolean(value) else value).lower())
    if known is None:
        raise InputError("%s:%d: column '%s': True or False is expected, %s" % (source, row, name, arguments.found(value)))
    return known


def _text(name, value, source, row) -> bytes:
    """The bytes of a name. A number is converted to its digits."""
    if arguments.is_boolean(value) or not isinstance(value, (str, *_NUMBERS)):
        raise InputError("%s:%d: column '%s': a text is expected, %s" % (source, row, name, arguments.found(value)))
    return arguments.encoded("%s:%d: column '%s'" % (source, row, name), str(value))


def _number(name, value, source, row):
    """Converts a number of a column to the unit of its member. Only a priority may be negative."""
    factor = _FACTORS.get(_field(name).kind, 1)
    place = "%s:%d: column '%s'" % (source, row, name)
    if arguments.is_boolean(value) or not isinstance(value, _NUMBERS):
        raise InputError("%s: a number is expected, %s" % (place, arguments.found(value)))
    if factor == 1 and value != value // 1:
        raise InputError("%s: a whole number is expected, found %r" % (place, value))
    if value < 0 and name != "priority":
        raise InputError("%s: a number of at least 0 is expected, found %r" % (place, value))
    try:
        return round(value * factor)
    except OverflowError:
        raise InputError("%s: a number is expected, found %r" % (place, value)) from None


def _set(record, name, value, source, row):
    """Sets a field of a record. Returns the memory that the record refers to."""
    if _is_unknown(value):
        if name in _REQUIRED:
            raise InputError("%s:%d: column '%s' is empty" % (source, row, name))
        return None
    field = _field(name)
    if field.flag:
        sets = _truth(name, value, source, row) == (field.kind != "INTERRUPTIBLE")
        record.flags |= field.flag if sets else 0
        return None
    if field.kind in ("TEXT", "LIST"):
        kept = ffi.new("char[]", _text(name, value, source, row))
        lib.hrpy_set_text(record, field.member.encode(), kept)
        return kept
    if field.kind in _WORDS:
        number = _code(name, value, _WORDS[field.kind], source, row)
    else:
        number = _number(name, value, source, row)
    try:
        known = lib.hrpy_set_number(record, field.member.encode(), number)
    except OverflowError:
        known = False
    if not known:
        raise InputError("%s:%d: column '%s' is unknown, or %r is out of range" % (source, row, name, value))
    return None

