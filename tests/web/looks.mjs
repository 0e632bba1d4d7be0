// SPDX-License-Identifier: GPL-3.0-or-later
// Dark mode, patterns, printing, and the contrast of texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ink, on, open, picture, seeAll } from './browser.mjs';

const brightness = (page) =>
  page.evaluate(
    () =>
      getComputedStyle(document.body)
        .backgroundColor.match(/\d+/g)
        .map(Number)
        .reduce((a, b) => a + b) / 3,
  );

test('dark mode follows the system and the switch', () =>
  on('agency.html', { colorScheme: 'dark' }, async (page) => {
    await seeAll(page);
    assert.ok((await brightness(page)) < 60);
    const dark = await picture(page, '#gpus-chart');
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.waitForTimeout(400);
    assert.ok((await brightness(page)) > 200);
    assert.notEqual(await picture(page, '#gpus-chart'), dark);
    assert.equal(await page.getByRole('button', { name: 'Dark' }).getAttribute('aria-pressed'), 'false');
  }));

test('the switch adds patterns to areas', () =>
  on('agency.html', { reducedMotion: 'reduce' }, async (page) => {
    await seeAll(page);
    await page.locator('#gpus-chart').getByLabel('Show', { exact: true }).selectOption('tenant');
    await page.waitForTimeout(200);
    const plain = await picture(page, '#gpus-chart');
    await page.getByRole('button', { name: 'Patterns' }).click();
    await page.waitForTimeout(200);
    assert.notEqual(await picture(page, '#gpus-chart'), plain);
  }));

test('printed pages are light, with all charts and without controls', () =>
  on('agency.html', { colorScheme: 'dark' }, async (page) => {
    const pdf = (await page.pdf({ format: 'A4', printBackground: true })).toString('latin1');
    const pages = pdf.match(/\/Type\s*\/Page\b/g).length;
    assert.ok(pages >= 4 && pages <= 20, `${pages} pages`);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.ok((await brightness(page)) > 250);
    for (const id of await page.locator('figure').evaluateAll((all) => all.map((figure) => figure.id)))
      assert.ok((await ink(page, `#${id} .chart`)) > 150, id);
    assert.equal(await page.locator('.switches').isVisible(), false);
    assert.equal(await page.locator('#job-search').isVisible(), false);
    assert.equal(await page.locator('#jobs tr.job:visible').count(), 20);
    assert.ok(await page.getByText('Only the first 20 rows of the job table are printed.').isVisible());
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.equal(await page.locator('.printed').count(), 0);
  }));

// Runs in the page. Returns the texts whose contrast ratio with their background (WCAG 2.2) is below 4.5.
const unreadable = () => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour)
      .map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = [...document.querySelectorAll('body *')].filter(
    (e) =>
      e.checkVisibility() &&
      !e.disabled &&
      !['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName) &&
      [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()),
  );
  const bad = texts.filter((e) => {
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(background(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  });
  return { texts: texts.length, bad: bad.map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`) };
};

for (const colorScheme of ['light', 'dark'])
  test(`texts have enough contrast, ${colorScheme}`, async () => {
    for (const name of ['edited', 'plan', 'compare']) {
      const page = await open(`${name}.html`, { colorScheme });
      const { texts, bad } = await page.evaluate(unreadable);
      assert.ok(texts > 50);
      assert.deepEqual(bad, [], name);
      await page.context().close();
    }
  });
