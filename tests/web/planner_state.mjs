// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the planner: scenario, trace, load and search are consistent, in any order of choices and responses.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { onPlanner, painted, untilPainted } from './planner_page.mjs';

const { HEADROOM, HEADROOM_PROJECT, HEADROOM_WORK } = process.env;
const scenario = (name) => join(HEADROOM_PROJECT, `scenarios/${name}.json`);
const folder = join(HEADROOM_WORK, 'in'); // that of the server
const headroom = (...words) => execFileSync(HEADROOM, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const digestOf = (...words) => JSON.parse(headroom('run', ...words, '--json', '-')).digest;
const untilDigest = (page, digest) => page.waitForFunction((expected) => document.querySelector('#digest')?.textContent === expected, digest);

// Answers the next request for a plan with this plan, without a search.
const answerPlan = (page, plan) => page.route('**/api/plan', (route) => route.fulfill({ contentType: 'text/event-stream', body: `event: result\ndata: ${JSON.stringify(plan)}\n\n` }), { times: 1 });
const mixOf = (choice) => ({ recommendation: { choice, objective: 1, metrics: {} }, feasible: true, goals: [], runs: 1, probability_best: 1 });
const small = { name: 'small', cluster: { pools: [{ name: 'a', gpu: 'A100-80', nodes: 1, gpus_per_node: 8 }] }, policy: { name: 'queue' }, trace: { file: 'small.csv' } };
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'small.csv'), 'submit_s,duration_s,gpus\n0,100,8\n5,50,8\n');
writeFileSync(join(folder, 'small.json'), JSON.stringify(small));
const smallDigest = digestOf(join(folder, 'small.json'));

test('a scenario is saved with paths that the command line finds, and that the page finds again', () =>
  onPlanner({}, async (page) => {
    mkdirSync(join(folder, 'sub'), { recursive: true });
    const two = { pools: [{ ...small.cluster.pools[0], nodes: 2 }] }; // its digest differs from that of `small`
    writeFileSync(join(folder, 'sub', 'far.json'), JSON.stringify({ ...small, name: 'far', cluster: two, trace: { file: './../small.csv' } }));
    mkdirSync(join(HEADROOM_WORK, 'elsewhere'), { recursive: true });
    await page.reload();
    await page.waitForSelector('#files option[value="sub/far.json"]', { state: 'attached' });
    for (const [list, name, digest] of [
      ['#shipped', 'demo', digestOf(scenario('demo'))],
      ['#shipped', 'agency', digestOf(scenario('agency'))],
      ['#files', 'small.json', smallDigest],
      ['#files', 'sub/far.json', digestOf(join(folder, 'sub', 'far.json'))],
    ]) {
      await page.selectOption(list, name);
      await untilDigest(page, digest);
      assert.equal(await page.textContent('#exports code'), 'headroom run scenario.json');
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
      const path = join(HEADROOM_WORK, 'elsewhere', 'scenario.json');
      await download.saveAs(path);
      assert.equal(digestOf(path), digest);
      // Only the paths differ.
      const [now, was] = [path, list === '#shipped' ? scenario(name) : join(folder, name)].map((file) => JSON.parse(readFileSync(file, 'utf8')));
      assert.equal(now.trace.file, join(list === '#shipped' ? join(HEADROOM_PROJECT, 'scenarios') : join(folder, name, '..'), was.trace.file));
      assert.deepEqual({ ...now, trace: { ...now.trace, file: '' } }, { ...was, trace: { ...was.trace, file: '' } });
      await page.setInputFiles('#scenario-file', path);
      await page.waitForFunction(() => document.querySelector('#shipped').value === '' && document.querySelector('#files').value === '');
      await untilDigest(page, digest);
    }
  }));

test('the mix of a plan is taken with the load of the search', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'plan-reserved-share');
    await untilPainted(page, 0);
    let before = await painted(page);
    await page.fill('input[data-path="load"]', '1.5');
    await untilPainted(page, before);
    await answerPlan(page, mixOf({}));
    const digest = await page.textContent('#digest');
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence');
    before = await painted(page);
    await page.click('#apply');
    await untilPainted(page, before);
    assert.equal(await page.inputValue('input[data-path="load"]'), '1.5');
    assert.equal(await page.textContent('#digest'), digest);
  }));

test('a search ends when another scenario is opened', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'plan-reserved-share');
    await untilPainted(page, 0);
    // The response to the search arrives after the other scenario was opened.
    let release;
    const released = new Promise((done) => (release = done));
    let answered;
    const isAnswered = new Promise((done) => (answered = done));
    await page.route('**/api/plan', async (route) => {
      await released;
      await route.fulfill({ contentType: 'text/event-stream', body: `event: result\ndata: ${JSON.stringify(mixOf({}))}\n\n` }).catch(() => {});
      answered();
    }, { times: 1 });
    const failed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/plan'));
    await page.click('#plan-begin');
    assert.equal(await page.isDisabled('#plan-begin'), true);
    const before = await painted(page);
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, before);
    await failed;
    release();
    await isAnswered;
    assert.equal(await page.isDisabled('#plan-begin'), false);
    assert.equal(await page.isVisible('#plan-stop'), false);
    assert.equal(await page.textContent('#plan-answer'), '');
    assert.equal(await page.textContent('#plan .status'), '');
    // A response to a search in this scenario is used.
    await answerPlan(page, mixOf({}));
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence');
  }));

