# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the Python package. Results and errors equal those of the command line. Also: policies in Python, arrays that
share memory with the library, Ctrl-C.

HEADROOM_PROGRAM: the program to compare with; HEADROOM_SOURCE: the source tree. package.sh sets both.
"""

import decimal
import gc
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

import headroom

SOURCE = os.environ["HEADROOM_SOURCE"]
PROGRAM = os.environ["HEADROOM_PROGRAM"]
DEMO = os.path.join(SOURCE, "scenarios", "demo.json")
PRICES = os.path.join(SOURCE, "scenarios", "catalog", "prices.csv")
AGENCY = os.path.join(SOURCE, "scenarios", "agency.json")
sys.path.insert(0, os.path.join(SOURCE, "python", "examples"))


def command_line(*arguments):
    done = subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


SMALL = {"name": "small", "policy": {"name": "queue"},
         "cluster": {"pools": [{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8}]}}


def three_jobs(**more):
    return headroom.Trace.from_columns({"submit_s": [0, 1.5, 3], "duration_s": [10, 20, 5], "gpus": [8, 4, 1], **more})


# ---- Runs ----


@pytest.mark.parametrize("scenario, settings", [(DEMO, {}), (AGENCY, {}), (DEMO, {"policy.order": "sjf"}),
                                                (DEMO, {"cluster.pools.0.nodes": 12, "seed": 7})])
def test_run_equals_the_command_line(scenario, settings):
    words = [word for key, value in settings.items() for word in ("--set", "%s=%s" % (key, json.dumps(value)))]
    theirs = command_line("run", scenario, "--quiet", "--json", "-", *words)
    run = headroom.run(scenario, settings=settings)
    ours = run.summary
    assert run.digest == theirs["digest"]
    for part in (ours, theirs):
        part.pop("perf")
    assert ours == theirs


def test_failed_jobs_are_left_out(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("submit_s,duration_s,gpus,status\n0,10,8,completed\n1,20,8,failed\n3,5,8,completed\n")
    scenario = tmp_path / "small.json"
    scenario.write_text(json.dumps({**SMALL, "trace": {"file": "jobs.csv", "failed": "drop"}}))
    theirs = command_line("run", str(scenario), "--quiet", "--json", "-")
    assert theirs["jobs"]["submitted"] == 2
    assert headroom.run(scenario).digest == theirs["digest"]
    assert headroom.run(SMALL, trace, trace__failed="drop").digest == theirs["digest"]
    dropped = headroom.Trace.read(trace, failed="drop")
    assert headroom.run(scenario, dropped).digest == headroom.run(SMALL, dropped).digest == theirs["digest"]
    with pytest.raises(headroom.InputError, match="trace.failed"):
        headroom.run(scenario, headroom.Trace.read(trace))
    with pytest.raises(headroom.InputError, match='"keep" or "drop"'):
        headroom.Trace.read(trace, failed="leave")


def test_arguments_are_overrides():
    assert headroom.run(DEMO, policy__order="sjf").digest == headroom.run(DEMO, policy="queue:order=sjf").digest


def test_columns_by_hand():
    run = headroom.run(SMALL, three_jobs(tenant=["a", "b", "a"]))
    assert list(run.columns["start_us"]) == [0, 10_000_000, 10_000_000]
    assert list(run.columns["end_us"]) == [10_000_000, 30_000_000, 15_000_000]
    assert run.trace.names("tenant") == ["a", "b"]
    assert list(run.columns["tenant"]) == [0, 1, 0]


def test_columns_and_the_timeline_have_one_clock():
    pytest.importorskip("pandas")
    run = headroom.run(DEMO, timeline=True)
    assert run.trace.clock_us == 571303000
    first = min(start for start in run.columns["start_us"])
    assert round(run.timeline["time_s"][0] * 1e6) == first + run.trace.clock_us


def test_views_outlive_the_run():
    start = headroom.run(SMALL, three_jobs()).columns["start_us"]
    gc.collect()
    assert list(start) == [0, 10_000_000, 10_000_000]


def test_views_cannot_be_written():
    start = headroom.run(SMALL, three_jobs()).columns["start_us"]
    with pytest.raises((ValueError, TypeError)):
        start[0] = 1


def test_unknown_values_of_a_column():
    trace = three_jobs(limit_s=[None, 30, float("nan")], **{"class": ["training", "", None]})
    assert list(trace.columns["limit_us"])[1] == 30_000_000
    assert list(trace.columns["class_"]) == [1, 0, 0]


# By kind of column of a trace: a valid value, as in Headroom's CSV.
VALUES = {"INSTANT": "9.5", "DURATION": "1.5", "GPUS": "4", "TASKS": "2", "PRIORITY": "-3", "CPUS": "0.5", "GIB": "2.5",
          "GPU_SHARE": "500", "GPU_BOUND": "4", "FRACTION": "0.25", "CLASS": "fine-tune", "STATUS": "failed",
          "TIER": "rack", "TEXT": "x", "LIST": "x|y", "DEDICATED": "true", "INTERRUPTIBLE": "false"}


def test_each_column_is_that_of_a_file(tmp_path):
    module = sys.modules["headroom.trace"]
    assert len(module._FIELDS) > 20
    for name, field in module._FIELDS.items():
        row = {"submit_s": "1", "duration_s": "8", "gpus": "4", name: VALUES[field.kind]}
        if name == "within_wait_s":
            row["within"] = "rack"
        file = tmp_path / (name + ".csv")
        file.write_text("%s\n%s\n" % (",".join(row), ",".join(row.values())))
        texts = field.kind in ("TEXT", "LIST", "CLASS", "STATUS", "TIER", "DEDICATED", "INTERRUPTIBLE")
        columns = {key: [value if key == "within" or (key == name and texts) else float(value)] for key, value in row.items()}
        ours, theirs = headroom.Trace.from_columns(columns), headroom.Trace.read(str(file))
        assert {key: list(values) for key, values in ours.columns.items()} == {
            key: list(values) for key, values in theirs.columns.items()}, name
        assert ours.job_id(0) == theirs.job_id(0), name
        if field.kind in ("TEXT", "LIST") and field.member != "id":
            assert ours.names(field.member) == theirs.names(field.member) == [VALUES[field.kind]], name
        elif field.member != "id":
            assert field.member in ours.columns, name


def test_metrics_are_numbers_of_the_summary():
    run = headroom.run(DEMO)
    assert run.metrics["wait_s.p95"] == run.summary["wait_s"]["p95"]
    assert run.metrics["jobs.completed"] == 2000


def test_metrics_of_lists_are_unambiguous():
    numbers = sys.modules["headroom.run"]._numbers
    pools = {"by_pool": [{"name": "p", "gpus": 1}, {"name": "q", "gpus": 2}], "twice": [{"name": "p", "gpus": 1},
             {"name": "p", "gpus": 2}], "statements": [{"tenant": "a", "usd": 3}, {"tenant": "b", "usd": 4}]}
    assert dict(numbers("", pools)) == {"by_pool.p.gpus": 1, "by_pool.q.gpus": 2, "twice.0.gpus": 1, "twice.1.gpus": 2,
                                        "statements.a.usd": 3, "statements.b.usd": 4}


@pytest.mark.parametrize("name", ["agency.json", "hybrid.json"])
def test_metrics_are_complete(name):
    run = headroom.run(os.path.join(SOURCE, "scenarios", name))

    def count(value):
        if isinstance(value, (dict, list)):
            return sum(map(count, value.values() if isinstance(value, dict) else value))
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    assert len(run.metrics) == count(run.summary)
    assert len(run.summary["alerts"]) > 0 and "alerts.0.begin_s" in run.metrics


def test_check_mode_gives_the_same_digest():
    assert headroom.run(AGENCY, check=True).digest == headroom.run(AGENCY).digest


# ---- Errors ----


def test_errors_have_a_place(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"name": "bad",\n "cluster": {"pools": 3}}')
    with pytest.raises(headroom.InputError) as wrong:
        headroom.run(str(path))
    assert (wrong.value.file, wrong.value.line) == (str(path), 2)
    assert wrong.value.column


def test_places_in_files_with_spaces(tmp_path):
    path = tmp_path / "my plan.json"
    path.write_text('{\n  "seed": }\n')
    with pytest.raises(headroom.InputError) as raised:
        headroom.run(path)
    assert (raised.value.file, raised.value.line, raised.value.column) == (str(path), 2, 11)


def test_errors_of_a_trace_have_a_place(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,duration_s,gpus\n0,1,1\n0,x,1\n")
    with pytest.raises(headroom.InputError) as wrong:
        headroom.run(SMALL, str(path))
    assert (wrong.value.file, wrong.value.line) == (str(path), 3)


@pytest.mark.parametrize("columns, word", [({"submit_s": [0], "gpus": [1]}, "duration_s"),
                                           ({"submit_s": [0], "duration_s": [1], "gpus": [1], "colour": [3]}, "colour"),
                                           ({"submit_s": [0], "duration_s": [-1], "gpus": [1]}, "duration"),
                                           ({"submit_s": ["x"], "duration_s": [1], "gpus": [1]}, "submit_s"),
                                           ({"submit_s": [0, 1], "duration_s": [1], "gpus": [1]}, "lengths")])
def test_bad_columns(columns, word):
    with pytest.raises(headroom.InputError, match=word):
        headroom.Trace.from_columns(columns)


def test_a_missing_file():
    with pytest.raises((OSError, headroom.InputError)):
        headroom.run("no-such-file.json")


@pytest.mark.parametrize("call, word", [
    (lambda: headroom.run(SMALL, three_jobs(), policy__order="sfj"), r"^settings: policy\.order=\"sfj\": "),
    (lambda: headroom.run(SMALL, three_jobs(), seed=2**64 - 1, polcy__order="sjf"), "^settings: polcy.order="),
    (lambda: headroom.run(SMALL), "^scenario: names no trace; pass one with trace="),
    (lambda: headroom.Trace.read(PRICES, map="submit=a"), "name the column with map=submit"),
    (lambda: headroom.compare(SMALL, ["fifo"], three_jobs(), replications=2),
     r"settings=\{'replications.workload': \{\"resample\":\"days\"\}\}"),
    (lambda: headroom.sweep(os.path.join(SOURCE, "scenarios", "sweeps", "demo.json"), max_runs=1), "'max_runs'$")])
def test_messages_name_the_arguments_of_python(call, word):
    with pytest.raises(headroom.InputError, match=word) as wrong:
        call()
    assert "--" not in str(wrong.value) and ".headroom-" not in str(wrong.value)


# ---- Policies ----


class Fifo(headroom.Policy):
    name = "python-fifo"

    def create(self, view):
        self.waiting = []

    def observe(self, view, event):
        if event.kind in ("submit", "interrupt"):
            self.waiting.append(event.job)

    def decide(self, view, moves):
        while self.waiting and moves.start(self.waiting[0]):
            self.waiting.pop(0)


def test_fifo_equals_the_built_in_one():
    ours = headroom.run(DEMO, policy=Fifo(), check=True)
    theirs = headroom.run(DEMO, policy="queue:order=fifo,backfill=strict", check=True)
    assert list(ours.columns["start_us"]) == list(theirs.columns["start_us"])
    assert ours.digest == theirs.digest


def test_a_policy_keeps_no_state_between_runs():
    policy = Fifo()
    assert headroom.run(DEMO, policy=policy).digest == headroom.run(DEMO, policy=policy).digest


def test_predicted_sjf_waits_less_than_fifo():
    from predicted_sjf import PredictedSjf

    ours = headroom.run(DEMO, policy=PredictedSjf(), check=True)
    assert ours.metrics["jobs.completed"] == 2000
    assert ours.metrics["wait_s.p50"] < headroom.run(DEMO, policy=Fifo()).metrics["wait_s.p50"]


def test_an_exception_of_a_policy_is_raised():
    class Broken(Fifo):
        def decide(self, view, moves):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        headroom.run(DEMO, policy=Broken())


def test_a_run_that_failed_is_freed():
    class Fails(headroom.Policy):
        def decide(self, view, moves):
            raise KeyError("no plan")

    def fail(call):
        with pytest.raises(KeyError):
            call()

    for _ in range(3):
        fail(lambda: headroom.run(SMALL, three_jobs(), policy=Fails()))
        fail(lambda: headroom.compare(SMALL, [Fails()], three_jobs()))
    gc.collect()
    assert not [found for found in gc.get_objects() if isinstance(found, Fails)]


def test_a_move_against_the_rules():
    class Twice(Fifo):
        def decide(self, view, moves):
            if self.waiting and moves.start(self.waiting[0]):
                moves.start(self.waiting[0])

    with pytest.raises(headroom.PolicyError, match="python-fifo"):
        headroom.run(DEMO, policy=Twice())


@pytest.mark.parametrize("move", ["start", "preempt"])
def test_a_job_that_does_not_exist(move):
    class Beyond(Fifo):
        abilities = headroom.PREEMPTS

        def decide(self, view, moves):
            getattr(moves, move)(10**9)

    with pytest.raises(IndexError, match="jobs 0 to 1999"):
        headroom.run(DEMO, policy=Beyond())


def test_a_view_ends_with_the_call():
    kept = []

    class Keeper(Fifo):
        def decide(self, view, moves):
            kept.append((view, moves))
            super().decide(view, moves)

    headroom.run(DEMO, policy=Keeper())
    view, moves = kept[0]
    for late in (lambda: moves.start(0), lambda: moves.wake_at(1), lambda: view.now_us, lambda: view.state(0)):
        with pytest.raises(RuntimeError, match="only in"):
            late()


@pytest.mark.parametrize("policy", [5, Fifo, ["fifo"]])
def test_a_policy_of_another_type(policy):
    with pytest.raises(TypeError, match="policy"):
        headroom.run(DEMO, policy=policy)


@pytest.mark.parametrize("column,value,expected", [
    ("submit_s", math.nan, "1: column 'submit_s' is empty"),
    ("duration_s", None, "1: column 'duration_s' is empty"),
    ("gpus", 1.5, "1: column 'gpus': a whole number"),
])
def test_columns_without_required_values(column, value, expected):
    columns = {"submit_s": [0], "duration_s": [10], "gpus": [1], column: [value]}
    with pytest.raises(headroom.InputError, match=expected):
        headroom.Trace.from_columns(columns)


def test_preemption():
    class Swap(Fifo):
        """At 5 s, job 0 is preempted, so that the first job of the queue can start."""

        name, abilities = "swap", headroom.PREEMPTS

        def decide(self, view, moves):
            if view.now_us == 5_000_000 and view.state(0) == "running":
                moves.preempt(0)
                self.waiting.append(0)
            super().decide(view, moves)
            if view.now_us < 5_000_000:
                moves.wake_at(5_000_000)

    run = headroom.run(SMALL, three_jobs(), policy=Swap(), check=True)
    assert list(run.columns["start_us"]) == [0, 5_000_000, 5_000_000]
    assert list(run.columns["attempts"]) == [2, 1, 1]
    assert run.columns["end_us"][0] == 30_000_000  # job 0 completed 5 s of work, and the GPUs are free at 25 s


# ---- Arguments ----


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    plain = headroom.run(SMALL, three_jobs(), seed=3, settings={"cluster.pools.0.nodes": 2})
    for nodes in (numpy.int64(2), numpy.uint8(2), numpy.float64(2), numpy.float32(2)):
        run = headroom.run(SMALL, three_jobs(), seed=numpy.int64(3), check=numpy.bool_(True),
                           settings={"cluster.pools.0.nodes": nodes})
        assert run.to_json() == plain.to_json()
    pools = [{**SMALL["cluster"]["pools"][0], "nodes": numpy.int64(2), "gpus_per_node": numpy.float64(8)}]
    run = headroom.run({**SMALL, "cluster": {"pools": pools, "by_gpu": numpy.bool_(False)}}, three_jobs(), seed=3)
    assert run.to_json() == plain.to_json()


@pytest.mark.parametrize("value", [{1}, object(), b"x", 1j, {"a": [{2}]}])
def test_settings_of_another_type(value):
    with pytest.raises(TypeError, match="cluster.pools.0.nodes.*found"):
        headroom.run(SMALL, three_jobs(), settings={"cluster.pools.0.nodes": value})


NO_TEXT = "a\0b"


def inside_itself(value):
    value.append(value) if isinstance(value, list) else value.update(me=value)
    return value


def test_a_value_may_be_used_twice():
    labels = ["training"]
    pools = [{"name": name, "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "classes": labels} for name in "pq"]
    jobs = three_jobs(**{"class": ["training"] * 3})
    assert headroom.run({**SMALL, "cluster": {"pools": pools}}, jobs).metrics["jobs.completed"] == 3


@pytest.mark.parametrize("more", [
    {"settings": {"policy.order": "sjf"}, "policy__order": "fifo"},
    {"settings": {"policy.order": "sjf", "policy__order": "fifo"}},
    {"settings": {"seed": 4}, "seed": 3}, {"policy": "queue:order=sjf", "policy__order": "fifo"}])
def test_a_key_that_is_set_twice(more):
    with pytest.raises(headroom.InputError, match="'(policy.order|seed)' is set twice"):
        headroom.run(SMALL, three_jobs(), **more)


@pytest.mark.parametrize("policy, key", [("fifo", "policy"), ("PYTHON", "policy.order"), ("PYTHON", "policy.name")])
def test_a_key_that_the_policy_replaces(policy, key):
    with pytest.raises(headroom.InputError, match="'%s' has no effect, since the argument 'policy'" % key):
        headroom.run(SMALL, three_jobs(), policy=Fifo() if policy == "PYTHON" else policy, settings={key: "sjf"})


@pytest.mark.parametrize("name, call, kinds", [
    ("seed", lambda: headroom.run(SMALL, three_jobs(), seed=1.5), TypeError),
    ("seed", lambda: headroom.run(SMALL, three_jobs(), seed=True), TypeError),
    ("seed", lambda: headroom.run(SMALL, three_jobs(), seed="3"), TypeError),
    ("seed.*found -1", lambda: headroom.run(SMALL, three_jobs(), seed=-1), ValueError),
    ("seed.*18446744073709551615", lambda: headroom.run(SMALL, three_jobs(), seed=2**64), ValueError),
    ("settings", lambda: headroom.run(SMALL, three_jobs(), settings=[1]), TypeError),
    ("settings", lambda: headroom.run(SMALL, three_jobs(), settings={1: 2}), TypeError),
    ("settings", lambda: headroom.run(SMALL, three_jobs(), settings={"name=x": "y"}), ValueError),
    ("name.*NUL", lambda: headroom.run(SMALL, three_jobs(), settings={"name": NO_TEXT}), ValueError),
    ("name", lambda: headroom.run(SMALL, three_jobs(), settings={"name": "\ud800"}), ValueError),
    ("name.*finite", lambda: headroom.run(SMALL, three_jobs(), settings={"name": math.nan}), ValueError),
    ("scenario", lambda: headroom.run(None), TypeError),
    ("scenario.*NUL", lambda: headroom.run(NO_TEXT), ValueError),
    ("scenario.name.*NUL", lambda: headroom.run({**SMALL, "name": NO_TEXT}, three_jobs()), ValueError),
    ("scenario", lambda: headroom.run({1: 2}), TypeError),
    ("trace.*found 5", lambda: headroom.run(SMALL, 5), TypeError),
    ("trace.*NUL", lambda: headroom.run(SMALL, NO_TEXT), ValueError),
    ("policy.*NUL", lambda: headroom.run(SMALL, three_jobs(), policy="fifo\0"), ValueError),
    ("check", lambda: headroom.run(SMALL, three_jobs(), check=5), TypeError),
    ("timeline", lambda: headroom.run(SMALL, three_jobs(), timeline="no"), TypeError),
    ("policies", lambda: headroom.compare(SMALL, None, three_jobs()), TypeError),
    ("policies.*found 5", lambda: headroom.compare(SMALL, [5], three_jobs()), TypeError),
    ("policy.*NUL", lambda: headroom.compare(SMALL, ["fifo\0"], three_jobs()), ValueError),
    ("replications", lambda: headroom.compare(SMALL, "fifo", three_jobs(), replications=-1), ValueError),
    ("threads", lambda: headroom.compare(SMALL, "fifo", three_jobs(), threads=2**40), ValueError),
    ("search", lambda: headroom.plan(SMALL, search=[]), ValueError),
    ("sensitivity", lambda: headroom.plan(SMALL, sensitivity="no"), TypeError),
    ("threads", lambda: headroom.plan(SMALL, threads=1.5), TypeError),
    ("grid", lambda: headroom.sweep(None), TypeError),
    ("max_runs", lambda: headroom.sweep("grid.json", max_runs=-1), ValueError),
    ("file.*NUL", lambda: headroom.sweep("grid.json", file=NO_TEXT), ValueError),
    ("path", lambda: headroom.Trace.read(5), TypeError),
    ("format", lambda: headroom.Trace.read("x.csv", format=5), TypeError),
    ("map.*NUL", lambda: headroom.Trace.read("x.csv", map=NO_TEXT), ValueError),
    ("columns", lambda: headroom.Trace.from_columns(5), TypeError),
    ("frame", lambda: headroom.Trace.from_frame([1]), TypeError),
    ("source", lambda: headroom.Trace.from_columns({}, source=5), TypeError),
    ("column 'tenant'.*NUL", lambda: three_jobs(tenant=["a", NO_TEXT, "a"]), ValueError),
    ("column 'tenant'.*list", lambda: three_jobs(tenant="abc"), TypeError),
    ("column 'dedicated'", lambda: three_jobs(dedicated=["maybe"] * 3), ValueError),
    ("column 'class'", lambda: three_jobs(**{"class": [5] * 3}), ValueError),
    ("the name of a column", lambda: headroom.Trace.from_columns({5: [1], "submit_s": [1]}), TypeError),
    ("job 3", lambda: three_jobs().job_id(3), IndexError),
    ("job", lambda: three_jobs().job_id(1.5), TypeError),
    ("threads", lambda: headroom.compare(SMALL, "fifo", three_jobs(), threads=""), TypeError),
    ("policies.*found b'fifo'", lambda: headroom.compare(SMALL, b"fifo", three_jobs()), TypeError),
    ("policies: 'fifo' is listed twice", lambda: headroom.compare(SMALL, ["fifo", "fifo"], three_jobs()), ValueError),
    ("'python-fifo' is listed twice", lambda: headroom.compare(SMALL, [Fifo(), Fifo()], three_jobs()), ValueError),
    ("name.*found None", lambda: headroom.run(SMALL, three_jobs(), name=None), ValueError),
    ("scenario.me.*itself", lambda: headroom.run(inside_itself({**SMALL}), three_jobs()), ValueError),
    ("name.1.*itself", lambda: headroom.run(SMALL, three_jobs(), settings={"name": inside_itself([1])}), ValueError),
    ("name.*100 levels", lambda: headroom.run(SMALL, three_jobs(), name=json.loads("[" * 200 + "]" * 200)), ValueError),
    ("column.*found 1 ", lambda: three_jobs().names(1), TypeError),
    ("'tenant' is not a column of names", lambda: three_jobs().names("tenant"), KeyError),
    ("column 'submit_s'.*at least 0.*-5", lambda: headroom.Trace.from_columns({"submit_s": [-5], "duration_s": [1],
                                                                              "gpus": [1]}), ValueError),
    ("column 'limit_s'.*at least 0", lambda: three_jobs(limit_s=[-1] * 3), ValueError),
    ("column 'limit_s'.*number.*True", lambda: three_jobs(limit_s=[True] * 3), ValueError),
    ("column 'tenant'.*found b'a'", lambda: three_jobs(tenant=[b"a"] * 3), ValueError),
    ("column 'tenant'.*found \\[1\\]", lambda: three_jobs(tenant=[[1]] * 3), ValueError),
    ("'submit_s' and 'submit_us' are the same field", lambda: three_jobs(submit_us=[1, 2, 3]), ValueError),
])
def test_errors_name_the_argument(name, call, kinds):
    with pytest.raises(kinds, match=name):
        call()


@pytest.mark.parametrize("call", [
    lambda series: headroom.compare(SMALL, "fifo", three_jobs(), threads=series),
    lambda series: three_jobs().names(series), lambda series: three_jobs(**{"class": [series] * 3}),
    lambda series: three_jobs(priority=[series] * 3), lambda series: three_jobs(limit_s=[series] * 3)])
def test_a_series_is_no_scalar(call):
    pandas = pytest.importorskip("pandas")
    with pytest.raises((TypeError, ValueError), match=r"(threads|column).* is expected, found 0 .*\(Series\)"):
        call(pandas.Series([1, 2]))


def test_columns_of_a_frame_with_the_same_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 1, 1, 2]], columns=["submit_s", "duration_s", "gpus", "gpus"])
    for call in (headroom.Trace.from_frame, headroom.Trace.from_columns):
        with pytest.raises(headroom.InputError, match="column 'gpus' exists twice"):
            call(frame)
    numbers = pandas.DataFrame([[0, 1, 1, "a", "b"]], columns=["submit_s", "duration_s", "gpus", 1, "1"])
    with pytest.raises(headroom.InputError, match="column '1' exists twice"):
        headroom.Trace.from_frame(numbers)


def test_decimals_are_numbers():
    assert list(three_jobs(limit_s=[decimal.Decimal("1.5"), decimal.Decimal("nan"), 2]).columns["limit_us"])[0] == 1_500_000


def test_values_of_pandas_that_are_unknown():
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    trace = three_jobs(limit_s=[pandas.NA, numpy.float32("nan"), 30], dedicated=["no", "true", numpy.bool_(True)])
    assert list(trace.columns["limit_us"])[2] == 30_000_000
    assert list(trace.columns["limit_us"])[0] == list(trace.columns["limit_us"])[1] <= 0
    assert list(trace.columns["flags"]) == [0, 1, 1]


@pytest.mark.parametrize("members, kind", [({"name": 5}, TypeError), ({"name": NO_TEXT}, ValueError),
                                           ({"name": "x" * 64}, ValueError), ({"placement": "x" * 24}, ValueError),
                                           ({"abilities": -1}, ValueError), ({"abilities": {1}}, TypeError)])
def test_members_of_a_policy(members, kind):
    with pytest.raises(kind, match="%s of policy" % list(members)[0]):
        headroom.run(SMALL, three_jobs(), policy=type("Wrong", (Fifo,), members)())


def test_a_policy_without_decide():
    class Lazy(headroom.Policy):
        pass

    for call in (lambda: headroom.run(SMALL, three_jobs(), policy=Lazy()),
                 lambda: headroom.compare(SMALL, Lazy(), three_jobs())):
        with pytest.raises(NotImplementedError, match=r"Lazy has no 'decide'.*decide\(self, view, moves\)"):
            call()


@pytest.mark.parametrize("move, kind, word", [
    (lambda moves: moves.reject(-1), IndexError, "jobs 0 to 2"), (lambda moves: moves.reject(2**40), IndexError, "jobs 0"),
    (lambda moves: moves.start("x"), TypeError, "job"), (lambda moves: moves.start(True), TypeError, "job"),
    (lambda moves: moves.wake_at(math.inf), TypeError, "at_us"), (lambda moves: moves.wake_at(2**70), ValueError, "at_us"),
    (lambda moves: moves.wake_at("5"), TypeError, "at_us"),
    (lambda moves: moves.preempt(0, keep="no"), TypeError, "keep.*'no'"),
    (lambda moves: moves.preempt(0, keep=None), TypeError, "keep.*None"),
    (lambda moves: moves.start(0, backfill="no"), TypeError, "backfill")])
def test_arguments_of_moves(move, kind, word):
    class Wrong(Fifo):
        def decide(self, view, moves):
            move(moves)

    with pytest.raises(kind, match=word):
        headroom.run(SMALL, three_jobs(), policy=Wrong())


# ---- Experiments ----


def test_compare_equals_the_command_line():
    theirs = command_line("compare", DEMO, "--policies", "fifo,sjf", "--quiet", "--json", "-")
    ours = headroom.compare(DEMO, ["fifo", "sjf"])
    for part in (ours, theirs):
        part.pop("perf", None)
    assert ours == theirs


@pytest.mark.parametrize("key, value", [("policy.backfill", "strict"), ("policy.order", "srtf"), ("policy.name", "deadline"),
                                        ("policy", {"name": "queue", "backfill": "strict"})])
def test_settings_of_policies_in_a_comparison(key, value):
    shown = value if isinstance(value, str) else json.dumps(value)
    policies = ["fifo", "queue:order=sjf", "queue:backfill=easy"]
    theirs = command_line("compare", DEMO, "--policies", ",".join(policies), "--set", "%s=%s" % (key, shown), "--quiet", "--json", "-")
    ours = headroom.compare(DEMO, policies, settings={key: value})
    for part in (ours, theirs):
        part.pop("perf", None)
    assert ours == theirs
    with pytest.raises(headroom.InputError, match="settings: '%s' has no effect on 'python-fifo', which is a policy in Python" % key):
        headroom.compare(DEMO, ["fifo", Fifo()], settings={key: value})


def test_compare_with_a_policy_in_python():
    both = headroom.compare(DEMO, ["queue:order=fifo,backfill=strict", Fifo()], threads=2)
    assert [policy["label"] for policy in both["policies"]][1] == "python-fifo"
    first, second = (policy["mean"] for policy in both["policies"])
    assert first == second


def test_plan_equals_the_command_line():
    scenario = os.path.join(SOURCE, "scenarios", "plan-l4-or-t4.json")
    theirs = command_line("plan", scenario, "--quiet", "--json", "-")
    ours = headroom.plan(scenario)
    for part in (ours, theirs):
        part.pop("perf", None)
    assert ours == theirs


def test_plans_and_replications_of_a_dictionary(monkeypatch):
    monkeypatch.chdir(os.path.join(SOURCE, "scenarios"))

    def part_of(made):
        return {key: value for key, value in made.items() if key not in ("perf", "trace")}

    def quick_plan(given):
        return headroom.plan(given, search="fast", sensitivity=False)

    for name, call in (("plan-l4-or-t4.json", quick_plan),
                       ("agency.json", lambda given: headroom.compare(given, "fifo", replications=2))):
        with open(name, encoding="utf-8") as file:
            assert part_of(call(json.load(file))) == part_of(call(name))
    assert not [name for name in os.listdir(".") if name.startswith(".headroom")]


def test_errors_do_not_name_the_file_of_a_dictionary():
    with pytest.raises(headroom.InputError, match="nothing is random in scenario"):
        headroom.compare(SMALL, "fifo", three_jobs(), replications=2)


def test_one_policy_is_a_comparison():
    assert [row["label"] for row in headroom.compare(SMALL, "fifo", three_jobs())["policies"]] == ["fifo"]
    assert [row["label"] for row in headroom.compare(SMALL, Fifo(), three_jobs())["policies"]] == ["python-fifo"]


def test_several_runs_in_threads():
    digests = []
    threads = [threading.Thread(target=lambda: digests.append(headroom.run(AGENCY).digest)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert digests == [headroom.run(AGENCY).digest] * 4


def test_plan_needs_a_plan():
    with pytest.raises(headroom.InputError, match="no plan"):
        headroom.plan(SMALL, three_jobs())


def test_sweep():
    grid = os.path.join(SOURCE, "scenarios", "sweeps", "demo.json")
    done = headroom.sweep(grid)
    assert done.csv.count("\n") == done.runs + 1


# ---- Ctrl-C ----

def test_signals_at_any_time_do_not_hang(tmp_path):
    """Signals arrive at random times, also just after the lock was acquired and before the second thread has begun."""
    pool = {"name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1}
    short = {"name": "s", "policy": {"name": "fifo"}, "cluster": {"pools": [pool]}}
    trace = headroom.Trace.from_columns({"submit_s": [0], "duration_s": [1], "gpus": [1]})
    before, stopped, end = signal.signal(signal.SIGALRM, signal.default_int_handler), 0, time.monotonic() + 1.5
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0003)
        while time.monotonic() < end:
            try:
                headroom.run(short, trace)
            except KeyboardInterrupt:
                stopped += 1
    except KeyboardInterrupt:  # between two runs
        stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert stopped > 0


# Without an interruption, each run takes a minute.
ENDLESS = {"name": "endless", "policy": {"name": "fifo"}, "horizon_s": 1e9,
           "cluster": {"pools": [{"name": "p", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8,
                                  "faults": {"mtbf_h": 0.01, "repair_s": 10}}]}}
PLAN = {**ENDLESS, "plan": {"objective": "gpu_hours", "variables": [{"pool": "p", "from": 8, "to": 16, "step": 8}],
                            "constraints": ["completed >= 0 %"]}}


def write_endless(folder):
    (folder / "one.csv").write_text("submit_s,duration_s,gpus\n0,1e9,8\n")
    (folder / "endless.json").write_text(json.dumps({**ENDLESS, "trace": {"file": "one.csv"}}))
    (folder / "grid.json").write_text(json.dumps({"scenario": "endless.json", "axes": [
        {"name": "nodes", "path": "cluster.pools.0.nodes", "values": [7, 8]}]}))
    return headroom.Trace.read(str(folder / "one.csv"))


@pytest.mark.parametrize("call", [
    lambda trace, folder: headroom.run(ENDLESS, trace),
    lambda trace, folder: headroom.compare(ENDLESS, ["fifo", "sjf"], trace, threads=2, replications=1),
    lambda trace, folder: headroom.plan(PLAN, trace, threads=2),
    lambda trace, folder: headroom.sweep(str(folder / "grid.json"), threads=2)], ids=["run", "compare", "plan", "sweep"])
def test_ctrl_c_stops_runs(call, tmp_path):
    trace = write_endless(tmp_path)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            call(trace, tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 10
    assert headroom.run(SMALL, three_jobs()).metrics["jobs.completed"] == 3


def test_ctrl_c_between_calls_of_a_policy(monkeypatch):
    class Interrupted(list):
        def __getitem__(self, kind):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["headroom.policy"], "_KINDS", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        headroom.run(SMALL, three_jobs(), policy=Fifo())


# ---- Cost and memory ----


def test_overhead_of_a_run_is_small():
    """Processor time of a run of three jobs, most of which is overhead. The median of 50 runs is below 2 ms."""
    trace, took_s = three_jobs(), []
    path = DEMO
    for _ in range(50):
        began = time.process_time()
        run = headroom.run(path, trace)
        run.columns
        took_s.append(time.process_time() - began)
    assert sorted(took_s)[25] < 0.002


def test_memory_does_not_grow():
    def peak_mib():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    for _ in range(50):
        headroom.run(SMALL, three_jobs(), policy=Fifo())
    before = peak_mib()
    for _ in range(250):
        headroom.run(SMALL, three_jobs(), policy=Fifo())
    assert peak_mib() < before * 1.05


# ---- Data frames ----


def test_frames():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("numpy")
    frame = pandas.DataFrame({"submit_s": [0, 1.5, 3], "duration_s": [10, 20, 5], "gpus": [8, 4, 1],
                              "tenant": ["a", None, "a"], "class": ["training", "", None]})
    run = headroom.run(SMALL, headroom.Trace.from_frame(frame), timeline=True)
    assert list(run.jobs["start_us"]) == [0, 10_000_000, 10_000_000]
    assert list(run.jobs["state"]) == ["completed"] * 3
    assert list(run.jobs["class_"]) == ["training", "", ""]
    assert run.jobs["tenant"][0] == "a" and pandas.isna(run.jobs["tenant"][1])
    assert run.timeline["time_s"].iloc[0] == 0
    costs = headroom.run(AGENCY).costs.set_index("path")["value"]
    assert costs["total_usd"] == pytest.approx(headroom.run(AGENCY).summary["cost"]["total_usd"])


def test_columns_share_the_memory_of_the_run():
    numpy = pytest.importorskip("numpy")
    run = headroom.run(SMALL, three_jobs())
    assert numpy.shares_memory(run.columns["start_us"], run._result_columns()["start_us"])


# ---- What a policy keeps ----


class Keeper(headroom.Policy):
    kept = {}

    def create(self, view):
        self.waiting = []
        self.kept.update(trace=view.trace, jobs=view.jobs)

    def observe(self, view, event):
        if event.kind == "submit":
            self.waiting.append(event.job)

    def decide(self, view, moves):
        while self.waiting and moves.start(self.waiting[0]):
            self.waiting.pop(0)


def test_views_of_a_policy_outlive_the_run():
    run = headroom.run(DEMO, policy=Keeper())
    before = [[int(x) for x in Keeper.kept["jobs"][name]] for name in ("submit_us", "gpus")]
    names, digest = Keeper.kept["trace"].names("tenant"), run.digest
    assert run.policy_seconds > 0 and headroom.run(DEMO).policy_seconds == 0
    assert "address" not in run.to_json() and "address" not in json.dumps(headroom.compare(DEMO, [Keeper()]))
    headroom.run(DEMO, policy=Keeper())
    del run
    headroom.run(DEMO, policy=Keeper())
    kept = dict(Keeper.kept)
    gc.collect()
    for _ in range(3):
        headroom.run(DEMO)
    assert [[int(x) for x in kept["jobs"][name]] for name in ("submit_us", "gpus")] == before
    assert kept["trace"].names("tenant") == names
    assert headroom.run(DEMO, kept["trace"], policy=Keeper()).digest == digest
