// SPDX-License-Identifier: GPL-3.0-or-later
// Pages of comparisons, plans, sweeps and costs of ownership show the values of their JSON files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, has, json, on, seeAll } from './browser.mjs';

test('a comparison shows the metrics of each policy', () =>
  on('compare.html', {}, async (page) => {
    const { policies } = json('compare.json');
    for (const [i, policy] of policies.entries())
      for (const [key, value] of Object.entries(policy.mean)) {
        const cells = page.locator(`#compare [data-metric="${key}"]`);
        if (policies.every((p) => p.mean[key] === null)) assert.equal(await cells.count(), 0, key);
        else assert.equal(await cells.nth(i).getAttribute('data-value'), String(value), key);
      }
    const row = page.locator('#compare [data-metric="wait_mean_s"]');
    assert.match(
      await row.nth(1).innerText(),
      policies[1].difference.wait_mean_s.mean < 0 ? /−.*better$/s : /\+.*worse$/s,
    );
  }));

test('a comparison draws the distributions of all policies', () =>
  on('compare.html', {}, async (page) => {
    const { policies } = json('compare.json');
    await seeAll(page);
    const chart = page.locator('#compare-cdf');
    await chart.getByLabel('Of', { exact: true }).selectOption('wait_s');
    for (const policy of policies) {
      assert.equal(policy.cdf.wait_s.length, 201);
      assert.ok(Math.abs(policy.cdf.wait_s[190] - policy.summary.wait_s.p95) < 1e-5, policy.label);
      assert.ok(Math.abs(policy.cdf.jct_s[200] - policy.summary.jct_s.max) < 1e-5, policy.label);
      assert.ok((await chart.locator('.chart-words').innerText()).includes(policy.label));
    }
    await chart.getByRole('button', { name: /as a table/ }).click();
    assert.equal(await chart.locator('thead th').count(), 1 + policies.length);
  }));

test('a plan shows its candidates, its frontier and its goals', () =>
  on('plan.html', {}, async (page) => {
    const plan = json('plan.json');
    const candidate = (title) => page.locator(`#plan [data-mix="${title}"]`);
    assert.equal(Number(await candidate('Recommended').getAttribute('data-value')), plan.recommendation.objective);
    assert.equal(Number(await candidate('Today').getAttribute('data-value')), plan.baseline.objective);
    await seeAll(page);
    await page
      .locator('#pareto-chart')
      .getByRole('button', { name: /as a table/ })
      .click();
    const rows = await page.locator('#pareto-chart tbody tr').allInnerTexts();
    const others = [plan.baseline, plan.all_on_demand].filter(Boolean);
    assert.equal(rows.length, plan.pareto.length + others.length);
    assert.equal(rows.filter((row) => row.startsWith('today: ')).length, plan.baseline ? 1 : 0);
    const text = await page.locator('#plan').innerText();
    for (const goal of plan.goals) assert.ok(text.includes(goal.constraint), goal.constraint);
    for (const variant of plan.sensitivity) assert.ok(text.includes(variant.change), variant.change);
    const misses = plan.sensitivity.filter((variant) => variant.same_choice && !variant.same_choice.feasible);
    for (const { change, best_choice: best } of misses) {
      const how = await page.locator('#remedies li', { hasText: `${change}: ` }).innerText();
      assert.ok(best ? /^.*To meet the goals: .+ for \$[\d,.]+ a month then/.test(how) : how.includes('None of the candidates that were run'), how);
    }
  }));

test('a sweep has a row for each run', { skip: !has('sweep.html') }, () =>
  on('sweep.html', {}, async (page) => {
    const { sweep } = await documentOf(page);
    await page
      .locator('#sweep-chart')
      .getByRole('button', { name: /as a table/ })
      .click();
    await page.locator('#sweep-chart tbody tr').first().waitFor();
    assert.equal(await page.locator('#sweep-chart tbody tr').count(), sweep.runs.length);
  }),
);

test('costs of ownership show every option and break-even point', () =>
  on('tco.html', {}, async (page) => {
    const tco = json('tco.json');
    for (const option of tco.options) {
      const card = page.locator(`#tco [data-option="${option.name}"]`);
      assert.equal(Number(await card.getAttribute('data-value')), option.usd_per_useful_gpu_hour.mean);
    }
    await seeAll(page);
    for (const [id, rows] of [
      ['tco-parts', tco.options.length],
      ['tco-years', tco.tco.years],
    ]) {
      await page.locator(`#${id}`).getByRole('button', { name: /as a table/ }).click();
      assert.equal(await page.locator(`#${id} tbody tr`).count(), rows, id);
    }
    const text = await page.locator('#tco').innerText();
    for (const pair of tco.break_even) assert.ok(text.includes(pair.other), pair.other);
  }));

test('clusters show where their jobs came from', () =>
  on('hybrid.html', {}, async (page) => {
    const { routing } = (await documentOf(page)).run;
    await seeAll(page);
    const cells = await page.locator('#clusters table').first().locator('tbody tr').allInnerTexts();
    const whole = (number) => number.toLocaleString('en-US');
    for (const [i, [name, { jobs, spilled_in, spilled_out }]] of Object.entries(routing).entries())
      assert.deepEqual(cells[i].split('\t').slice(0, 4), [name, ...[jobs, spilled_in, spilled_out].map(whole)]);
    const chart = page.locator('#clusters-flows');
    await chart.getByRole('button', { name: /as a table/ }).click();
    const flows = await chart.locator('tbody tr').allInnerTexts();
    assert.ok(routing.cloud.from.own > 0);
    assert.deepEqual(flows[1].split('\t'), ['cloud', whole(routing.cloud.from.own)]);
  }));
