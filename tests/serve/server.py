#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the server of `headroom serve` with valid, invalid and hostile requests. server.py HEADROOM CASE runs one case
in a new, empty folder."""
import contextlib
import csv
import gzip
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HEADROOM = os.path.realpath(sys.argv[1])
PROJECT = pathlib.Path(__file__).resolve().parents[2]
DEMO = str(PROJECT / 'scenarios/demo.json')
JSON = {'Content-Type': 'application/json'}
# With the address sanitizer, workers have no limit of address space, and freed memory is reused only later. The
# sanitizer detects leaks when the server ends.
SANITIZED = b'__asan_init' in pathlib.Path(HEADROOM).read_bytes()
for name in ('HEADROOM_DATA', 'NO_COLOR', 'TMPDIR'):
    os.environ.pop(name, None)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def same(found, expected):
    check(found == expected, f'found {str(found)[:800]}\nexpected {str(expected)[:800]}')


class Server:
    def __init__(self, *options, folder='.'):
        os.makedirs('tmp', exist_ok=True)
        self.process = subprocess.Popen([HEADROOM, 'serve', folder, *options], stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {'TMPDIR': os.path.realpath('tmp')})
        line = self.process.stdout.readline()
        found = re.search(r'http://([0-9.]+):(\d+)/\?token=(\S+)', line)
        check(found, f'the server printed: {line}')
        self.address, self.port, self.token = found[1], int(found[2]), found[3]

    def connect(self, timeout=60):
        return socket.create_connection(('127.0.0.1', self.port), timeout=timeout)

    def ask(self, method, path, body=None, headers=None, token=True):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=90)
        sent = ({'X-Headroom-Token': self.token} if token else {}) | (headers or {})
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text, answer

    def post(self, path, body):
        status, text, _ = self.ask('POST', path, json.dumps(body), JSON)
        return status, json.loads(text)

    def good(self, path, body):
        status, answer = self.post(path, body)
        check(status == 200, f'{path}: {status} {str(answer)[:400]}')
        return answer

    def bad(self, path, body, status, words):
        found, answer = self.post(path, body)
        check(found == status and words in answer['error']['message'], f'{path}: {found} {str(answer)[:600]}')
        return answer['error']

    def upload(self, data, query='name=jobs.csv'):
        return self.ask('POST', f'/api/trace?{query}', data, {'Content-Type': 'application/octet-stream'})

    def raw(self, data, timeout=30, ends=False):
        """Sends bytes; if `ends`, then closes this side of the connection. Returns the status line of the response; ''
        if the connection was closed."""
        with self.connect(timeout) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            received = b''
            with contextlib.suppress(OSError):
                while b'\r\n' not in received:
                    part = connection.recv(4096)
                    if not part:
                        break
                    received += part
            return received.split(b'\r\n')[0].decode()

    def memory_kib(self):
        """Resident memory of the server."""
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text()
        return int(re.search(r'VmRSS:\s+(\d+)', status)[1])

    def workers(self):
        return pathlib.Path(f'/proc/{self.process.pid}/task/{self.process.pid}/children').read_text().split()

    def lives(self):
        check(self.process.poll() is None, 'the server has ended')
        status, text, _ = self.ask('GET', '/api/scenarios')
        check(status == 200 and b'"demo"' in text, 'the server does not answer any more')

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        check(code == 0, f'the server ended with {code}')
        same(os.listdir('tmp'), [])


@contextlib.contextmanager
def server(*options, folder='.'):
    running = Server(*options, folder=folder)
    try:
        yield running
        running.lives()
        running.end()
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f'never: {what}')
        time.sleep(0.02)


def headroom(*words):
    return subprocess.run([HEADROOM, *words], capture_output=True, text=True, check=True).stdout


def without_perf(document):
    """Removes values that depend on the machine, and the place of the trace, which has a different name."""
    if isinstance(document, dict):
        return {key: without_perf(value) for key, value in document.items()
                if key not in ('perf', 'trace', 'file', 'seconds', 'notes')}
    return [without_perf(item) for item in document] if isinstance(document, list) else document


def request(server, **headers):
    """The first lines of a request for /api/scenarios with other headers; a header with the value None is omitted."""
    lines = {'Host': f'127.0.0.1:{server.port}', 'X-Headroom-Token': server.token, 'Connection': 'close'}
    lines |= {name.replace('_', '-'): value for name, value in headers.items()}
    text = ''.join(f'{name}: {value}\r\n' for name, value in lines.items() if value is not None)
    return f'GET /api/scenarios HTTP/1.1\r\n{text}\r\n'.encode()


# ---- Answers ---------------------------------------------------------------------------------------------------------

def case_figures_are_those_of_the_command_line():
    trace = PROJECT / 'traces/reference/demo.csv'
    with server() as s:
        expected = json.loads(headroom('run', DEMO, '--json', '-'))
        same(without_perf(s.good('/api/run', {'shipped': 'demo'})), without_perf(expected))
        status, text, _ = s.upload(trace.read_bytes(), 'name=mine.csv')
        same(status, 200)
        upload = json.loads(text)
        same(upload['name'], 'mine.csv')
        same(without_perf(upload['check']), without_perf(json.loads(headroom('trace', 'check', str(trace), '--json', '-'))))
        same(without_perf(upload['stats']), without_perf(json.loads(headroom('trace', 'stats', str(trace), '--json', '-'))))
        changed = json.loads(pathlib.Path(DEMO).read_text())
        del changed['trace']
        changed['cluster']['pools'][0]['nodes'] = 7
        with open('saved.json', 'w') as file:
            json.dump(changed, file)
        expected = json.loads(headroom('run', 'saved.json', '--trace', str(trace), '--json', '-', '--seed', '5'))
        answer = s.good('/api/run', {'scenario': changed, 'trace': upload['trace'], 'seed': 5})
        same(without_perf(answer), without_perf(expected))
        same(answer['digest'], expected['digest'])
        same(answer['trace']['file'], 'mine.csv')
        same(without_perf(s.good('/api/run', {'file': 'saved.json', 'trace': upload['trace'], 'seed': 5})), without_perf(expected))
        answer = s.good('/api/run', {'shipped': 'demo', 'set': {'cluster.pools.0.nodes': 7}, 'seed': 5, 'series': 40})
        same(answer['digest'], expected['digest'])
        series = answer['series']
        same(len(series['waiting']), 40)
        hours = sum(series['gpus_allocated']) / 40 * (series['end_s'] - series['begin_s']) / 3600
        check(abs(hours / expected['gpu_hours'] - 1) < 1e-4, f"{hours} GPU hours in the chart, {expected['gpu_hours']} in the summary")
        expected = json.loads(headroom('compare', DEMO, '--policies', 'fifo,sjf', '--json', '-'))
        answer = s.good('/api/compare', {'shipped': 'demo', 'policies': 'fifo,sjf'})
        same(without_perf(answer), without_perf(expected))
        answer = s.good('/api/compare', {'shipped': 'demo', 'scenario': pathlib.Path(DEMO).read_text(), 'baseline': changed,
                                         'trace': upload['trace']})
        expected = json.loads(headroom('diff', 'saved.json', DEMO, '--trace', str(trace), '--json', '-'))
        same(answer['effect'] if 'effect' in answer else len(answer), expected['effect'] if 'effect' in expected else len(expected))
        answer = s.good('/api/run', {'shipped': 'demo', 'trace': upload['trace'], 'load': 1.5})
        headroom('trace', 'scale', str(trace), '--by', 'compress', '--load', '1.5', '-o', 'scaled.csv')
        same(answer['digest'], json.loads(headroom('run', DEMO, '--trace', 'scaled.csv', '--json', '-'))['digest'])
        draft = s.good('/api/draft', {'trace': upload['trace'], 'own': ['4x8xA100-80'], 'cloud': 'aws', 'goals': ['wait_s.p95 <= 1 h']})
        same(s.good('/api/run', {'scenario': draft, 'trace': upload['trace']})['cluster']['gpus'], 32)
        status, text, _ = s.upload(b'', 'shipped=demo')
        same((status, json.loads(text)['name']), (200, 'demo.csv'))
        answer = s.good('/api/check', {'shipped': 'demo'})
        check(answer['valid'] and '64 GPUs on 8 nodes' in answer['text'], answer)


def case_drafts_name_the_trace_of_the_user():
    trace = PROJECT / 'traces/reference/demo.csv'
    os.makedirs('in/sub')
    for file in ('in/mine.csv', 'in/sub/own.csv'):
        shutil.copy(trace, file)
    with server(folder='in') as s:
        upload = json.loads(s.upload(trace.read_bytes(), 'name=mine.csv')[1])['trace']
        same(s.good('/api/draft', {'trace': upload})['trace'], {'file': 'mine.csv'})
        draft = s.good('/api/draft', {'trace_file': 'sub/own.csv'})
        same(draft['trace'], {'file': 'sub/own.csv'})
        # The draft runs without changes after it is saved to the folder.
        pathlib.Path('in/draft.json').write_text(json.dumps(draft))
        same(s.good('/api/run', {'file': 'draft.json'})['jobs']['submitted'], 2000)


def case_exports():
    with server() as s:
        for kind, option, type_ in (('csv', '--costs', 'text/csv'), ('jobs', '--jobs', 'text/csv'), ('markdown', '--md', 'text/markdown')):
            status, text, answer = s.ask('POST', '/api/export', json.dumps({'shipped': 'agency', 'as': kind}), JSON)
            check(status == 200 and answer.getheader('Content-Type') == type_, text[:300])
            check('attachment; filename="' in answer.getheader('Content-Disposition'), 'no name for the file')
            lines = [line for line in text.decode().splitlines() if 'simulated' not in line]
            expected = headroom('run', str(PROJECT / 'scenarios/agency.json'), option, '-', '--quiet').replace(f'{PROJECT}/', '')
            same(lines, [line for line in expected.splitlines() if 'simulated' not in line])
        status, text, _ = s.ask('POST', '/api/export', json.dumps({'shipped': 'demo', 'of': 'compare', 'policies': 'fifo,sjf', 'as': 'csv'}), JSON)
        check(status == 200 and len(list(csv.reader(io.StringIO(text.decode())))) > 10, text[:300])


def events_of(text):
    for block in text.strip().split('\n\n'):
        lines = block.split('\n')
        names = [line[7:] for line in lines if line.startswith('event: ')]
        if names:
            yield names[0], json.loads('\n'.join(line[6:] for line in lines if line.startswith('data: ')))


def case_plan_streams():
    body = {'shipped': 'plan-l4-or-t4', 'brief': True, 'set': {'plan.variables': [
        {'pool': 't4', 'from': 0, 'to': 4, 'step': 2}, {'pool': 'l4', 'from': 8, 'to': 14, 'step': 2}]}}
    options = ['--brief', '--set', 'plan.variables=' + json.dumps(body['set']['plan.variables'])]
    with server() as s:
        status, text, answer = s.ask('POST', '/api/plan', json.dumps(body), JSON)
        check(status == 200 and answer.getheader('Content-Type') == 'text/event-stream', text[:300])
        events = list(events_of(text.decode()))
        same(events[0][0], 'start')
        same(events[-1][0], 'result')
        mixes = [data for name, data in events if name == 'candidate']
        check(mixes and any(mix['choice'] == events[-1][1]['recommendation']['choice'] for mix in mixes), mixes[:2])
        scenario = str(PROJECT / 'scenarios/plan-l4-or-t4.json')
        same(without_perf(events[-1][1]), without_perf(json.loads(headroom('plan', scenario, *options, '--json', '-', '--quiet'))))
        body['set']['plan.variables'] = 7
        s.bad('/api/plan', body | {'brief': 1, 'nonsense': 1}, 400, "'nonsense' in the body: unknown")
        status, text, _ = s.ask('POST', '/api/plan', json.dumps(body), JSON)
        events = list(events_of(text.decode()))
        check(events[-1][0] == 'failed' and 'plan.variables' in events[-1][1]['error']['message'], events)


def begin_plan(s):
    """Starts a long plan. Returns the connection and the id of the job."""
    body = json.dumps({'shipped': 'plan-spot-share'}).encode()
    connection = s.connect()
    connection.sendall(f'POST /api/plan HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\n'
                       f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body)
    received = b''
    while not re.search(rb'"job":"(\d+)"', received):
        received += connection.recv(4096)
    return connection, re.search(rb'"job":"(\d+)"', received)[1].decode()


def case_plans_are_stopped():
    with server('--workers', '1') as s:
        connection, job = begin_plan(s)
        wait_until(s.workers, 'a worker')
        same(json.loads(s.ask('POST', f'/api/stop?job={job}')[1]), {'stopped': True})
        received = b''
        while b'event: failed' not in received or b'\r\n0\r\n' not in received:
            part = connection.recv(4096)
            check(part, f'no last event: {received[-300:]}')
            received += part
        check(b'"stopped"' in received, received[-300:])
        connection.close()
        wait_until(lambda: not s.workers(), 'the end of the worker')
        same(json.loads(s.ask('POST', f'/api/stop?job={job}')[1]), {'stopped': False})
        # If a client closes its connection, its plan stops, and the next request does not wait for it.
        connection, job = begin_plan(s)
        wait_until(s.workers, 'a worker')
        connection.close()
        wait_until(lambda: not s.workers(), 'the end of the worker')
        s.good('/api/run', {'shipped': 'demo'})


def case_plans_leave_a_worker():
    for workers, plans in ((1, 1), (2, 1), (3, 2)):
        with server('--workers', str(workers)) as s:
            begun = [begin_plan(s) for _ in range(plans + 1)]
            wait_until(lambda: len(s.workers()) == plans, 'the workers of the plans')
            s.good('/api/run', {'shipped': 'demo'})
            same(len(s.workers()), plans)
            for _, job in begun:
                same(json.loads(s.ask('POST', f'/api/stop?job={job}')[1]), {'stopped': True})
            wait_until(lambda: not s.workers(), 'the end of the workers')
            s.good('/api/run', {'shipped': 'demo'})
            for connection, _ in begun:
                connection.close()


def case_uploads_are_kept():
    """The oldest trace of the user is removed if there are more than 32; the traces of shipped scenarios are not
    counted."""
    rows = b'submit_s,duration_s,gpus\n0,10,1\n'
    with server() as s:
        def upload(data, query):
            status, text, _ = s.upload(data, query)
            check(status == 200, f'{query}: {status} {text[:300]}')
            return json.loads(text)['trace']

        first = upload(rows, 'name=first.csv')
        shipped = {upload(b'', 'shipped=demo') for _ in range(2)}
        same(len(shipped), 1)
        s.good('/api/run', {'shipped': 'demo', 'trace': first})
        for i in range(31):
            upload(rows, f'name={i}.csv')
        s.good('/api/run', {'shipped': 'demo', 'trace': first})
        upload(rows, 'name=last.csv')
        s.bad('/api/run', {'shipped': 'demo', 'trace': first}, 400, 'was uploaded')
        s.good('/api/run', {'shipped': 'demo', 'trace': shipped.pop()})
        same(len(list(pathlib.Path('tmp').glob('*/trace-*.hrt'))), 33)


def case_errors_have_places():
    with server() as s:
        text = '{\n "cluster": {"pools": [{"name": "a", "nodes": 0.5}]}\n}\n'
        error = s.bad('/api/run', {'scenario': text, 'name': 'mine.json'}, 422, 'nodes')
        same((error['file'], error['line']), ('mine.json', 2))
        status, text, _ = s.upload(b'submit_s,duration_s,gpus\n0,ten,1\n', 'name=jobs.csv')
        error = json.loads(text)['error']
        same((status, error['file'], error['line']), (422, 'jobs.csv', 2))
        s.bad('/api/run', {'shipped': 'nobody'}, 400, "no scenario 'nobody' ships")
        status, text, _ = s.ask('POST', '/api/run', '{"shipped":', JSON)
        error = json.loads(text)['error']
        same((status, error['file'], error['line'], error['column']), (400, 'body', 1, 12))
        s.bad('/api/run', {'shipped': 'helios'}, 422, "scenarios/helios.json: names no trace; set one with 'trace' or 'trace_file'")
        s.bad('/api/export', {'shipped': 'demo', 'as': 'csv'}, 422, "export as 'csv': scenarios/demo.json has no prices")
        s.bad('/api/run', {'shipped': 'demo', 'series': 5, 'replications': 2}, 422, "'series' needs a single run")
        trace = json.loads(s.upload((PROJECT / 'traces/reference/demo.csv').read_bytes())[1])['trace']
        for own in ('99999999999x8xA100-80', '1000000x8xT4', '1x4294967297xT4'):
            s.bad('/api/draft', {'trace': trace, 'own': [own]}, 422, f"'own' {own}: expected at most 4000000 GPUs in all pools")
        s.bad('/api/draft', {'trace': trace, 'own': ['3000000x1xT4', '1000001x1xT4']}, 422, "expected at most 4000000 GPUs")
        for own in ('-4x8xT4', '4x-8xT4', '0x8xT4', '4x8xT4\n', '', 'much', 'x' * 5000):
            s.bad('/api/draft', {'trace': trace, 'own': [own]}, 422, 'expected NODESxGPUSxTYPE')
        s.bad('/api/draft', {'trace': trace, 'own': ['4x8xNOPE']}, 422, "GPU type 'NOPE' is unknown")


def case_documents():
    shutil.copy(DEMO, 'demo.json')
    with server() as s:
        same(json.loads(s.ask('GET', '/api/schema')[1]), json.loads(headroom('list', 'keys', '--schema')))
        catalogue = json.loads(s.ask('GET', '/api/catalogue')[1])
        check(any(gpu['name'] == 'H100' for gpu in catalogue['gpus']) and len(catalogue['prices']) > 10, 'no catalogue')
        same(json.loads(s.ask('GET', '/api/files')[1])['folder'], os.getcwd())
        same(json.loads(s.ask('GET', '/api/scenarios')[1])['folder'], str(pathlib.Path(scenario_path('demo')).resolve().parent))
        same(json.loads(s.ask('GET', '/api/files')[1])['files'], [{'path': 'demo.json', 'bytes': os.path.getsize('demo.json')}])
        same(s.ask('GET', '/api/file?path=demo.json')[1], pathlib.Path(DEMO).read_bytes())
        same(s.ask('GET', '/api/file?shipped=demo')[1], pathlib.Path(DEMO).read_bytes())
        _, _, answer = s.ask('GET', '/')
        policy = answer.getheader('Content-Security-Policy')
        check("script-src 'self'" in policy and 'unsafe' not in policy, policy)
        same(answer.getheader('X-Content-Type-Options'), 'nosniff')


def scenario_path(name, root=PROJECT):
    return str(root / f'scenarios/{name}.json')


def listed(s):
    return json.loads(s.ask('GET', '/api/scenarios')[1])['scenarios']


def case_shipped_scenarios_are_valid():
    """Data outside of the shipped folders are also read; the list contains the missing files of a scenario.
    case_long_shipped_scenarios runs the others."""
    with server() as s:
        for item in listed(s):
            name = item['name']
            data = re.findall(r'"(?:\w+_)?file": "([^"]*)"', pathlib.Path(scenario_path(name)).read_text())
            exist = [(PROJECT / 'scenarios' / path).exists() for path in data]
            same('missing' in item, not all(exist))
            if 'needs_trace' in item:
                s.bad('/api/run', {'shipped': name}, 422, f"scenarios/{name}.json: names no trace; set one with 'trace' or 'trace_file'")
            elif 'missing' in item:
                status, answer = s.post('/api/check', {'shipped': name})
                check(status == 422 and str(PROJECT) not in answer['error']['message'], f'{name}: {status} {answer}')
            elif any('reference' not in path for path in data):
                expected = json.loads(headroom('run', scenario_path(name), '--quiet', '--json', '-'))
                same((name, s.good('/api/run', {'shipped': name})['digest']), (name, expected['digest']))
        same(sorted(item['name'] for item in listed(s) if 'needs_trace' in item), ['helios', 'openb', 'philly', 'swf'])


def case_long_shipped_scenarios():
    with server() as s:
        for item in listed(s):
            if 'missing' in item or 'needs_trace' in item:
                continue
            expected = json.loads(headroom('run', scenario_path(item['name']), '--quiet', '--json', '-'))
            same((item['name'], s.good('/api/run', {'shipped': item['name']})['digest']), (item['name'], expected['digest']))


@contextlib.contextmanager
def installed():
    """A server in the folders of an installation: bin, and share/headroom with scenarios and small traces."""
    global HEADROOM
    prefix, built = pathlib.Path('usr').absolute(), HEADROOM
    (prefix / 'bin').mkdir(parents=True)
    shutil.copy(built, prefix / 'bin/headroom')
    shutil.copytree(PROJECT / 'scenarios', prefix / 'share/headroom/scenarios', ignore=lambda folder, names: [
        name for name in names if not name.endswith('.json')])
    shutil.copytree(PROJECT / 'traces/reference', prefix / 'share/headroom/traces/reference')
    HEADROOM = str(prefix / 'bin/headroom')
    try:
        with server() as s:
            yield s
    finally:
        HEADROOM = built


def case_installed():
    with installed() as s:
        missing = {item['name']: item['missing'] for item in listed(s) if 'missing' in item}
        check(missing['gaia'].startswith('../../shared/'), missing)
        check(all(path.startswith('../../shared/') for path in missing.values()), missing)
        check('night-training' not in missing, missing)
        expected = json.loads(headroom('run', scenario_path('agency'), '--quiet', '--json', '-'))
        same(s.good('/api/run', {'shipped': 'agency'})['digest'], expected['digest'])


def case_long_installed():
    with installed() as s:
        for item in listed(s):
            if 'missing' not in item and 'needs_trace' not in item:
                same((item['name'], s.good('/api/check', {'shipped': item['name']})['valid']), (item['name'], True))


def case_compared_with_a_baseline():
    """Both scenarios name the same trace file, although the scenarios are in different places."""
    demo = json.loads(pathlib.Path(DEMO).read_text())
    small = json.loads(json.dumps(demo))
    small['cluster']['pools'][0]['nodes'] = 7
    os.makedirs('plans/sub')
    os.makedirs('plans/traces/reference')
    shutil.copy(PROJECT / 'traces/reference/demo.csv', 'plans/traces/reference')
    shutil.copy(DEMO, 'plans/sub/demo.json')
    pathlib.Path('plans/sub/small.json').write_text(json.dumps(small))
    expected = json.loads(headroom('diff', 'plans/sub/small.json', 'plans/sub/demo.json', '--json', '-'))
    with server(folder='plans') as s:
        for where in ({'shipped': 'demo'}, {'shipped': 'demo', 'scenario': demo}, {'file': 'sub/demo.json'}):
            answer = s.good('/api/compare', where | {'baseline': small})
            for side in ('a', 'b'):
                same({**answer[side], 'file': 0}, {**expected[side], 'file': 0})


def case_answers_name_no_folders():
    os.makedirs('plans/sub')
    os.makedirs('plans/traces/reference')
    shutil.copy(PROJECT / 'traces/reference/demo.csv', 'plans/traces/reference')
    shutil.copy(DEMO, 'plans/sub/demo.json')
    shipped, own = {'shipped': 'demo'}, {'file': 'sub/demo.json'}
    with server(folder='plans') as s:
        def answer(path, body, allowed=(200,)):
            status, text, _ = s.ask('POST', path, json.dumps(body), JSON)
            check(status in allowed, f'{path} {body}: {status} {text[:300]}')
            for folder in (str(PROJECT), os.path.realpath('plans'), os.path.realpath('tmp')):
                at = text.find(folder.encode())
                check(at < 0, f'{path} {body}: {text[max(0, at - 60):at + 200]}')
            return text.decode()

        for body in (shipped, own):
            same(json.loads(answer('/api/run', body))['trace']['file'], 'traces/reference/demo.csv')
            same(json.loads(answer('/api/run', body | {'series': 5}))['trace']['file'], 'traces/reference/demo.csv')
        check('(scenarios/demo.json)' in answer('/api/check', shipped), 'no name of the scenario')
        check('sub/demo.json' in answer('/api/check', own), 'no name of the scenario')
        answer('/api/compare', shipped | {'policies': 'fifo,sjf'})
        answer('/api/compare', shipped | {'baseline': {'seed': 2} | json.loads(pathlib.Path(DEMO).read_text())})
        answer('/api/export', shipped | {'as': 'markdown'})
        answer('/api/export', shipped | {'of': 'compare', 'policies': 'fifo,sjf', 'as': 'json'})
        answer('/api/export', shipped | {'as': 'page'}, (200, 422))  # 422: built without node and npm
        check('traces/reference/plan-l4-or-t4.csv' in answer('/api/plan', {'shipped': 'plan-l4-or-t4', 'brief': True}), 'no trace')
        # The text of users is not changed, even if it looks like an option or a path.
        name = '--trace FILE --seed=3 ' + os.path.realpath('plans/x')
        demo = json.loads(pathlib.Path(DEMO).read_text()) | {'name': name}
        same(s.good('/api/run', shipped | {'scenario': demo})['scenario'], name)
        s.bad('/api/run', shipped | {'set': {'policy.order': name}}, 422, f"'set' policy.order=\"{name}\": ")
        # A shipped scenario can use files of the user.
        shutil.copy(PROJECT / 'traces/reference/demo.csv', 'plans/sub/mine.csv')
        same(s.good('/api/run', shipped | {'trace_file': 'sub/mine.csv', 'load': 1})['trace']['file'], 'sub/mine.csv')
        s.bad('/api/run', shipped | {'trace_file': 'sub/mine.csv', 'load': 1.5}, 400, "'load' in the body needs 'trace'")
        # A draft is for later runs, so it contains the name of the trace that the user entered.
        trace = os.path.realpath('plans/traces/reference/demo.csv')
        same(s.good('/api/draft', {'trace_file': trace})['trace']['file'], trace)


def case_bodies_are_strict():
    with server() as s:
        for body, column, words in ((b'{"shipped":"demo"}x', 19, 'unexpected text'), (b'{"shipped":"demo"}{}', 19, 'unexpected text'),
                                    (b'\xef\xbb\xbf{"shipped":"demo"}', 1, 'not a JSON value'), (b'{"shipped":"demo"}\0', 19, '0x00'),
                                    (b'{"shipped":"demo\\u0000x"}', 17, 'not allowed in a string'),
                                    (b'{"shipped":"demo","shipped":"demo"}', 19, 'duplicate key'),
                                    (b'{"shipped":"demo","set":{"seed":1,"seed":2}}', 35, 'duplicate key')):
            status, text, _ = s.ask('POST', '/api/run', body, JSON)
            error = json.loads(text)['error']
            same((status, error['file'], error['line'], error['column']), (400, 'body', 1, column))
            check(words in error['message'], error)
        # A file on the command line and a scenario as a text or an object in a body are read in the same way.
        demo = pathlib.Path(DEMO).read_text().replace('../traces', str(PROJECT / 'traces'))
        for text, words in ((demo + 'x', 'unexpected text'), ('{"seed": 1, "seed": 2,' + demo[1:], "1:13: duplicate key 'seed'"),
                            (demo.replace('"demo"', '"de\\u0000mo"', 1), 'not allowed in a string')):
            pathlib.Path('s.json').write_text(text)
            failed = subprocess.run([HEADROOM, 'run', 's.json'], capture_output=True, text=True)
            check(failed.returncode == 2 and words in failed.stderr, failed.stderr)
            s.bad('/api/run', {'scenario': text, 'name': 's.json'}, 422, words)
        seed = '{"description": "a }",' + re.sub(r'"description": "[^"]*",', '', demo[demo.index('{') + 1:])
        pathlib.Path('s.json').write_text(seed)
        expected = json.loads(headroom('run', 's.json', '--quiet', '--json', '-'))
        status, text, _ = s.ask('POST', '/api/run', '{"scenario":' + seed + '}', JSON)
        same((status, json.loads(text)['digest'], json.loads(text)['seed']), (200, expected['digest'], expected['seed']))
        for query in ('shipped=demo&name=x', 'shipped=demo&format=csv', 'shipped=demo&lenient=1', 'name=x&lenient=yes', 'name=x&name=y'):
            same((query, s.upload(b'', query)[0]), (query, 400))
        same(s.upload(b'x', 'shipped=demo')[0], 400)
        same(s.ask('POST', '/api/stop')[0], 400)
        same(s.ask('GET', '/api/file')[0], 400)
        same(s.ask('POST', '/api/run', '{"shipped":"demo"}', {'Content-Type': 'application/jsonx'})[0], 415)
        same(s.ask('POST', '/api/run', '{"shipped":"demo"}', {'Content-Type': 'application/json; charset=utf-8'})[0], 200)


def case_answers_are_described():
    """All requests, valid or not, get a response that the description of the interface contains."""
    document = json.loads((PROJECT / 'docs/reference/openapi.json').read_text())
    bodies = (None, b'', b'{}', b'[]', b'{"shipped":"demo"}', b'{"shipped":"nobody"}', b'{"file":"../x"}', b'{"shipped":7,"set":[]}',
              b'{"shipped":"demo","seed":1e300}', b'{"shipped":"demo","trace":"1"}', b'{"nonsense":1}', b'[' * 1000, b'\xff')
    with server() as s:
        seen = set()
        for path, operations in document['paths'].items():
            for method in ('GET', 'POST', 'HEAD', 'OPTIONS'):
                operation = operations.get(method.lower()) or next(iter(operations.values()))
                for body in bodies if method == 'POST' else (None, b'{}'):
                    for query in ('', '?x=1', '?shipped=demo', '?path=..%2fx', '?path=%00', '?job=9') if not body else ('',):
                        for headers in (JSON,) if query else (JSON, {'Origin': 'http://evil.example'}, {'X-Headroom-Token': 'x'}):
                            if body == b'{"shipped":"demo"}' and path == '/api/plan' and headers is JSON:
                                continue
                            status, text, answer = s.ask(method, path + query, body, headers, token=headers is JSON)
                            check(str(status) in operation['responses'], f'{method} {path}{query} {body}: {status} {text[:200]}')
                            seen.add(status)
                            if status >= 400 and method != 'HEAD':
                                same(json.loads(text)['error']['code'], status)
                            check(s.token not in text.decode(errors='replace'), 'the token is in an answer')
        check({200, 400, 401, 403, 404, 405, 413, 422} <= seen, seen)
        # Responses of the HTTP library.
        described = set.intersection(*(set(of['responses']) for operations in document['paths'].values() for of in operations.values()))
        long = 'a' * 40000
        for lines, expected in ((f'GET /{long} HTTP/1.1', 414), (f'GET / HTTP/1.1\r\nX: {long}', 431), ('GET / HTTP/9.9', 505), ('GET / HTTP/1.1\r\nx', 400)):
            status = s.raw(f'{lines}\r\nHost: localhost:{s.port}\r\n\r\n'.encode()).split(' ')[1]
            same((lines[:30], status, status in described), (lines[:30], str(expected), True))
        check('501' in described, described)


def case_encodings_are_known():
    body = b'{"shipped":"demo"}'
    with server() as s:
        begin = f'POST /api/check HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\nContent-Type: application/json\r\n'
        for encoding in ('gzip', 'gzip, chunked', 'chunked, gzip', 'identity', 'chunked\r\nTransfer-Encoding: gzip'):
            for length in ('', f'Content-Length: {len(body)}\r\n'):
                answer = s.raw(f'{begin}Transfer-Encoding: {encoding}\r\n{length}\r\n'.encode() + body, timeout=5)
                check(answer.startswith(('HTTP/1.1 501 ', 'HTTP/1.1 400 ')), f'{encoding} {length}: {answer}')
        for encoding in ('chunked', 'Chunked'):
            same(s.raw(f'{begin}Transfer-Encoding: {encoding}\r\n\r\n12\r\n'.encode() + body + b'\r\n0\r\n\r\n'), 'HTTP/1.1 200 OK')


# ---- Attacks ---------------------------------------------------------------------------------------------------------

def case_other_sites_and_users():
    with server() as s:
        good = 'HTTP/1.1 200 OK'
        same(s.raw(request(s)), good)
        same(s.raw(request(s, Origin=f'http://127.0.0.1:{s.port}')), good)
        same(s.raw(request(s, Host=f'localhost:{s.port}')), good)
        # DNS rebinding: a web site whose name resolves to this machine sends its own name.
        for host in (f'evil.example:{s.port}', '127.0.0.1', f'127.0.0.1:{s.port + 1}', f'10.1.2.3:{s.port}', ''):
            same(s.raw(request(s, Host=host)), 'HTTP/1.1 403 Forbidden')
        check(s.raw(request(s, Host=None)).startswith('HTTP/1.1 4'), 'a request without Host was answered')
        for origin in ('http://evil.example', 'null', f'https://127.0.0.1:{s.port}', f'http://127.0.0.1:{s.port}.evil.example'):
            same(s.raw(request(s, Origin=origin)), 'HTTP/1.1 403 Forbidden')
        for again in (f'Host: 127.0.0.1:{s.port}', 'Host: evil.example', 'hOST: x', f'X-Headroom-Token: {s.token}', 'X-Headroom-Token: x'):
            same((again, s.raw(request(s).replace(b'\r\n\r\n', f'\r\n{again}\r\n\r\n'.encode()))), (again, 'HTTP/1.1 400 Bad Request'))
        for token in (None, '', s.token[:-1], s.token + 'x', s.token[::-1]):
            same(s.raw(request(s, X_Headroom_Token=token)), 'HTTP/1.1 401 Unauthorized')
        for method in ('OPTIONS', 'PUT', 'DELETE', 'TRACE', 'HEAD'):
            status, _, answer = s.ask(method, '/api/run')
            check(status == 405 and not answer.getheader('Access-Control-Allow-Origin'), f'{method}: {status}')
        status, text, _ = s.ask('POST', '/api/run', '{"shipped":"demo"}', {'Content-Type': 'text/plain'})
        same(status, 415)
        same(s.ask('GET', '/api/nothing')[0], 404)
        same(s.ask('GET', '/api/files?path=x')[0], 400)
        same(s.ask('GET', '/', token=False)[0] in (200, 404), True)


def case_only_this_machine():
    with server() as s:
        same(s.address, '127.0.0.1')
        listening = [line.split() for line in pathlib.Path('/proc/net/tcp').read_text().splitlines()[1:]]
        same([row[1] for row in listening if row[3] == '0A' and row[1].endswith(f':{s.port:04X}')], [f'0100007F:{s.port:04X}'])
    failed = subprocess.run([HEADROOM, 'serve', '--listen', '0.0.0.0'], capture_output=True, text=True)
    check(failed.returncode == 2 and '--token-file is needed' in failed.stderr, failed.stderr)
    pathlib.Path('token').write_text('0123456789abcdef\n')
    os.chmod('token', 0o644)
    failed = subprocess.run([HEADROOM, 'serve', '--token-file', 'token'], capture_output=True, text=True)
    check(failed.returncode == 2 and 'others may read it' in failed.stderr, failed.stderr)
    os.chmod('token', 0o600)
    with server('--listen', '0.0.0.0', '--token-file', 'token') as s:
        same(s.token, '0123456789abcdef')


def case_files_stay_in_the_folder():
    os.makedirs('in/sub')
    shutil.copy(DEMO, 'in/sub/demo.json')
    pathlib.Path('secret.json').write_text('{"secret": 1}')
    pathlib.Path('secret.csv').write_text('submit_s,duration_s,gpus\n0,10,1\n')
    os.symlink('../secret.json', 'in/link.json')
    os.symlink('..', 'in/up')
    for name in ('gone.csv', 'gone.json'):
        os.symlink('../nothing', f'in/{name}')
    os.symlink(os.path.realpath('secret.json'), 'in/policy')
    with server(folder='in') as s:
        # Errors do not reveal whether a file outside the folder exists, nor the target of a link.
        s.bad('/api/run', {'shipped': 'demo', 'trace_file': 'gone.csv'}, 422, 'gone.csv: cannot be read: Permission denied')
        s.bad('/api/run', {'file': 'gone.json'}, 422, 'gone.json: cannot be read: Permission denied')
        error = s.bad('/api/run', {'file': 'sub/demo.json', 'policy': './policy'}, 422, 'cannot load policy ./policy: ')
        check('secret' not in str(error), error)
        same([file['path'] for file in json.loads(s.ask('GET', '/api/files')[1])['files']], ['sub/demo.json'])
        for path in ('../secret.json', 'link.json', 'up/secret.json', '/etc/passwd', 'sub/../../secret.json', '%2e%2e/secret.json',
                     os.path.realpath('secret.json'), 'sub', '.', '', '..%2fsecret.json'):
            status, text, _ = s.ask('GET', f'/api/file?path={path}')
            check(status in (400, 404) and b'secret": 1' not in text, f'{path}: {status} {text[:100]}')
        for file in ('../secret.json', 'link.json', 'up/secret.json', os.path.realpath('secret.json'), '/etc/passwd'):
            s.bad('/api/run', {'file': file}, 422, 'Permission denied')
        scenario = json.loads(pathlib.Path(DEMO).read_text())
        for trace in ('../secret.csv', 'up/secret.csv', os.path.realpath('secret.csv'), '/etc/passwd', '/dev/zero', '/proc/self/environ'):
            s.bad('/api/run', {'scenario': scenario, 'trace_file': trace}, 422, 'Permission denied')
            s.bad('/api/run', {'shipped': 'demo', 'trace_file': trace}, 422, f'{trace}: cannot be read: Permission denied')
            scenario['trace'] = {'file': trace}
            s.bad('/api/run', {'scenario': scenario}, 422, 'Permission denied')
            s.bad('/api/run', {'scenario': scenario, 'set': {'catalog.gpus_file': trace}}, 422, 'Permission denied')
            del scenario['trace']
        s.bad('/api/run', {'scenario': scenario, 'trace_file': 'nothing.csv'}, 422, 'No such file')
        for policy in ('./p.so', os.path.realpath('in') + '/p.so', '/bin/true'):
            s.bad('/api/run', {'shipped': 'demo', 'policy': policy}, 422, 'policies in shared objects are not allowed here')
            s.bad('/api/run', {'shipped': 'demo', 'set': {'policy.name': policy}}, 422, 'not allowed here')
            s.bad('/api/compare', {'shipped': 'demo', 'policies': 'fifo,' + policy}, 422, 'not allowed here')
    with server('--allow-plugins', folder='in') as s:
        s.bad('/api/run', {'shipped': 'demo', 'policy': '/bin/true'}, 422, 'cannot load policy')
        # A plug-in that crashes ends only its worker, and the response names the plug-in.
        source = pathlib.Path('crashes.c')
        source.write_text('''#include <headroom/policy.h>
#include <stdlib.h>
static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error; *self = hr_arena_alloc(env->arena, 8); return HR_OK;
}
static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  (void)self; (void)view; (void)moves; abort();
}
HR_POLICY(crashes) = {HR_POLICY_HEAD, .name = "crashes", .summary = "s", .create = create, .decide = decide};
''')
        include = pathlib.Path(__file__).resolve().parents[2] / 'include'
        subprocess.run([os.environ.get('CC', 'cc'), '-fPIC', '-shared', f'-I{include}', str(source), '-o', 'in/crashes.so'], check=True)
        library = os.path.realpath('in/crashes.so')
        s.bad('/api/run', {'shipped': 'demo', 'policy': library}, 422, "plug-in 'crashes' crashed in its function 'decide'")


def case_bodies_are_bounded():
    with server('--max-upload', '1') as s:
        begin = f'POST /api/trace?name=a.csv HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\n'
        # 10 GB are rejected before the first byte is sent.
        same(s.raw(f'{begin}Content-Length: 10000000000\r\n\r\n'.encode()), 'HTTP/1.1 413 Content Too Large')
        check(s.raw(f'{begin}Content-Length: 99999999999999999999999\r\n\r\n'.encode()).startswith('HTTP/1.1 4'), 'a length beyond 64 bits')
        check(s.raw(f'{begin}Content-Length: -1\r\n\r\n'.encode()).startswith('HTTP/1.1 4'), 'a negative length')
        status, text, _ = s.upload(b'x' * (1 << 20) + b'x')
        check(status == 413 and b'--max-upload' in text, text)
        # The length of a chunked body is not known in advance.
        chunk = b'10000\r\n' + b'x' * 0x10000 + b'\r\n'
        answer = s.raw(f'{begin}Transfer-Encoding: chunked\r\n\r\n'.encode() + chunk * 20 + b'0\r\n\r\n')
        same(answer, 'HTTP/1.1 413 Content Too Large')
        answer = s.raw(f'{begin}Transfer-Encoding: chunked\r\n\r\n'.encode() + chunk * 1000)
        check(answer == '' or ' 413 ' in answer, f'endless chunks: {answer}')
        for chunks in (b'xyz\r\n', b'-5\r\nabc\r\n', b'ffffffffffffffffff\r\nabc\r\n', b'3\r\nabcdef\r\n', b'\r\n\r\n'):
            answer = s.raw(f'{begin}Transfer-Encoding: chunked\r\n\r\n'.encode() + chunks, ends=True)
            check(answer == '' or answer.startswith('HTTP/1.1 4'), f'{chunks}: {answer}')
        for data in (b'', b'\x00' * 1000, b'\x1f\x8b' + b'x' * 100, b'\x28\xb5\x2f\xfd' + b'\xff' * 64, b'{' * 100000):
            status, text, _ = s.upload(data)
            check(status == 422 and json.loads(text)['error']['message'], f'{data[:8]}: {status} {text[:200]}')
        status, text, _ = s.ask('POST', '/api/run', b'[' * 100000, JSON)
        same(status, 400)
        status, text, _ = s.ask('POST', '/api/run', b'\xff\xfe{"shipped":"demo"}', JSON)
        same(status, 400)
        for line in (b'GET\r\n\r\n', b'\x00\x01\x02\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n', b'GET ' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n'):
            answer = s.raw(line, ends=True)
            check(answer == '' or not answer.startswith('HTTP/1.1 2'), answer)


def case_hostile_names():
    name = '%3C%2Fscript%3E%3Cb%3E%22%01%0A%3D1%2B1%7Ccmd.csv'
    trace = (PROJECT / 'traces/reference/demo.csv').read_bytes()
    with server() as s:
        status, text, answer = s.upload(trace, f'name=..%2F..%2F{name}')
        same(status, 200)
        upload = json.loads(text)
        same(upload['name'], 'script><b>"=1+1|cmd.csv')
        same(answer.getheader('Content-Type'), 'application/json')
        scenario = json.loads(pathlib.Path(DEMO).read_text()) | {'name': '</script>\x01=1+1'}
        answer = s.good('/api/run', {'scenario': scenario, 'trace': upload['trace'], 'name': '</script>\n.json'})
        same(answer['scenario'], '</script>\x01=1+1')
        status, text, _ = s.ask('POST', '/api/export', json.dumps({'scenario': scenario, 'trace': upload['trace'], 'as': 'page'}), JSON)
        if status == 200:  # with node and npm
            page = text.decode()
            check('</script>\x01' not in page and '\\u003c/script>' in page, 'the name ends the script of the page')
        s.bad('/api/run', {'scenario': {'</script>': 1}}, 422, '')


def case_addresses_are_texts():
    trace = (PROJECT / 'traces/reference/demo.csv').read_bytes()
    with server() as s:
        for query in ('name=%ff', 'name=a%ff%c3', 'map=%80', '%ff=1', 'name=a.csv&x%fe=1'):
            status, text, _ = s.upload(trace, query)
            same((status, json.loads(text)['error']['message']), (400, 'the address is not valid UTF-8'))
        for query in ('name=a%00b', 'name=%00', 'name=a&format=csv%00x'):
            status, text, _ = s.upload(trace, query)
            same((status, json.loads(text)['error']['message']), (400, 'the address has a zero byte'))
        for path in ('/api/schema%00', '/api/schema%00x', '/api/file?shipped=demo%00x', '/%00'):
            status, text, _ = s.ask('GET', path)
            same((status, json.loads(text)['error']['message']), (400, 'the address has a zero byte'))
        same(s.ask('GET', '/api/file?shipped=demo%2500')[0], 404)
        # A quoted name is shortened, but never inside a character.
        status, text, _ = s.ask('GET', '/api/files?x' + '%C3%A4' * 40)
        check(status == 400 and 'ä' * 29 in json.loads(text)['error']['message'], text)
        same(json.loads(s.upload(trace, 'name=%C3%A4%E2%82%AC.csv')[1])['name'], 'ä€.csv')


def case_workers_have_limits():
    trace = gzip.compress(b'submit_s,duration_s,gpus\n' + b'0,1,1\n' * 8000000, 1)
    if not SANITIZED:
        with server('--max-memory', '64', '--workers', '1') as s:
            status, text, _ = s.upload(trace)
            check(status == 503 and b'out of memory' in text, f'{status} {text[:300]}')
            s.good('/api/run', {'shipped': 'demo'})
    with server('--max-seconds', '1', '--workers', '1') as s:
        endless = {'shipped': 'demo', 'replications': 10000, 'set': {'replications.workload': {'resample': 'days'}}}
        s.bad('/api/run', endless, 503, 'the time limit of a request is over')
        s.good('/api/run', {'shipped': 'demo'})
    with server('--max-plan-seconds', '1', '--workers', '1') as s:
        plan = {'shipped': 'plan-chatbot', 'of': 'plan', 'as': 'json'}
        error = s.bad('/api/export', plan, 503, 'the time limit of a plan is over')
        check('a larger --max-plan-seconds' in error['message'], error)


def case_many_requests_at_once():
    with server() as s:
        expected = json.loads(headroom('run', DEMO, '--json', '-', '--set', 'cluster.pools.0.nodes=9'))['digest']
        answers, peak = [], [0]

        def ask():
            answers.append(s.post('/api/run', {'shipped': 'demo', 'set': {'cluster.pools.0.nodes': 9}}))

        def watch():
            while len(answers) < 50:
                total = s.memory_kib()
                for worker in s.workers():
                    with contextlib.suppress(OSError, TypeError):
                        total += int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{worker}/status').read_text())[1])
                peak[0] = max(peak[0], total)
                time.sleep(0.002)

        threads = [threading.Thread(target=ask) for _ in range(50)] + [threading.Thread(target=watch)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        same({(status, answer['digest']) for status, answer in answers}, {(200, expected)})
        check(0 < peak[0] < 1 << 20, f'{peak[0]} KiB')


def runs_without_growth(count, allowed):
    with server() as s:
        connection = http.client.HTTPConnection('127.0.0.1', s.port, timeout=90)
        headers = JSON | {'X-Headroom-Token': s.token}
        sizes = []
        for i in range(count):
            connection.request('POST', '/api/run', '{"shipped":"demo"}', headers)
            answer = connection.getresponse()
            check(answer.status == 200 and answer.read(), 'a run failed')
            if i % 10 == 9:
                sizes.append(s.memory_kib())
        tenth = max(1, len(sizes) // 10)
        first, last = max(sizes[tenth:2 * tenth]), max(sizes[-tenth:])
        print(f'{count} runs: {first} KiB, then {last} KiB')
        check(last <= first * allowed or SANITIZED, f'{first} KiB, then {last} KiB')


def case_no_growth():
    runs_without_growth(100, 1.05)


def case_long_no_growth():
    runs_without_growth(10000, 1.05)


def case_idle_connections_delay_nobody():
    with server() as s:
        # A run that began before these connections gets its response.
        busy = s.connect(60)
        body = json.dumps({'shipped': 'demo', 'replications': 200, 'set': {'replications.workload': {'resample': 'days'}}}).encode()
        busy.sendall(f'POST /api/run HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\n'
                     f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body)
        idle = []
        for i in range(900):
            connection = socket.socket()
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.connect(('127.0.0.1', s.port))
            if i % 2:
                with contextlib.suppress(OSError):
                    connection.sendall(b'GET / HT')
            idle.append(connection)
        for _ in range(5):
            started = time.monotonic()
            same(s.ask('GET', '/api/scenarios')[0], 200)
            check(time.monotonic() - started < 5, 'idle connections delay an answer')  # they are closed after 15 s
        busy.settimeout(60)
        check(busy.recv(100).startswith(b'HTTP/1.1 200'), 'a connection with a request was closed')
        busy.close()
        for connection in idle:
            connection.close()


def case_malformed_lengths_are_refused():
    """libmicrohttpd responds to these requests itself. It sends the head twice, then closes the connection."""
    with server() as s:
        begin = f'POST /api/trace?name=a.csv HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\n'
        for length in ('-1', '+5', 'abc', '1x', '0x5', '5 5', '5,5', ''):
            with s.connect(30) as connection:
                connection.sendall(f'{begin}Content-Length: {length}\r\n\r\n'.encode())
                answer = b''
                while part := connection.recv(4096):  # until the server closes it
                    answer += part
            check(answer.startswith(b'HTTP/1.1 400 ') and b'\r\nConnection: close\r\n' in answer, f'{length}: {answer}')
            same({line for line in answer.split(b'\r\n') if line.startswith(b'HTTP/')}, {b'HTTP/1.1 400 Bad Request'})
        s.lives()


def case_long_slow_requests():
    with server() as s:
        begin = f'POST /api/run HTTP/1.1\r\nHost: localhost:{s.port}\r\nX-Headroom-Token: {s.token}\r\nContent-Type: application/json\r\n'
        slow = [s.connect(120) for _ in range(20)]
        started = time.monotonic()
        for connection in slow[10:]:
            connection.sendall(f'{begin}Content-Length: 1000\r\n\r\n'.encode())
        closed = set()
        while len(closed) < len(slow):
            check(time.monotonic() - started < 100, f'{len(slow) - len(closed)} slow requests are still open')
            for i, connection in enumerate(slow):
                if i in closed:
                    continue
                with contextlib.suppress(OSError):
                    connection.settimeout(0.01)
                    try:
                        connection.sendall(b'X' if i >= 10 else b'G')
                        if connection.recv(100) == b'':
                            closed.add(i)
                    except TimeoutError:
                        continue
                    except OSError:
                        closed.add(i)
            s.good('/api/check', {'shipped': 'demo'})
            time.sleep(1)


def case_long_many_connections():
    with server() as s:
        connections = []
        for _ in range(10000):
            try:
                connection = socket.create_connection(('127.0.0.1', s.port), timeout=0.2)
                connection.sendall(b'GET /')
                connections.append(connection)
                if len(connections) > 800:
                    connections.pop(0).close()
            except OSError:
                continue
        for connection in connections:
            connection.close()
        wait_until(lambda: s.ask('GET', '/api/scenarios')[0] == 200, 'an answer after many connections')
        check(s.memory_kib() < 200 << 10 or SANITIZED, f'{s.memory_kib()} KiB')


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        globals()[f'case_{sys.argv[2]}']()
