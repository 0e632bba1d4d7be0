// SPDX-License-Identifier: GPL-3.0-or-later
// On the certainty of a plan, the page has the same text as the terminal: what the plan depends on, safer mixes,
// commitments at risk, the probability, the table "Holds under", and the effects of goals.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { json, on, read } from './browser.mjs';

const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();

// Returns the lines of a part of the terminal output: from the line after its title to the next empty line.
const part = (name, title) => {
  const lines = read(`${name}.txt`).split('\n');
  const begin = lines.findIndex((line) => line.startsWith(title));
  const end = lines.indexOf('', begin);
  return begin < 0 ? [] : lines.slice(begin + 1, end < 0 ? undefined : end);
};

// Returns the text of all fields with this label, with their continuation lines.
const field = (lines, label) => {
  let inside = false;
  const words = lines.filter((line) => {
    if (line.slice(0, 13).trim()) inside = line.startsWith(`  ${label} `);
    return inside;
  });
  return plain(words.map((line) => line.slice(13)).join(' '));
};

// Returns the descriptions of a term in a list on the page. Descriptions with an empty term belong to the term before
// them.
const facts = async (list) => {
  const found = new Map();
  let last = null;
  for (const [term, text] of await list.evaluate((dl) =>
    [...dl.querySelectorAll('dt')].map((dt) => [dt.textContent, dt.nextElementSibling.textContent]),
  )) {
    last = term || last;
    found.set(last, plain(`${found.get(last) ?? ''} ${text}`));
  }
  return found;
};

const rowsOf = (page, selector) => page.locator(`${selector} tbody tr`).evaluateAll((rows) =>
  rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
);

const LABELS = ['depends on', 'safer', 'at risk', 'certainty'];

for (const name of ['plan', 'grown', 'certain'])
  test(`the page of a plan has the certainty that the terminal prints: ${name}`, () =>
    on(`${name}.html`, {}, async (page) => {
      const terminal = read(`${name}.txt`).split('\n');
      const shown = await facts(page.locator('#certainty'));
      for (const label of LABELS)
        assert.equal(shown.get(label[0].toUpperCase() + label.slice(1)) ?? '', field(terminal, label), label);
      assert.ok(shown.get('Depends on').includes('misses a goal under'));
      const random = json(`${name}.json`).random;
      assert.equal(/probability [01]\.\d{3} over random .*; it does not cover the conditions/.test(shown.get('Certainty')), random);
      assert.ok(!(await page.locator('#plan .lead').innerText()).includes('probability'));
    }));

for (const name of ['plan', 'grown', 'certain'])
  test(`the page of a plan has the table of conditions that the terminal prints: ${name}`, () =>
    on(`${name}.html`, {}, async (page) => {
      const lines = part(name, 'Holds under');
      const rows = (await rowsOf(page, '#holds-under')).map((row) => plain(row.join(' ')));
      assert.equal(rows.length, json(`${name}.json`).holds_under.conditions.length + 1);
      assert.deepEqual(rows, lines.slice(0, rows.length).map(plain));
      const notes = await facts(page.locator('#holds-under .facts'));
      assert.ok(notes.has('runs'));
      for (const [label, words] of notes) assert.equal(words, field(lines.slice(rows.length), label), label);
    }));

for (const name of ['plan', 'grown', 'certain'])
  test(`the goals of a plan have the marks of the terminal: ${name}`, () =>
    on(`${name}.html`, {}, async (page) => {
      const rows = await rowsOf(page, '#plan [aria-label="Goals"]');
      const words = rows.map(([goal, value, met, effect]) => [goal.replace(' (assumed)', ''), value, met === 'met' ? '' : met, effect]);
      const compared = (text) => plain(text.replaceAll(', ', ' '));
      assert.equal(compared(words.flat().join(' ')), compared(part(name, 'Goals').join(' ')));
    }));

test('a plan is no proof that no mix meets the goals under a condition', () =>
  on('certain.html', {}, async (page) => {
    const plan = json('certain.json');
    const how = (condition) => page.locator('#remedies li', { hasText: `${condition}: ` });
    const text = await how('no spot capacity').innerText();
    assert.ok(text.includes(`None of the ${plan.holds_under.mixes.length} mixes tested under this condition meets the goals.`), text);
    assert.ok(text.includes('on-demand 12 misses only a goal in dollars, for $12,144 a month then.'), text);
    assert.ok(!(await page.locator('#remedies').innerText()).includes('No allowed mix'));
    // The command computes a plan under the condition. At the same prices, the recommended mix then misses the goals.
    const command = await how('spot as aws-v100').first().locator('code').innerText();
    assert.match(command, /^headroom plan scenarios\/plan-spot-share\.json .*'cluster\.pools\.2\.spot=\{"preset":"aws-v100"\}'$/s);
    assert.doesNotMatch(command, /--(report|json)/);
    const { HEADROOM, HEADROOM_PROJECT } = process.env;
    const run = `"${HEADROOM}" ${command.replace(/^headroom /, '')} --brief --quiet --json - || [ $? = 1 ]`;
    const then = JSON.parse(execFileSync('bash', ['-c', run], { cwd: HEADROOM_PROJECT, encoding: 'utf8' }));
    const prices = ({ pools }) => pools.map(({ usd_per_gpu_hour: price }) => price);
    assert.deepEqual(prices(then), prices(plan));
    assert.notDeepEqual(then.recommendation?.choice, plan.recommendation.choice);
  }));

test('the certainty of a plan fits a narrow screen', () =>
  on('certain.html', { width: 390 }, async (page) => {
    assert.ok(await page.locator('#certainty').isVisible());
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    const box = page.locator('#holds-under .box');
    assert.ok(await box.evaluate((e) => e.scrollHeight <= e.clientHeight), 'all conditions are visible');
  }));
