// SPDX-License-Identifier: GPL-3.0-or-later
// The page can be used with the keyboard alone. The Tab key reaches every control in order, and the focus is visible.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { on } from './browser.mjs';

const CONTROLS = 'a[href], button:not(:disabled), select, input, summary, [tabindex="0"]';

const focused = (page) =>
  page.evaluate((controls) => {
    const element = document.activeElement;
    const visible = [...document.querySelectorAll(controls)].filter((e) => e.checkVisibility());
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return {
      index: visible.indexOf(element),
      of: visible.length,
      hasOutline: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    };
  }, CONTROLS);

test('Tab reaches every control in order with a visible focus', () =>
  on('agency.html', {}, async (page) => {
    const indices = [];
    for (let i = 0; i < 400; i++) {
      await page.keyboard.press('Tab');
      const { index, of, hasOutline } = await focused(page);
      if (index < 0 || index < indices.at(-1)) break;
      assert.ok(hasOutline, `control ${index} shows no focus`);
      indices.push(index);
      if (indices.length === of) break;
    }
    const { of } = await focused(page);
    assert.equal(indices.length, of);
    assert.deepEqual(
      indices,
      Array.from({ length: of }, (_, i) => i),
    );
  }));

test('the first control skips to the content', () =>
  on('agency.html', {}, async (page) => {
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  }));

test('the table of contents lists all sections, which are landmarks', () =>
  on('agency.html', {}, async (page) => {
    const links = await page.locator('#contents a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    const sections = await page
      .getByRole('main')
      .getByRole('region')
      .evaluateAll((all) => all.filter((e) => e.tagName === 'SECTION').map((section) => `#${section.id}`));
    assert.deepEqual(links, sections);
    assert.ok(links.length >= 9, links.join());
    for (const link of links) assert.ok(await page.locator(`${link} h1, ${link} h2`).first().innerText());
  }));
