// SPDX-License-Identifier: GPL-3.0-or-later
// All that a pointer can do, keys can: the Tab key comes to every control, in order, and one sees where it is.
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
      place: visible.indexOf(element),
      of: visible.length,
      ring: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    };
  }, CONTROLS);

test('Tab comes to every control in order, and is seen', () =>
  on('agency.html', {}, async (page) => {
    const places = [];
    for (let i = 0; i < 400; i++) {
      await page.keyboard.press('Tab');
      const { place, of, ring } = await focused(page);
      if (place < 0 || place < places.at(-1)) break;
      assert.ok(ring, `control ${place} shows no focus`);
      places.push(place);
      if (places.length === of) break;
    }
    const { of } = await focused(page);
    assert.equal(places.length, of);
    assert.deepEqual(
      places,
      Array.from({ length: of }, (_, i) => i),
    );
  }));

test('the first stop skips to the figures', () =>
  on('agency.html', {}, async (page) => {
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  }));

test('sections are landmarks that the contents name', () =>
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
