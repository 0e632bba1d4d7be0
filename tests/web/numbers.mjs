// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers on the page equal those of the JSON output and have the format of the terminal output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, json, on, read, seeAll, words } from './browser.mjs';

const at = (run, key) => key.split('.').reduce((part, name) => part?.[name], run);

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
      const lead = await words(page.locator('#headline .what'));
      for (const part of [run.scenario, run.digest, `seed ${run.seed}`]) assert.ok(lead.includes(part), part);
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
        `cost       ${await card(page, 'cost.total_usd')}; ${await card(page, 'cost.usd_per_month')} per month`,
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
    assert.ok(run.cost.usd_per_month > baseline.run.cost.usd_per_month);
    assert.match(await change('cost.usd_per_month'), /^\+\$.*worse$/);
    assert.match(await change('utilization.makespan'), /^\+4\.0 points, better$/);
    assert.equal(await change('jobs.completed'), 'same as the baseline');
    const lead = await page.locator('.lead', { hasText: 'baseline last month' }).innerText();
    assert.ok(lead.includes('policy fifo') && lead.includes(baseline.run.digest), lead);
    assert.match(await words(page.locator('#other-baseline')), /^The baseline used a different configuration: trace: last-month\.csv \(now /);
  }));
