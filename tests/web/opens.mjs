// SPDX-License-Identifier: GPL-3.0-or-later
// Every kind of page can be opened at both widths: no errors, no requests, no horizontal scrolling, no empty charts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { has, ink, on, seeAll } from './browser.mjs';
import { PAGES } from './pages.mjs';

for (const name of PAGES)
  for (const width of [1280, 390])
    test(`${name} opens at ${width} pixels`, { skip: !has(`${name}.html`) }, () =>
      on(`${name}.html`, { width }, async (page) => {
        await seeAll(page);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        assert.equal(await page.locator('[role="alert"]').count(), 0);
        assert.ok(await page.locator('h1').innerText());
        for (const id of await page.locator('figure').evaluateAll((all) => all.map((figure) => figure.id)))
          assert.ok((await ink(page, `#${id} .chart`)) > 150, `${id} is empty`);
        assert.deepEqual(page.faults, []);
      }),
    );

// Runs in the page. Returns the labels of tables that are wider than their box.
const cut = () =>
  [...document.querySelectorAll('.box')]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.getAttribute('aria-label'));

test('wide pages show all columns of tables, narrow pages the important ones', async () => {
  await on('agency.html', { width: 1280 }, async (page) => {
    await seeAll(page);
    await page.locator('#jobs tr.job').first().waitFor();
    assert.deepEqual(await page.evaluate(cut), []);
    assert.ok(await page.locator('#jobs th', { hasText: 'Cost' }).isVisible());
  });
  await on('agency.html', { width: 390 }, async (page) => {
    await seeAll(page);
    await page.locator('#jobs tr.job').first().waitFor();
    const wide = await page.evaluate(cut);
    for (const label of ['Jobs', 'Cost by tenant and market']) assert.ok(!wide.includes(label), label);
    assert.ok(!wide.some((label) => label.startsWith('Alerts')));
    assert.equal(await page.locator('#jobs th', { hasText: 'Cost' }).isVisible(), false);
    await page.locator('#jobs tr.job button').first().click();
    await page.locator('#jobs .facts dt', { hasText: 'Cost' }).waitFor();
  });
});

test('an empty chart has no coloured pixels', () =>
  on('agency.html', {}, async (page) => {
    await seeAll(page);
    await page.evaluate(() =>
      document
        .querySelectorAll('#gpus-chart canvas')
        .forEach((canvas) => canvas.getContext('2d').clearRect(0, 0, 1e5, 1e5)),
    );
    assert.equal(await ink(page, '#gpus-chart .chart'), 0);
  }));

test('the content security policy blocks requests', () =>
  on('agency.html', {}, async (page) => {
    const outcome = await page.evaluate(() =>
      fetch('https://example.invalid/').then(
        () => 'fetched',
        () => 'refused',
      ),
    );
    assert.equal(outcome, 'refused');
    assert.ok(
      page.faults.some((fault) => /Content Security Policy|violates/.test(fault)),
      page.faults.join(),
    );
    assert.match(await page.locator('meta[http-equiv]').getAttribute('content'), /^default-src 'none';/);
  }));