test('a saved scenario has its own trace, not that of the shipped scenario before it', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'agency');
    await untilPainted(page, 0);
    await page.setInputFiles('#scenario-file', join(folder, 'small.json'));
    await untilDigest(page, smallDigest);
    assert.equal(await page.inputValue('#shipped'), '');
    assert.equal(await page.isVisible('#purpose'), false);
    assert.equal(await page.isVisible('#trace'), false);
    assert.equal(await page.textContent('#exports code'), 'headroom run scenario.json');
    // The dropped trace remains selected, because the saved scenario was drafted for it.
    const own = join(HEADROOM_WORK, 'small.csv');
    writeFileSync(own, 'submit_s,duration_s,gpus\n0,100,8\n5,50,8\n7,20,4\n');
    await page.setInputFiles('#trace-file', own);
    await untilDigest(page, digestOf(join(folder, 'small.json'), '--trace', own));
    let before = await painted(page);
    await page.selectOption('#shipped', 'agency');
    await untilPainted(page, before);
    await page.setInputFiles('#scenario-file', join(folder, 'small.json'));
    await untilDigest(page, digestOf(join(folder, 'small.json'), '--trace', own));
  }));

for (const [name, choose] of [
  ['in the folder', (page) => page.selectOption('#files', 'small.json')],
  ['that was saved', (page) => page.setInputFiles('#scenario-file', join(folder, 'small.json'))],
])
  test(`the choice of a scenario ${name} wins over an earlier one whose files arrive later`, () =>
    onPlanner({}, async (page) => {
      await page.waitForSelector('#files option[value="small.json"]', { state: 'attached' });
      let release;
      const released = new Promise((done) => (release = done));
      await page.route('**/api/trace?shipped=*', async (route) => {
        await released;
        await route.continue();
      });
      const asked = page.waitForRequest('**/api/trace?shipped=*');
      await page.selectOption('#shipped', 'agency');
      await asked;
      await choose(page);
      await untilDigest(page, smallDigest);
      const answered = page.waitForResponse('**/api/trace?shipped=*');
      release();
      await (await answered).finished();
      await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
      assert.equal(await page.inputValue('#key-name'), 'small');
      assert.equal(await page.inputValue('#shipped'), '');
      assert.equal(await page.isVisible('#trace'), false);
    }));

test('the chart and the goals of a plan have the units of its objective and metrics', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'plan-chatbot');
    await untilPainted(page, 0);
    const file = join(HEADROOM_WORK, 'chat.json');
    const chat = JSON.parse(readFileSync(scenario('plan-chatbot'), 'utf8'));
    chat.services[0].requests.duration_s = 600;
    chat.plan = { variables: [{ name: 'replicas', path: 'services.0.autoscale.replicas', values: [1, 6, 9] }], constraints: ['chat.ttft_ms.p95 <= 2000', 'chat.attainment >= 95 %', 'jct_s.mean <= 1 h'], objective: 'chat.serving_usd' };
    writeFileSync(file, JSON.stringify(chat));
    const before = await painted(page);
    await page.setInputFiles('#scenario-file', file);
    await untilPainted(page, before);
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence', { timeout: 60000 });
    const plan = JSON.parse(headroom('plan', file, '--brief', '--quiet', '--json', '-'));
    const shown = await page.evaluate(() => [...document.querySelectorAll('#plan-answer tbody tr')].map((row) => row.cells[1].textContent));
    assert.match(shown[0], /^[0-9.]+\u00a0(ms|s)$/);
    assert.equal(shown[1], `${(100 * plan.goals[1].value).toFixed(1)}\u00a0%`);
    assert.match(shown[2], /min/);
    assert.match(await page.textContent('#frontier .chart-words'), /To the right: .*\(chat\.serving_usd\); upwards: .*\(chat\.ttft_ms\.p95\)\.$/);
    assert.ok((await page.textContent('#plan-sentence')).includes(`(chat.serving_usd) $${plan.recommendation.objective.toFixed(2)}`), await page.textContent('#plan-sentence'));
    const labels = await page.evaluate(() => [...document.querySelectorAll('#frontier text')].map(({ textContent }) => textContent));
    assert.ok(labels.some((text) => /^\$[0-9.]+$/.test(text)) && labels.some((text) => /\u00a0(ms|s)$/.test(text)), String(labels));
  }));

