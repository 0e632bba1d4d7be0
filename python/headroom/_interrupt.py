# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C during runs.

Python calls a handler of a signal only in its main thread, and not while this thread is in C. So a call of the main
thread that may take long is made in a second thread, for which the main thread waits. If a handler raises an exception,
such as KeyboardInterrupt, a flag is set that the engine polls. The exception is raised when the call has returned, since
it borrows memory of Python. Other threads never call handlers; they make the call themselves.
"""

import threading

from ._base import ffi, lib


class Stoppable:
    """A call of C. `progress` is the value of the member `progress` of its configuration."""

    def __init__(self):
        self.flag = ffi.new("int *")
        self.progress = {"self": self.flag, "is_stopped": ffi.addressof(lib, "hrpy_is_stopped")}

    def call(self, function, *arguments):
        """Calls the function. Returns what it returns."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        done, results = threading.Lock(), []
        done.acquire()

        def work():
            try:
                results.append((function(*arguments), None))
            except BaseException as exception:  # raised in the thread that waits
                results.append((None, exception))
            finally:
                done.release()

        threading.Thread(target=work, name="headroom").start()
        self._wait(done)
        value, exception = results[0]
        if exception is not None:
            raise exception
        return value

    def _wait(self, done):
        try:
            done.acquire()
        except BaseException:
            lib.hrpy_stop_runs(self.flag)
            while not _acquired(done):
                pass
            raise


def _acquired(lock) -> bool:
    """Waits for a lock. Another Ctrl-C does not end the wait, since the call still uses its memory."""
    try:
        return lock.acquire()
    except BaseException:  # noqa: B036
        return False
