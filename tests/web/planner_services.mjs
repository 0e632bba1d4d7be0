// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the planner for scenarios with services: requests within the goals, latencies and replicas instead of
// jobs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { onPlanner, painted, untilPainted } from './planner_page.mjs';

const { HEADROOM, HEADROOM_PROJECT } = process.env;
const chatbot = join(HEADROOM_PROJECT, 'scenarios/chatbot.json');
const run = (...words) => JSON.parse(execFileSync(HEADROOM, ['run', ...words, '--json', '-'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
const percent = (value) => `${(value * 100).toFixed(1)}\u00a0%`;

test('with fewer replicas a service misses its goals, which the page says', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'chatbot');
    await untilPainted(page, 0);
    const first = run(chatbot).services[0];
    const row = () => page.evaluate(() => [...document.querySelectorAll('#services tbody tr')].map((tr) => [...tr.cells].map((cell) => cell.textContent))[0]);
    assert.match(await page.textContent('#sentences'), new RegExp(`chat: ${percent(first.attainment)} of 259,041 requests are within the goals; 95\\.0\u00a0% are required: met\\. TTFT, p95: 1\\.94\u00a0s; 9 replicas at most`));
    assert.deepEqual(await row(), ['chat', percent(first.attainment), '95.0\u00a0%', 'met', '1.94\u00a0s', '259,041', '0', '0', '9']);
    const before = await painted(page);
    await page.fill('input[data-path="services.0.autoscale.replicas"]', '3');
    await untilPainted(page, before);
    const second = run(chatbot, '--set', 'services.0.autoscale.replicas=3').services[0];
    assert.ok(second.attainment < 0.95);
    assert.match(await page.textContent('#sentences p.bad'), new RegExp(`chat: ${percent(second.attainment)} \\(present: ${percent(first.attainment)}\\) of .* required: MISSED\\..* 3 replicas \\(present: 9 replicas\\) at most`));
    assert.equal((await row())[3], 'MISSED (present: met)');
    assert.equal((await row())[8], '3 (present: 9)');
    // The jobs of the run are the replicas, not jobs of the user.
    assert.doesNotMatch(await page.textContent('#results'), /jobs/i);
    assert.match(await page.textContent('#queue-chart'), /Requests of chat within the goals, by hour.*MISSED/);
    for (const kind of ['now', 'was', 'limit']) assert.equal(await page.locator(`#queue-chart path.${kind}`).count(), 1);
  }));

test('jobs of which none is completed', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'llama-training');
    await untilPainted(page, 0);
    assert.match(await page.textContent('#sentences'), /No job was completed; 1 job had not ended at the end of the run/);
    assert.equal(await page.locator('#services table').count(), 0);
  }));

test('jobs and services, and many services', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'night-training');
    await untilPainted(page, 0);
    assert.match(await page.textContent('#sentences'), /requests are within the goals.*95 % of the jobs and replicas start within/);
    const before = await painted(page);
    await page.selectOption('#shipped', 'forty-models');
    await untilPainted(page, before);
    assert.match(await page.textContent('#sentences p'), /^40 services; /);
    assert.equal(await page.locator('#services tbody tr').count(), 40);
  }));
