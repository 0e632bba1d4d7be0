// SPDX-License-Identifier: GPL-3.0-or-later
// The section of each inference service: its metrics, and its replicas over time with the reasons for decisions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, ink, on, seeAll, words } from './browser.mjs';

test('each service shows its replicas over time', () =>
  on('regions.html', {}, async (page) => {
    await seeAll(page);
    const { services } = (await documentOf(page)).run;
    assert.equal(services.length, 3);
    for (const [i, { replicas, scaling }] of services.entries()) {
      const chart = page.locator(`#service-${i}-replicas`);
      const most = Math.max(...replicas.map(({ ready }) => ready));
      const text = await words(chart.locator('.chart-words'));
      assert.ok(text.includes(`${scaling.count} decisions of the autoscaler; at most ${most} ready replica`), text);
      assert.ok((await ink(page, `#service-${i}-replicas`)) > 0);
      await chart.getByRole('button', { name: /as a table/ }).click();
      const rows = await chart.locator('tbody tr').allInnerTexts();
      assert.equal(rows.length, scaling.decisions.length);
      for (const [k, { from, to, reason }] of scaling.decisions.entries())
        assert.match(rows[k], new RegExp(`\\s${from}\\s+${to}\\s+${reason.replace(/[^\w ]/g, '.')}$`));
    }
  }));
