// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the planner: files that the user drops one after the other, their names and columns, and the command that
// produces the same digest.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { onPlanner, painted, untilPainted } from './planner_page.mjs';

const { HEADROOM, HEADROOM_WORK } = process.env;
const folder = join(HEADROOM_WORK, 'drops'); // of the user
mkdirSync(folder, { recursive: true });
const write = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const digestOf = (...words) => JSON.parse(execFileSync(HEADROOM, ['run', ...words, '--json', '-'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })).digest;
const untilDigest = (page, digest) => page.waitForFunction((expected) => document.querySelector('#digest')?.textContent === expected, digest);

const rows = '0,100,8\n5,50,8\n7,20,4\n';
const small = { name: 'small', cluster: { pools: [{ name: 'a', gpu: 'A100-80', nodes: 1, gpus_per_node: 8 }] }, policy: { name: 'queue' } };

// Delays the first request for a URL until `release` is called.
const holdFirst = async (page, address) => {
  let release;
  let first = true;
  const released = new Promise((done) => (release = done));
  await page.route(address, async (route) => {
    const held = first;
    first = false;
    if (held) await released;
    await route.continue();
  });
  return release;
};
const answered = async (page, address, release) => {
  const response = page.waitForResponse(address);
  release();
  await (await response).finished();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
};

test('the file that was dropped last is used, also if an earlier one is read later', () =>
  onPlanner({}, async (page) => {
    const release = await holdFirst(page, '**/api/trace?*');
    const asked = page.waitForRequest('**/api/trace?*');
    await page.setInputFiles('#trace-file', write('first.csv', `submit_s,duration_s,gpus\n${rows}`));
    await asked;
    await page.setInputFiles('#trace-file', write('second.csv', 'submit_s,duration_s,gpus\n0,100,8\n'));
    await page.waitForSelector('#draft');
    await answered(page, '**/api/trace?name=first.csv', release);
    assert.equal(await page.textContent('.trace-state'), 'second.csv: 1 job.');
    assert.equal(await page.textContent('#trace-title'), 'Trace second.csv');
  }));

test('a draft for an earlier trace is not opened with a later one', () =>
  onPlanner({}, async (page) => {
    await page.setInputFiles('#trace-file', write('first.csv', `submit_s,duration_s,gpus\n${rows}`));
    await page.waitForSelector('#draft');
    const release = await holdFirst(page, '**/api/draft');
    const asked = page.waitForRequest('**/api/draft');
    await page.click('#draft');
    await asked;
    await page.setInputFiles('#trace-file', write('second.csv', 'submit_s,duration_s,gpus\n0,100,8\n'));
    await page.waitForFunction(() => document.querySelector('#trace-title')?.textContent === 'Trace second.csv');
    await answered(page, '**/api/draft', release);
    assert.equal(await page.isVisible('#results'), false);
  }));

test('a scenario that names columns reads the dropped trace by them', () =>
  onPlanner({}, async (page) => {
    const trace = write('teams.csv', 'submit_s,duration_s,gpus,team\n0,100,8,red\n1,50,8,red\n2,50,8,blue\n');
    const scenario = write('teams.json', JSON.stringify({ ...small, policy: { name: 'queue', order: 'fair-share' }, trace: { columns: { tenant: 'team' } } }));
    const expected = digestOf(scenario, '--trace', trace);
    await page.setInputFiles('#trace-file', trace);
    await page.waitForSelector('#draft');
    await page.setInputFiles('#scenario-file', scenario);
    await untilDigest(page, expected);
    assert.equal(await page.textContent('#exports code'), 'headroom run scenario.json --trace teams.csv');
  }));

test('names of files and columns are words of a shell, and long names fit on a narrow screen', () =>
  onPlanner({ width: 390, allowed: /status of 422/ }, async (page) => {
    const name = `it's ${'long'.repeat(40)}.csv`;
    await page.setInputFiles('#trace-file', write(name, `Submit Time (s),Run Time,GPU count\n${rows}`));
    await page.waitForSelector('.trace-state form');
    for (const [field, column] of [['submit', 'Submit Time (s)'], ['duration', 'Run Time'], ['gpus', 'GPU count']])
      await page.selectOption(`.trace-state select[aria-label="${field}: "]`, column);
    await page.click('.trace-state button');
    await page.waitForSelector('#draft');
    await page.click('#draft');
    await untilPainted(page, 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
    await download.saveAs(join(folder, 'scenario.json'));
    const command = await page.textContent('#exports code');
    const shell = `cd "$1" && shift && headroom() { "$program" "$@"; } && ${command} --quiet --json - 2>/dev/null`;
    const text = execFileSync('sh', ['-c', shell, 'sh', folder], { encoding: 'utf8', env: { ...process.env, program: HEADROOM } });
    assert.equal(JSON.parse(text).digest, await page.textContent('#digest'));
  }));

test('a trace with the name of the scenario', () =>
  onPlanner({}, async (page) => {
    await page.setInputFiles('#trace-file', write('scenario.json', `submit_s,duration_s,gpus\n${rows}`));
    await page.waitForSelector('#draft');
    await page.click('#draft');
    await untilPainted(page, 0);
    assert.equal(await page.textContent('#results .status'), '');
  }));

test('after a change that is an error, the figures are said to be those before it', () =>
  onPlanner({ allowed: /status of 422/ }, async (page) => {
    const slider = 'input[data-path="cluster.pools.0.nodes"]';
    await page.selectOption('#shipped', 'chatbot');
    await untilPainted(page, 0);
    const command = page.locator('#exports p:has(code)');
    assert.equal(await command.isVisible(), true);
    const nodes = await page.inputValue(slider);
    await page.fill(slider, '0'); // replicas of a service need GPUs
    await page.waitForSelector('#results .status.bad');
    assert.match(await page.textContent('#results .status'), /the cluster has none.*\nThe figures below are those before this change\.$/s);
    assert.equal(await command.isVisible(), false); // the saved scenario has no digest
    await page.fill(slider, nodes);
    await page.waitForFunction(() => document.querySelector('#results .status').textContent === '');
    assert.equal(await command.isVisible(), true);
  }));

test('only policies that limit the share of spot have a slider for it', () =>
  onPlanner({}, async (page) => {
    const slider = page.locator('input[data-path="policy.max_spot_share"]');
    await page.selectOption('#shipped', 'agency');
    await untilPainted(page, 0);
    assert.equal(await slider.count(), 1);
    const before = await painted(page);
    await page.selectOption('#shipped', 'spot-v100'); // its policy is `deadline`
    await untilPainted(page, before);
    assert.equal(await slider.count(), 0);
  }));
