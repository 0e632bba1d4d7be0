// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the planner: one state of scenario, trace, load and search, whatever the order of choices and answers is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { onPlanner, painted, untilPainted } from './planner_page.mjs';

const { HEADROOM, HEADROOM_PROJECT, HEADROOM_WORK } = process.env;
const scenario = (name) => join(HEADROOM_PROJECT, `scenarios/${name}.json`);
const folder = join(HEADROOM_WORK, 'in'); // that of the server
const headroom = (...words) => execFileSync(HEADROOM, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const digestOf = (...words) => JSON.parse(headroom('run', ...words, '--json', '-')).digest;
const untilDigest = (page, digest) => page.waitForFunction((expected) => document.querySelector('#digest')?.textContent === expected, digest);

// Answers the search for a plan without one.
const answerPlan = (page, plan) => page.route('**/api/plan', (route) => route.fulfill({ contentType: 'text/event-stream', body: `event: result\ndata: ${JSON.stringify(plan)}\n\n` }), { times: 1 });
const mixOf = (choice) => ({ recommendation: { choice, objective: 1, metrics: {} }, feasible: true, goals: [], runs: 1, probability_best: 1 });
const small = { name: 'small', cluster: { pools: [{ name: 'a', gpu: 'A100-80', nodes: 1, gpus_per_node: 8 }] }, policy: { name: 'queue' }, trace: { file: 'small.csv' } };
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'small.csv'), 'submit_s,duration_s,gpus\n0,100,8\n5,50,8\n');
writeFileSync(join(folder, 'small.json'), JSON.stringify(small));
const smallDigest = digestOf(join(folder, 'small.json'));

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
    // The answer of the search comes after the other scenario was opened.
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
    // A search of this scenario is answered.
    await answerPlan(page, mixOf({}));
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence');
  }));
