# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of arguments. Each error names the argument and the value that was found.

A value of the wrong type raises TypeError. A value that is out of range raises InputError, which is a ValueError. Numpy
scalars are accepted like Python numbers.
"""

import math
import numbers
import operator
import os

from ._base import InputError

_LONGEST = 60  # maximum length of a value in a message, in characters
_DEEPEST = 100  # maximum number of nested lists and dictionaries in a value


def found(value) -> str:
    """A value and its type, for the end of a message."""
    return "found %s (%s)" % (_shortened(" ".join(repr(value).split())), type(value).__name__)


def _shortened(shown) -> str:
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "..."


def wrong_type(name, expected, value):
    return TypeError("%s: %s is expected, %s" % (name, expected, found(value)))


def is_boolean(value) -> bool:
    """Whether a value is a truth value of Python or of numpy."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool_", "bool"))


def encoded(name, value, max_bytes=None) -> bytes:
    """Encodes a text for C, in UTF-8."""
    if not isinstance(value, str):
        raise wrong_type(name, "a text", value)
    if "\0" in value:
        raise InputError("%s: a text with the character NUL, %s" % (name, found(value)))
    try:
        result = value.encode()
    except UnicodeEncodeError as wrong:
        raise InputError("%s: the text is not valid Unicode (%s), %s" % (name, wrong.reason, found(value))) from None
    if max_bytes is not None and len(result) > max_bytes:
        raise InputError("%s: at most %d bytes are expected, %s" % (name, max_bytes, found(value)))
    return result


def path(name, value) -> bytes:
    """The bytes of a path: a text, or an object such as pathlib.Path."""
    try:
        result = os.fsencode(value)
    except TypeError:
        raise wrong_type(name, "a path", value) from None
    except UnicodeEncodeError as wrong:
        raise InputError("%s: the path is not valid Unicode (%s), %s" % (name, wrong.reason, found(value))) from None
    if b"\0" in result:
        raise InputError("%s: a path with the character NUL, %s" % (name, found(value)))
    return result


def whole(name, value, low, high) -> int:
    """A whole number from `low` to `high`, of Python or numpy. Booleans and floating-point numbers are errors."""
    try:
        if is_boolean(value):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise wrong_type(name, "a whole number", value) from None
    if not low <= number <= high:
        raise InputError("%s: a whole number from %d to %d is expected, %s" % (name, low, high, found(value)))
    return number


def flag(name, value) -> bool:
    """A truth value; 0 and 1 are accepted."""
    if is_boolean(value):
        return bool(value)
    if isinstance(value, numbers.Integral) and value in (0, 1):
        return bool(value)
    raise wrong_type(name, "True or False", value)


def plain(name, value, around=()):
    """Converts a value to types that the module json can write. `name`: the path of the value. `around`: the lists and
    dictionaries that contain it."""
    if value is None or isinstance(value, bool):
        return value
    if is_boolean(value):
        return bool(value)
    if isinstance(value, str):
        encoded(name, value)
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise InputError("%s: a finite number is expected, %s" % (name, found(value)))
        return number
    is_mapping = hasattr(value, "keys") and hasattr(value, "__getitem__") and not hasattr(value, "dtypes")
    if is_mapping or isinstance(value, (list, tuple)):
        if len(around) == _DEEPEST or any(value is outer for outer in around):
            raise InputError("%s: a value of at most %d levels that does not contain itself is expected"
                             % (_shortened(name), _DEEPEST))
        around += (value,)
    if is_mapping:
        return {_key(name, key): plain("%s.%s" % (name, key), value[key], around) for key in value.keys()}
    if isinstance(value, (list, tuple)):
        return [plain("%s.%d" % (name, i), part, around) for i, part in enumerate(value)]
    raise wrong_type(name, "a number, text, truth value, list or dictionary", value)


def _key(name, key) -> str:
    encoded("a key of " + name, key)
    return str(key)
