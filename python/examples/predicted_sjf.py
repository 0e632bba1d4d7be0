# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortest predicted job first, with aging: an example of a policy in Python.

The predicted run time of a job is the mean run time of the user's last jobs. For the first job of a user it is the
limit of the job, or one hour without a limit. Jobs that have waited longer than `PATIENCE_S` come first, in the order
of their submit times. If one of them does not fit, no later job starts.
"""

import headroom

PATIENCE_S = 72 * 3600
KNOWN = 5  # a prediction is the mean of at most this number of jobs


class PredictedSjf(headroom.Policy):
    name = "predicted-sjf"

    def create(self, view):
        self.waiting, self.began, self.past = [], {}, {}
        self.user = view.jobs.get("user")
        self.limit_us = view.jobs.get("limit_us")

    def predicted_us(self, job):
        past = self.past.get(self.user[job] if self.user is not None else None)
        if past:
            return sum(past) / len(past)
        return self.limit_us[job] if self.limit_us is not None and self.limit_us[job] > 0 else 3600e6

    def observe(self, view, event):
        if event.kind in ("submit", "interrupt"):
            self.waiting.append(event.job)
        elif event.kind == "end":
            user = self.user[event.job] if self.user is not None else None
            took_us = event.at_us - self.began.pop(event.job)
            self.past[user] = (self.past.get(user, []) + [took_us])[-KNOWN:]

    def decide(self, view, moves):
        def key(job):
            submit_us = view.jobs["submit_us"][job]
            late = view.now_us - submit_us > PATIENCE_S * 1_000_000
            return (not late, submit_us if late else self.predicted_us(job), job)

        waiting, self.waiting, blocked = sorted(self.waiting, key=key), [], False
        for job in waiting:
            if not blocked and moves.start(job):
                self.began[job] = view.now_us
            else:
                self.waiting.append(job)
                blocked = blocked or not key(job)[0]
