# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles a policy in Python into a shared object for `headroom --policy ./NAME.so` and for the conformance test.

    python3 -m headroom.plugin FILE.py CLASS -o NAME.so

The shared object starts a Python interpreter in the program that loads it. At run time it needs FILE.py and the package
headroom, as installed for the interpreter that compiled it. This interpreter must have a shared library, as on Debian.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile

import cffi

from . import policy as policies
from ._native import ffi as native

_API = """
int hrpy_python_create(int64_t, struct hrpy_run *, int64_t *);
void hrpy_python_destroy(int64_t);
int hrpy_python_observe(int64_t, const struct hr_view *, const struct hr_event *);
int hrpy_python_decide(int64_t, const struct hr_view *, struct hr_moves *);
"""

# The program that loads the plug-in does not make the symbols of libpython global, but extension modules of Python need
# them. So the constructor opens libpython again, with RTLD_GLOBAL.
_SOURCE = """
#include "glue.c"
#include <dlfcn.h>
__attribute__((constructor)) static void share_python(void) {
  (void)dlopen(%s, RTLD_NOW | RTLD_GLOBAL);
}
const struct hr_policy_ops *headroom_policy(void);
__attribute__((visibility("default"))) const struct hr_policy_ops *headroom_policy(void) {
  static const struct hr_policy_ops *ops;
  if (!ops) ops = hrpy_policy_create(%s, 1, %du, %s);
  return ops;
}
"""

_BEGIN = """
import sys
sys.path[:0] = [path for path in %r if path not in sys.path]
from headroom import plugin
plugin.attach(%r, %r)
"""


def load(path: str, name: str) -> policies.Policy:
    """The policy of a file: an object of its class `name`."""
    spec = importlib.util.spec_from_file_location("headroom_plugin_policy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)()


class _Plugin:
    """The policy of a shared object. Its exceptions are printed, because no Python code can catch them."""

    def __init__(self, policy):
        self.policy, self.seconds = policy, 0.0
        self.owners, self.jobs = [], None  # the policy must not use views after its run

    @property
    def pending(self):
        return None

    @pending.setter
    def pending(self, exception):
        import traceback

        traceback.print_exception(type(exception), exception, exception.__traceback__)


def attach(path: str, name: str) -> None:
    """Called when the shared object is loaded. Defines the Python functions that it calls."""
    import headroom_plugin

    policies._bound[1] = _Plugin(load(path, name))
    types = {"create": ("int64_t", "struct hrpy_run *", "int64_t *"), "destroy": ("int64_t",),
             "observe": ("int64_t", "const struct hr_view *", "const struct hr_event *"),
             "decide": ("int64_t", "const struct hr_view *", "struct hr_moves *")}
    ffi = headroom_plugin.ffi
    for word, kinds in types.items():
        ffi.def_extern("hrpy_python_" + word)(_caster(ffi, getattr(policies, "on_" + word), kinds))


def _caster(ffi, function, kinds):
    """Returns a function that casts its pointers from the module headroom_plugin to headroom._native, and then calls
    `function`."""

    def call(*arguments):
        cast = [native.cast(kind, int(ffi.cast("intptr_t", value))) if "*" in kind else value
                for kind, value in zip(kinds, arguments)]
        return function(*cast)

    return call


def build(path: str, name: str, output: str) -> None:
    """Compiles the shared object for the class `name` of a file. The headers are in the source tree HEADROOM_SOURCE, or
    in the folder `source` of the package."""
    policy, path = load(path, name), os.path.abspath(path)
    library = sysconfig.get_config_var("INSTSONAME")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise RuntimeError("%s has no shared library; use another Python, such as that of Debian" % sys.executable)
    source = os.environ.get("HEADROOM_SOURCE") or os.path.join(os.path.dirname(__file__), "source")
    ffi = cffi.FFI()
    ffi.cdef("struct hrpy_run; struct hr_view; struct hr_event; struct hr_moves;")
    ffi.embedding_api(_API)
    ffi.embedding_init_code(_BEGIN % (sys.path, path, name))
    ffi.set_source("headroom_plugin", _SOURCE % (json.dumps(library), json.dumps(policy.name), policy.abilities, json.dumps(policy.placement)),
                   include_dirs=[os.path.join(source, "include"), source, os.path.join(source, "python", "headroom")],
                   extra_compile_args=["-std=gnu17", "-O2"])
    work = tempfile.mkdtemp()
    try:
        shutil.copy(ffi.compile(tmpdir=work, target="headroom_plugin.so"), output)
    finally:
        shutil.rmtree(work)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m headroom.plugin", description=__doc__.split("\n", 1)[0])
    parser.add_argument("file")
    parser.add_argument("class_", metavar="CLASS")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    build(arguments.file, arguments.class_, arguments.output)


if __name__ == "__main__":
    main()
