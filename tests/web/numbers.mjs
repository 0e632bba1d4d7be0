// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers on the page equal those of the JSON output and have the format of the terminal output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration, fixed, usd } from '../../report/web/src/format.js';
import { documentOf, json, on, read, seeAll, words } from './browser.mjs';

const at = (run, key) => key.split('.').reduce((part, name) => part?.[name], run);

// Values whose binary representation is slightly less than half a unit of the last digit. The terminal rounds them up.
test('half a unit is rounded as in the terminal', () => {
  assert.deepEqual([1.005, 8.545, -1.005, 9999.494999].map(usd), ['$1.01', '$8.55', '-$1.01', '$9,999.49']);
  assert.deepEqual([1.115, 35.75].map(duration), ['1.12\u00a0s', '35.8\u00a0s']);
  assert.deepEqual([fixed(1.115, 2), fixed(2.5, 0), fixed(-0.004, 2), fixed(1234.5678, 1)], ['1.12', '3', '0.00', '1,234.6']);
});

for (const name of ['agency', 'demo'])
  test(`the headline of ${name} has the values of its JSON output`, () =>
    on(`${name}.html`, {}, async (page) => {
      const run = json(`${name}.json`);
      const cards = await page
        .locator('#headline .card')
        .evaluateAll((all) => all.map((card) => [card.dataset.figure, Number(card.dataset.value)]));
      assert.ok(cards.length >= 6);
      for (const [key, value] of cards) {
        const expected =
          key === 'idle_gpu_hours'
            ? (run.gpu_hours / run.utilization.makespan) * (1 - run.utilization.makespan)
            : at(run, key);
        assert.equal(value, expected, key);
      }
      assert.ok((await words(page.locator('#headline .what'))).includes(run.scenario));
      assert.ok(!(await page.locator('#headline').innerText()).includes(run.digest));
      assert.ok((await page.locator('#about').innerText()).includes(run.digest));
    }));

// Whole dollars, as on the page.
const whole = (value) => `$${Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',')}`;
const firstLine = (page, name) => words(page.locator(`[data-line="${name}"]`));

