// SPDX-License-Identifier: GPL-3.0-or-later
// Every shipped scenario runs on the page of the planner, unless its data are missing or it needs a trace of the user.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPlanner, painted } from './planner_page.mjs';

test('every shipped scenario runs', () =>
  onPlanner({}, async (page) => {
    await page.waitForSelector('#shipped option:nth-child(2)', { state: 'attached' });
    const names = await page.evaluate(() => [...document.querySelectorAll('#shipped option:enabled')].filter(({ value, textContent }) => value === textContent).map(({ value }) => value));
    assert.ok(names.length > 20);
    for (const name of names) {
      const before = await painted(page);
      await page.selectOption('#shipped', name);
      await page.waitForFunction((count) => Number(document.getElementById('results').dataset.painted ?? 0) > count || document.querySelector('#results .bad, #said.bad'), before);
      assert.deepEqual([name, await page.locator('#results .bad, #said.bad').allTextContents()], [name, []]);
    }
  }));
