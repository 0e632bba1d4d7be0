# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the other modules: errors, C strings, and views on C memory."""

import re

from ._native import ffi, lib

lib.hr_init()

#: A time that never comes, in microseconds (HR_NEVER_US).
NEVER_US = 2**63 - 1


class HeadroomError(Exception):
    """An error of the library. If the message begins with FILE:LINE: or FILE:LINE:COLUMN:, the attributes `file`,
    `line` and `column` have these values; otherwise they are None."""

    def __init__(self, message):
        super().__init__(message)
        place = re.match(r"((?:(?!: ).)+?):(\d+)(?::(\d+))?: ", message)
        self.file = place.group(1) if place else None
        self.line = int(place.group(2)) if place else None
        self.column = int(place.group(3)) if place and place.group(3) else None


class InputError(HeadroomError, ValueError):
    """The scenario, the trace or an argument is invalid."""


class PolicyError(HeadroomError):
    """The policy broke a rule of its interface."""


def new_error():
    return ffi.new("struct hr_error *")


def check(status, error):
    """Raises the exception for a status, unless the status is HR_OK."""
    if status == 0:
        return
    message = _with_arguments(text(error.text) or text(lib.hr_status_meaning(status)))
    if status == lib.HR_NO_MEMORY:
        raise MemoryError(message)
    if status == lib.HR_IO_ERROR:
        raise OSError(message)
    kinds = {lib.HR_BAD_INPUT: InputError, lib.HR_BAD_POLICY: PolicyError}
    raise kinds.get(status, HeadroomError)(message)


#: Patterns for command line options in messages of the library, and the Python arguments that replace them.
_OPTIONS = (
    (r"^--set (?=[^=\s]*=)", "settings: "),
    (r"--set '([^'=]+)=([^']*)'", r"settings={'\1': \2}"),
    (r"--set ([\w.]+)=([\w.]+)", r"settings={'\1': '\2'}"),
    (r" ?\(--(max-runs|replications)\)", ""),
    (r"--(map|format|goal) (?=\S)", r"\1="),
    (r"--lenient\b", "lenient=True"),
    (r"--exhaustive\b", "search='exhaustive'"),
    (r"--db\b", "file="),
    (r"as for --set\b", "as for settings"),
    (r"--trace on the command line", "trace="),
    (r"--(trace|seed|policy|policies|replications|threads|timeline|check|map|format|max-runs)\b(?![-=])",
     lambda found: found.group(1).replace("-", "_") + "="),
)


def _with_arguments(message):
    """Replaces the command line options in a message of the library with Python arguments."""
    for option, argument in _OPTIONS:
        message = re.sub(option, argument, message)
    return message


def text(pointer):
    """The text of a C string, or None."""
    if pointer == ffi.NULL:
        return None
    return ffi.string(pointer).decode("utf-8", "replace")


def taken_text(pointer):
    """The text of a C string that the caller must free."""
    if pointer == ffi.NULL:
        raise MemoryError("out of memory")
    try:
        return text(pointer)
    finally:
        lib.free(pointer)


def notes_of(notes):
    """The texts of a list of notes."""
    return [text(notes.text[i]) for i in range(notes.count)]


def words(texts):
    """Returns an array of C strings, and a list of the objects that own the strings."""
    kept = [ffi.new("char[]", one.encode()) for one in texts]
    return ffi.new("const char *[]", kept or [ffi.NULL]), kept


class Owner:
    """A destructor that frees nothing. As long as its pointer exists, it keeps the owner of the memory alive."""

    def __init__(self, owner):
        self.owner = owner

    def __call__(self, _pointer):
        self.owner = None


def numpy():
    """The module numpy, or None if it is not installed."""
    try:
        import numpy as module
    except ImportError:
        return None
    return module


_CODES = {(1, False): "B", (2, False): "H", (4, False): "I", (8, False): "Q",
          (1, True): "b", (2, True): "h", (4, True): "i", (8, True): "q"}


def view(pointer, count, width, signed, owner, stride=0):
    """A read-only view on a column in C memory: a numpy array, or a memoryview if numpy is not installed. `owner` owns
    the memory and lives as long as the view. `width`: bytes of a value. `stride`: bytes from one value to the next; 0:
    `width`."""
    stride = stride or width
    module = numpy()
    if count == 0:
        return module.zeros(0, _CODES[width, signed]) if module else memoryview(b"").cast("B")
    kept = ffi.gc(ffi.cast("char *", pointer), Owner(owner))
    code = _CODES[width, signed]
    if module:
        memory = ffi.buffer(kept, (count - 1) * stride + width)
        array = module.ndarray((count,), code, memory, 0, (stride,))
        array.flags.writeable = False
        return array
    if stride == width:
        return memoryview(ffi.buffer(kept, count * width)).cast("B").cast(code).toreadonly()
    whole = memoryview(ffi.buffer(kept, (count - 1) * stride + width)).cast("B")
    return memoryview(b"".join(whole[i * stride : i * stride + width] for i in range(count))).cast(code)


def copied(column):
    """A read-only copy of a view."""
    if isinstance(column, memoryview):
        return memoryview(column.tobytes()).cast(column.format)
    column = column.copy()
    column.flags.writeable = False
    return column