test('the page begins with the period, the cost and the saving', () =>
  on('agency.html', { folded: true }, async (page) => {
    const run = json('agency.json');
    const advice = json('agency.advice.json');
    assert.equal(await words(page.locator('h1')), 'GPU use and cost');
    assert.match(await firstLine(page, 'period'), /^Period: 30 d 10 h; the trace has no dates\. [\d,]+ jobs on up to [\d,]+ GPUs \(/);
    const cost = await firstLine(page, 'cost');
    for (const part of [whole(run.cost.total_usd), `${whole(run.cost.monthly_usd)} a month (730 hours with this demand)`])
      assert.ok(cost.includes(part), cost);
    assert.ok(cost.includes(`${((100 * run.cost.idle_usd) / run.cost.capacity_usd).toFixed(1)} % of the cost of GPUs`), cost);
    const { prices } = await documentOf(page);
    for (const { pool } of prices.filter(({ status }) => status === 'assumed').slice(0, 3)) assert.ok(cost.includes(pool), cost);
    const [best] = advice.advice;
    const saving = await firstLine(page, 'saving');
    if (best) assert.ok(saving.includes(best.set[0].split('=')[0]), saving);
    else assert.match(saving, /^Saving: none of the \d+ changes that were examined .* headroom advise scenarios\/agency\.json Copy$/);
  }));

test('technical sections are folded, and links open them', () =>
  on('agency.html', { folded: true }, async (page) => {
    const { y } = await page.locator('#alerts').boundingBox();
    assert.equal(await page.locator('.fold[open]').count(), 0);
    assert.equal(await page.locator('#jobs .inside').isVisible(), false);
    for (const id of ['costs', 'gpus']) assert.ok(await page.locator(`#${id} .chart`).first().isVisible());
    assert.ok(await page.locator('.chart:visible').evaluateAll((all) => all.every((chart) => chart.querySelector('canvas'))));
    await page.locator('#contents a', { hasText: 'Jobs' }).click();
    await page.locator('#jobs .inside').waitFor();
    await page.getByRole('button', { name: 'All details' }).click();
    assert.equal(await page.locator('.fold:not([open])').count(), 0);
    assert.ok(y > 0);
  }));

test('times are labelled as UTC only if the trace has a time zone', async () => {
  const label = (name) => on(name, {}, (page) => page.locator('#gpus .chart-words').first().innerText());
  assert.match(await label('zoned.html'), /2026-01-0\d \d\d:\d\d(:\d\d)? UTC/);
  const local = await label('local.html');
  assert.match(local, /2026-01-0\d \d\d:\d\d/);
  assert.ok(!local.includes('UTC'), local);
});

test('goals of the scenario are met or missed', () =>
  on('local.html', { folded: true }, async (page) => {
    const goals = (await words(page.locator('#goals'))).split('\n').filter(Boolean);
    assert.equal(goals[1], '✓ met: wait_s.mean <= 1 h (0 s)');
    assert.equal(goals[2], '✗ missed: jct_s.mean <= 1 min (1 h)');
  }));

const card = (page, key) => words(page.locator(`[data-figure="${key}"] .value`));

test('durations and shares have the format of the terminal output', () =>
  on('demo.html', {}, async (page) => {
    const terminal = read('demo.txt');
    const wait = terminal.split('\n').find((line) => line.startsWith('wait '));
    for (const key of ['wait_s.mean', 'wait_s.p95', 'wait_s.p99'])
      assert.ok(wait.includes(await card(page, key)), `${await card(page, key)} in: ${wait}`);
    assert.ok(terminal.includes(`${await card(page, 'utilization.makespan')} allocated over the makespan`));
  }));

test('dollars have the format of the terminal output', () =>
  on('agency.html', {}, async (page) => {
    const terminal = read('agency.txt');
    assert.ok(
      terminal.includes(
        `cost       ${await card(page, 'cost.total_usd')}; ${await card(page, 'cost.monthly_usd')} a month (730 h of this demand)`,
      ),
    );
    assert.ok(terminal.includes(`idle       ${await card(page, 'cost.idle_usd')}, `));
  }));

test('the table of the GPU chart adds up to the GPU hours', () =>
  on('demo.html', {}, async (page) => {
    await seeAll(page);
    const { series, spans } = await documentOf(page);
    await page
      .locator('#gpus-chart')
      .getByRole('button', { name: /as a table/ })
      .click();
    const column = await page
      .locator('#gpus-chart tbody tr')
      .evaluateAll((rows) => rows.map((row) => Number(row.cells[2].textContent.replaceAll(',', ''))));
    assert.equal(column.length, series.n);
    const hours =
      column.reduce(
        (sum, gpus, i) =>
          sum + gpus * Math.max(0, Math.min(series.step_s, spans.end_s - series.begin_s - i * series.step_s)),
        0,
      ) / 3600;
    const expected = json('demo.json').gpu_hours;
    assert.ok(Math.abs(hours / expected - 1) < 0.001, `${hours} and ${expected}`);
  }));

test('the table of tenants and markets adds up to the cost', () =>
  on('agency.html', {}, async (page) => {
    const last = page.locator('#costs .box.whole tbody tr').last();
    const total = json('agency.json').cost.total_usd;
    const cells = await last.locator('td').allInnerTexts();
    const shown = Number(cells[cells.length - 2].replace(/[$,]/g, ''));
    assert.ok(Math.abs(shown - total) < 1, `${shown} and ${total}`);
  }));

test('charts of the trace have the values of trace stats', () =>
  on('agency.html', {}, async (page) => {
    const stats = json('agency.stats.json');
    const plain = (text) => Number(text.replaceAll(',', ''));
    await seeAll(page);
    for (const id of ['arrivals-chart', 'run-times-chart'])
      await page.locator(`#${id}`).getByRole('button', { name: /as a table/ }).click();
    const rows = await page.locator('#arrivals-chart tbody tr td:nth-child(2)').allInnerTexts();
    assert.deepEqual(rows.map(plain), stats.arrivals.by_hour);
    const half = page.locator('#run-times-chart tbody tr', { hasText: '50 %' }).first().locator('td').nth(1);
    assert.ok(read('agency.stats.txt').includes(await words(half)), await words(half));
  }));

test('changes from a baseline are marked better or worse', () =>
  on('edited.html', {}, async (page) => {
    const { run, baseline } = await documentOf(page);
    const change = (key) => words(page.locator(`[data-figure="${key}"] .change`));
    assert.ok(run.wait_s.mean < baseline.run.wait_s.mean);
    assert.match(await change('wait_s.mean'), /^−.*better$/);
    assert.ok(run.cost.monthly_usd > baseline.run.cost.monthly_usd);
    assert.match(await change('cost.monthly_usd'), /^\+\$.*worse$/);
    assert.match(await change('utilization.makespan'), /^\+4\.0 points$/);
    assert.equal(await change('jobs.completed'), 'same as the baseline');
    const lead = await page.locator('.lead', { hasText: 'baseline last month' }).innerText();
    assert.ok(lead.includes('policy fifo') && !lead.includes(baseline.run.digest), lead);
    assert.ok((await page.locator('#about').innerText()).includes(baseline.run.digest));
    assert.match(await words(page.locator('#other-baseline')), /^Changed since the baseline: trace: last-month\.csv \(now /);
  }));