test('without a mix that meets the goals, the nearest one is not recommended', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, 0);
    await answerPlan(page, { recommendation: null, nearest: { choice: { spot: 0 }, objective: 1, metrics: {} }, feasible: false, goals: [], runs: 1, probability_best: 0 });
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence');
    assert.doesNotMatch(await page.textContent('#plan-answer'), /probability|Take this mix/);
    assert.match(await page.textContent('#apply'), /misses a goal/);
  }));

test('forms and sliders have one state, and an emptied number is no 0', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, 0);
    const [slider, field] = ['input[data-path="cluster.pools.0.nodes"]', '#key-cluster\\.pools\\.0\\.nodes'];
    await page.evaluate(() => document.querySelectorAll('#forms details').forEach((details) => (details.open = true)));
    let before = await painted(page);
    await page.fill(slider, '12');
    await untilPainted(page, before);
    assert.equal(await page.inputValue(field), '12');
    before = await painted(page);
    await page.fill(field, '14');
    await page.locator(field).blur();
    await untilPainted(page, before);
    assert.equal(await page.inputValue(slider), '14');
    before = await painted(page);
    await page.fill('#key-seed', '');
    await page.locator('#key-seed').blur();
    await untilPainted(page, before);
    assert.equal(await page.locator('#key-seed').count(), 0);
  }));

test('keys of a scenario may contain dots', () =>
  onPlanner({}, async (page) => {
    writeFileSync(join(folder, 'dotted.csv'), 'submit_s,duration_s,gpus,user\n0,100,8,ann\n5,50,8,bob\n');
    const tenants = { 'team.a': 'user~ann', 'team.b': 'user~bob' };
    writeFileSync(join(folder, 'dotted.json'), JSON.stringify({ ...small, trace: { file: 'dotted.csv', tenants } }));
    await page.setInputFiles('#scenario-file', join(folder, 'dotted.json'));
    await untilPainted(page, 0);
    await page.evaluate(() => document.querySelectorAll('#forms details').forEach((details) => (details.open = true)));
    let before = await painted(page);
    await page.getByLabel('team.a', { exact: true }).fill('user~bob');
    await page.getByLabel('team.a', { exact: true }).blur();
    await untilPainted(page, before);
    before = await painted(page);
    await page.click('#forms [aria-label="Remove team.b"]');
    await untilPainted(page, before);
    assert.equal(await page.textContent('#results .status'), '');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
    const saved = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.deepEqual(saved.trace.tenants, { 'team.a': 'user~bob' });
  }));

test('a change that is written as 0 is none', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'plan-reserved-share');
    await untilPainted(page, 0);
    const changes = () => page.evaluate(() => [...document.querySelectorAll('#results table')].at(-1).innerText.match(/[+−]\S+/g) ?? []);
    const answer = page.waitForResponse('**/api/run');
    await page.fill('input[data-path="load"]', '0.95');
    const result = await (await answer).json();
    await page.waitForFunction((digest) => document.querySelector('#digest')?.textContent === digest, result.digest);
    const present = await page.evaluate(() => Number(document.getElementById('results').dataset.painted));
    await page.click('text=Take as the present configuration');
    await untilPainted(page, present);
    assert.deepEqual(await changes(), []);
    for (const [load, less, expected] of [['1.05', 0.001, []], ['1.1', 1, ['−$1.00']]]) {
      const cost = { ...result.cost, idle_usd: result.cost.idle_usd - less };
      await page.route('**/api/run', (route) => route.fulfill({ json: { ...result, cost } }), { times: 1 });
      const before = await painted(page);
      await page.fill('input[data-path="load"]', load);
      await untilPainted(page, before);
      assert.deepEqual(await changes(), expected);
    }
  }));

test('the focus stays where a key or goal is added or removed, and on the button of a search', () =>
  onPlanner({ allowed: /status of 422/ }, async (page) => {
    const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent);
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, 0);
    const top = page.locator('#forms .form > .add select');
    await top.focus();
    await top.selectOption('horizon_s');
    assert.equal(await focus(), 'key-horizon_s');
    await page.focus('[aria-label="Remove horizon_s"]');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'add-');
    await top.selectOption('classes');
    assert.equal(await focus(), 'group-classes');
    await page.focus('#add-cluster\\.pools');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'group-cluster.pools.1');
    await page.keyboard.press('Enter');
    await page.focus('[aria-label="Remove 2"]');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'add-cluster.pools');
    await page.focus('[aria-label="Remove goal 1"]');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'Remove goal 1');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'Add a goal');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement === document.querySelector('#plan li select')), true);
    await answerPlan(page, mixOf({}));
    let release;
    const released = new Promise((done) => (release = done));
    await page.route('**/api/plan', async (route) => (await released, route.fallback()), { times: 1 });
    await page.focus('#plan-begin');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'plan-stop');
    release();
    await page.waitForSelector('#plan-sentence');
    await page.waitForFunction(() => document.activeElement.id === 'plan-begin');
    await page.focus('#apply');
    await page.keyboard.press('Enter');
    assert.equal(await focus(), 'results-title');
  }));
