# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C during runs.

Python calls signal handlers only in its main thread, and not while this thread executes C code. So if the main thread
makes a C call that may take long, a second thread executes the call, and the main thread waits for it. If a signal
handler raises an exception, such as KeyboardInterrupt, a flag is set that the engine polls. The exception leaves this
module only when the call has returned, because the call uses memory that belongs to Python objects. Other threads never
call signal handlers, so they execute their calls themselves.
"""

import _thread
import threading

from ._base import ffi, lib


class Stoppable:
    """A C call that a signal handler can stop. `progress`: the value for the member `progress` of its configuration."""

    def __init__(self):
        self.flags = ffi.new("int[]", lib.HRPY_CALL_FLAGS)
        self.progress = {"self": self.flags, "is_stopped": ffi.addressof(lib, "hrpy_is_stopped")}

    def call(self, function, *arguments):
        """Calls the function and returns its result.

        A signal handler may raise an exception at any point, also just after the lock was acquired. So the loop tests
        for a result, not for the lock. After an exception, a C function waits for the end of the call, so that no
        further exception can end this wait."""
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
