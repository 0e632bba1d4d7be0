# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C during runs.

Python calls a handler of a signal only in its main thread, and not while this thread is in C. So a call of the main
thread that may take long is made in a second thread, for which the main thread waits. If a handler raises an exception,
such as KeyboardInterrupt, a flag is set that the engine polls. The exception is raised when the call has returned, since
it borrows memory of Python. Other threads never call handlers; they make the call themselves.
"""

import _thread
import threading

from ._base import ffi, lib


class Stoppable:
    """A call of C. `progress` is the value of the member `progress` of its configuration."""

    def __init__(self):
        self.flags = ffi.new("int[]", lib.HRPY_CALL_FLAGS)
        self.progress = {"self": self.flags, "is_stopped": ffi.addressof(lib, "hrpy_is_stopped")}

    def call(self, function, *arguments):
        """Calls the function. Returns what it returns.

        An exception of a handler may come at any place, also when the lock was just acquired; so the wait ends when there
        is a result. After an exception, the wait is one call of C, which no further exception can end."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        done, results = threading.Lock(), []
        done.acquire()

        def work():
            if not lib.hrpy_call_take(self.flags):
                return
            try:
                results.append((function(*arguments), None))
            except BaseException as exception:  # raised in the thread that waits
                results.append((None, exception))
            finally:
                lib.hrpy_call_end(self.flags)
                done.release()

        try:
            _thread.start_new_thread(work, ())
            while not results:
                done.acquire()
        except BaseException:
            lib.hrpy_call_stop(self.flags)
            raise
        value, exception = results[0]
        if exception is not None:
            raise exception
        return value
