// SPDX-License-Identifier: GPL-3.0-or-later
// A selection changes what a chart shows. All time charts have the same time range.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, on, picture, seeAll, words } from './browser.mjs';

const STILL = { reducedMotion: 'reduce' };

const choose = async (page, figure, label, value) => {
  await page.locator(figure).getByLabel(label, { exact: true }).selectOption(value);
  await page.waitForTimeout(100);
};

test('GPUs are shown by tenant, class, type and market', () =>
  on('agency.html', STILL, async (page) => {
    await seeAll(page);
    const { series } = await documentOf(page);
    const seen = new Set([await picture(page, '#gpus-chart')]);
    for (const by of ['tenant', 'class', 'gpu', 'market']) {
      assert.ok(series.by[by].length > 1, by);
      await choose(page, '#gpus-chart', 'Show', by);
      seen.add(await picture(page, '#gpus-chart'));
      assert.ok((await words(page.locator('#gpus-chart .chart-words'))).includes(series.by[by][0].name), by);
    }
    assert.equal(seen.size, 5);
  }));

test('waits are shown by size and as a tail', () =>
  on('demo.html', STILL, async (page) => {
    await seeAll(page);
    const seen = new Set([await picture(page, '#waits-chart')]);
    await choose(page, '#waits-chart', 'Of', 'by_size');
    seen.add(await picture(page, '#waits-chart'));
    await choose(page, '#waits-chart', 'As', 'tail');
    seen.add(await picture(page, '#waits-chart'));
    assert.equal(seen.size, 3);
  }));

test('zooming changes the time range of all charts over time', () =>
  on('agency.html', STILL, async (page) => {
    await seeAll(page);
    const charts = ['#gpus-chart', '#queue-chart', '#wait-chart', '#cost-chart', '#occupancy-chart'];
    const pictures = () => Promise.all(charts.map((chart) => picture(page, chart)));
    const before = await pictures();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.waitForTimeout(400);
    const zoomed = await pictures();
    charts.forEach((chart, i) => assert.notEqual(zoomed[i], before[i], chart));
    await page.getByRole('button', { name: 'All time' }).click();
    await page.waitForTimeout(400);
    const back = await pictures();
    charts.slice(1).forEach((chart, i) => assert.equal(back[i + 1], before[i + 1], chart));
  }));

test('every chart has a description, and a table if it has a button for it', () =>
  on('agency.html', STILL, async (page) => {
    for (const figure of await page.locator('figure').all()) {
      assert.ok((await figure.locator('.chart').getAttribute('aria-label')).length > 20);
      const button = figure.getByRole('button', { name: /as a table/ });
      if (!(await button.count())) continue;
      await button.click();
      await figure.locator('tbody tr').first().waitFor();
      await button.click();
      await figure.locator('table').waitFor({ state: 'hidden' });
    }
  }));

test('names are shown as text, even if they contain markup', () =>
  on('edited.html', STILL, async (page) => {
    await seeAll(page);
    await choose(page, '#gpus-chart', 'Show', 'tenant');
    await page.locator('#gpus-chart .chart').hover({ position: { x: 400, y: 200 } });
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.locator('img').count(), 0);
    assert.ok((await page.locator('body').innerText()).includes('<img src=x onerror='));
    assert.deepEqual(page.faults, []);
  }));

test('alerts and reasons of waits are shown if there are any', () =>
  on('edited.html', STILL, async (page) => {
    const causes = (await words(page.locator('#causes'))).split('\n').filter(Boolean);
    assert.match(causes[0], /^Jobs wait long: cluster [\d.]+ % of the time \(once\)\.$/);
    assert.match(causes[1], /^Paid capacity is idle at times: cluster is nearly empty [\d.]+ % of the time\.$/);
    assert.equal(causes.length, 2);
    await page.getByText('3 alerts by rule and subject').click();
    const rows = page.locator('#alerts tbody').first().locator('tr');
    assert.equal(
      (await words(rows.nth(0))).replaceAll('\t', ' | '),
      'gpus underused | cluster | 2 | 7 h 30 min | day 2 07:33:20 | 7 % of the GPUs',
    );
    assert.equal(await rows.count(), 2);
    await page.getByText('Each of the 3 alerts').click();
    const each = page.locator('#alerts [aria-label="Each alert"] tbody tr');
    await each.nth(2).waitFor();
    assert.equal(await each.count(), 3);
    assert.match(await words(page.locator('#why .chart-words')), /^Of the waiting time, 75\.0 % was for free GPUs; 25\.0 % was for a placement: enough GPUs were free/);
    assert.match(await words(page.locator('#why .pair')), /retail\s+9\s+100\s+for free GPUs \(75\.0 %\)/);
  }));

test('tenants without counts are summarized as "more"', () =>
  on('edited.html', STILL, async (page) => {
    assert.match(await words(page.locator('#waits .pair')), /and 5 more/);
  }));

test('charts over many days can be zoomed in and reset', () =>
  on('long.html', STILL, async (page) => {
    await seeAll(page);
    const before = await picture(page, '#queue-chart');
    for (let i = 0; i < 3; i++) await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.waitForTimeout(400);
    assert.notEqual(await picture(page, '#queue-chart'), before);
    await page.getByRole('button', { name: 'All time' }).click();
    await page.waitForTimeout(400);
    assert.equal(await picture(page, '#queue-chart'), before);
    assert.deepEqual(page.faults, []);
  }));
