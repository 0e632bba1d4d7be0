// SPDX-License-Identifier: GPL-3.0-or-later
// The page of the planner: from the empty page to a plan, values equal to those of the command line, sliders, forms,
// errors, narrow screens, labels.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { onPlanner, painted, untilPainted } from './planner_page.mjs';

const { HEADROOM, HEADROOM_PROJECT, HEADROOM_WORK } = process.env;
const trace = join(HEADROOM_PROJECT, 'traces/reference/demo.csv');
const headroom = (...words) => execFileSync(HEADROOM, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const digestOf = (...words) => JSON.parse(headroom('run', ...words, '--json', '-')).digest;

const saved = async (page, name) => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
  const path = join(HEADROOM_WORK, name);
  await download.saveAs(path);
  return path;
};

test('from the empty page to a plan of a dropped trace, without typing JSON', () =>
  onPlanner({}, async (page) => {
    let clicks = 0;
    const click = async (selector) => {
      clicks++;
      await page.click(selector);
    };
    // Simulates a drop of the file, with the events of a browser.
    const text = readFileSync(trace, 'utf8');
    const transfer = await page.evaluateHandle((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], 'demo.csv'));
      return data;
    }, text);
    clicks++;
    await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
    await page.waitForSelector('#draft');
    assert.match(await page.textContent('#trace'), /Jobs\s*2,000/);
    await click('#draft');
    await untilPainted(page, 0);
    assert.equal(await page.locator('#sentences p').count(), 3);
    const path = await saved(page, 'first.json');
    assert.equal(await page.textContent('#digest'), digestOf(path, '--trace', trace));
    await click('#plan-begin');
    await page.waitForSelector('#frontier circle');
    await page.waitForSelector('#plan-sentence', { timeout: 120000 });
    assert.ok(clicks <= 12);
    const words = await page.textContent('#plan-sentence');
    const plan = JSON.parse(headroom('plan', path, '--trace', trace, '--brief', '--json', '-', '--quiet'));
    const usd = plan.recommendation.metrics.monthly_usd.mean;
    for (const [name, value] of Object.entries(plan.recommendation.choice)) assert.ok(words.includes(`${name} ${value}`), words);
    assert.ok(words.includes(`$${Math.round(usd).toLocaleString('en')}`) || words.includes(usd.toFixed(2)), `${words} has ${usd}`);
    // The mix that the user selects has the cost and the waits of the plan, and a run of the saved file has the same
    // digest.
    const before = await painted(page);
    await click('#apply');
    await untilPainted(page, before);
    const after = await saved(page, 'second.json');
    assert.equal(await page.textContent('#digest'), digestOf(after, '--trace', trace));
  }));

test('a shipped scenario, sliders, forms and the comparison with the present configuration', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, 0);
    assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, 'scenarios/demo.json')));
    // The trace begins after time 0, but the chart shows all GPUs from its start.
    const heights = (await page.getAttribute('#gpus-chart path.limit', 'd')).match(/ [0-9.]+/g);
    assert.ok(heights.length > 200);
    assert.equal(new Set(heights).size, 1);
    let before = await painted(page);
    await page.fill('input[data-path="cluster.pools.0.nodes"]', '6');
    await untilPainted(page, before);
    assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, 'scenarios/demo.json'), '--set', 'cluster.pools.0.nodes=6'));
    assert.match(await page.textContent('#sentences'), /present/);
    before = await painted(page);
    await page.click('#forms summary:text-is("policy: queue")');
    await page.selectOption('#key-policy\\.order', 'sjf');
    await untilPainted(page, before);
    assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, 'scenarios/demo.json'), '--set', 'cluster.pools.0.nodes=6', '--set', 'policy.order=sjf'));
    before = await painted(page);
    await page.fill('input[data-path="load"]', '1.5');
    await untilPainted(page, before);
    // With fewer nodes, the run lasts longer than with the present configuration, so its line ends later.
    const ends = await page.evaluate(() => ['now', 'was'].map((kind) => Number(document.querySelector(`#gpus-chart path.${kind}`).getAttribute('d').match(/.*L([0-9.]+) /)[1])));
    assert.ok(ends[0] > 620 && ends[1] < ends[0] - 20, String(ends));
    const scaled = join(HEADROOM_WORK, 'scaled.csv');
    headroom('trace', 'scale', trace, '--by', 'compress', '--load', '1.5', '-o', scaled);
    assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, 'scenarios/demo.json'), '--set', 'cluster.pools.0.nodes=6', '--set', 'policy.order=sjf', '--trace', scaled));
  }));

// Each slider changes only its own key: the digest is that of a command line that sets this key.
const SLIDERS = [
  { shipped: 'agency', path: 'policy.max_spot_share', value: 0.3 },
  { shipped: 'llama-training', path: 'classes.training.checkpoint.interval_s', value: 1200 },
  { shipped: 'chatbot', path: 'services.0.autoscale.replicas', value: 7 },
  { shipped: 'plan-spill-over', path: 'clusters.0.pools.0.nodes', value: 3 },
  { path: 'quotas.tenants.0.guaranteed_gpus', value: 8 },
  { path: 'quotas.tenants.0.max_gpus', value: 40 },
];
for (const { shipped, path, value } of SLIDERS)
  test(`the slider of ${path}`, () =>
    onPlanner({}, async (page) => {
      const quotas = join(HEADROOM_PROJECT, 'traces/reference/multi-tenant.json');
      if (shipped) await page.selectOption('#shipped', shipped);
      else {
        await page.setInputFiles('#trace-file', quotas.replace('.json', '.csv'));
        await page.waitForSelector('#draft');
        await page.setInputFiles('#scenario-file', quotas);
      }
      const input = `input[data-path="${path}"]`;
      await page.waitForSelector(input);
      await untilPainted(page, 0);
      const first = await page.textContent('#digest');
      const before = await painted(page);
      await page.fill(input, String(value));
      await untilPainted(page, before);
      const file = shipped ? join(HEADROOM_PROJECT, `scenarios/${shipped}.json`) : quotas;
      const digest = await page.textContent('#digest');
      assert.equal(digest, digestOf(file, '--set', `${path}=${value}`));
      assert.notEqual(digest, first, 'the slider has no effect');
    }));

test('files and figures that a scenario cannot have', () =>
  onPlanner({}, async (page) => {
    const disabled = () => page.evaluate(() => [...document.querySelectorAll('#exports button:disabled')].map((button) => button.textContent));
    const described = (name) => page.getByRole('button', { name, exact: true }).getAttribute('aria-describedby');
    await page.selectOption('#shipped', 'agency');
    await untilPainted(page, 0);
    assert.deepEqual(await disabled(), []);
    assert.equal(await page.isVisible('#exports-why'), false);
    assert.match(await page.textContent('#purpose'), /^The work of agency-before/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#exports button:text-is("Costs (CSV)")')]);
    assert.equal(download.suggestedFilename(), 'costs.csv');
    let before = await painted(page);
    await page.selectOption('#shipped', 'demo');
    await untilPainted(page, before);
    assert.deepEqual(await disabled(), ['Costs (CSV)']);
    assert.match(await page.textContent(`#${await described('Costs (CSV)')}`), /no pool has a price/);
    assert.equal(await page.isVisible('#exports-why'), true);
    // Without a trace there is no result. The result of the previous scenario is not shown.
    await page.selectOption('#shipped', 'helios');
    await page.waitForFunction(() => /names no trace/.test(document.querySelector('#results .status').textContent));
    assert.equal(await page.isVisible('#sentences'), false);
    assert.equal((await disabled()).length, 6);
    assert.match(await page.textContent('#exports-why'), /names no trace/);
    await page.click('#plan-begin');
    assert.match(await page.textContent('#plan'), /names no trace: drop one above/);
    // The trace of the user has the columns that the scenario names.
    const own = join(HEADROOM_WORK, 'own.csv');
    writeFileSync(own, 'job_id,arrival_s,service_sec,gpu_count\n1,0,100,8\n2,5,50,1064\n3,7,20,4\n');
    before = await painted(page);
    await page.setInputFiles('#trace-file', own);
    await untilPainted(page, before);
    assert.equal(await page.isVisible('#sentences'), true);
    assert.deepEqual(await disabled(), ['Costs (CSV)']);
    assert.equal(await page.textContent('#digest'), digestOf(await saved(page, 'own.json'), '--trace', own));
  }));

test('a scenario with replications: the figures and the files of the first one', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'private-or-cloud');
    await untilPainted(page, 0);
    assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, 'scenarios/private-or-cloud.json')));
    assert.match(await page.textContent('#replications'), /first replication/);
    for (const name of ['Report (HTML)', 'Costs (CSV)', 'Jobs (CSV)', 'Summary (Markdown)', 'Summary (JSON)']) {
      await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
      assert.doesNotMatch(await page.getAttribute('#exports .status', 'class'), /bad/);
    }
  }));

test('scenarios for the trace of the user keep a dropped trace; others have their own', () =>
  onPlanner({}, async (page) => {
    const scenario = (name) => join(HEADROOM_PROJECT, `scenarios/${name}.json`);
    const own = ['--trace', trace, '--format', 'auto'];
    await page.setInputFiles('#trace-file', trace);
    await page.waitForSelector('#draft');
    for (const [name, ...words] of [['philly', ...own], ['agency'], ['chatbot'], ['philly', ...own]]) {
      const before = await painted(page);
      await page.selectOption('#shipped', name);
      await untilPainted(page, before);
      assert.equal(await page.textContent('#digest'), digestOf(scenario(name), ...words));
      assert.equal(await page.textContent('.trace-state'), words.length ? 'demo.csv: 2,000 jobs.' : '');
      assert.equal(await page.locator('#draft').count(), words.length ? 1 : 0);
      if (words.length) assert.equal(await page.textContent('#exports code'), 'headroom run scenario.json --trace demo.csv --format auto');
    }
  }));

// The response to the first run arrives after the user has chosen the second scenario.
test('an answer about an earlier scenario is dropped', () =>
  onPlanner({}, async (page) => {
    let first = true;
    let release;
    const released = new Promise((done) => (release = done));
    const asked = page.waitForRequest('**/api/run');
    await page.route('**/api/run', async (route) => {
      const held = first;
      first = false;
      if (held) await released;
      await route.continue();
    });
    await page.selectOption('#shipped', 'agency');
    await asked;
    await page.selectOption('#shipped', 'demo');
    await page.waitForFunction(() => document.querySelector('#key-name')?.value === 'demo');
    release();
    await untilPainted(page, 0);
    const digest = digestOf(join(HEADROOM_PROJECT, 'scenarios/demo.json'));
    await page.waitForFunction((expected) => document.querySelector('#digest')?.textContent === expected, digest);
    // The present configuration is also that of this scenario.
    assert.doesNotMatch(await page.textContent('#sentences'), /present:/);
  }));

// A plan with two kinds of variables. No search is run: the test supplies the response of the server.
test('variables of a plan have their units, and the mix is taken', () =>
  onPlanner({}, async (page) => {
    const file = join(HEADROOM_PROJECT, 'scenarios/plan-spill-over.json');
    await page.selectOption('#shipped', 'plan-spill-over');
    await untilPainted(page, 0);
    const mix = { choice: { 'own/a100': 88, 'router.max_wait_s': 14400 }, objective: 1, metrics: { monthly_usd: { mean: 1 } } };
    const plan = { recommendation: mix, feasible: true, goals: [], runs: 1, probability_best: 1 };
    await page.route('**/api/plan', (route) => route.fulfill({ contentType: 'text/event-stream', body: `event: result\ndata: ${JSON.stringify(plan)}\n\n` }));
    await page.click('#plan-begin');
    await page.waitForSelector('#plan-sentence');
    assert.match(await page.textContent('#plan-sentence'), /: own\/a100 88 GPUs, router\.max_wait_s 4\sh, \$1\.00 a month\.$/);
    const before = await painted(page);
    await page.click('#apply');
    await untilPainted(page, before);
    assert.equal(await page.textContent('#digest'), digestOf(file, '--set', 'clusters.0.pools.0.nodes=11', '--set', 'router.max_wait_s=14400'));
  }));

test('a mix of pools with a common number of nodes, and of settings, is taken', () =>
  onPlanner({}, async (page) => {
    for (const [name, choice, words, ...keys] of [
      ['plan-spot-share', { spot: 12, 'on-demand': 6, policy: 'deadline' }, 'spot 12 GPUs, on-demand 6 GPUs, policy deadline', 'cluster.pools.0.nodes=4', 'cluster.pools.1.nodes=4', 'cluster.pools.2.nodes=4', 'cluster.pools.3.nodes=6', 'policy.name=deadline'],
      ['plan-chatbot', { gpu: 'L4', replicas: 14 }, 'gpu L4, replicas 14', 'cluster.pools.0.instance=g6.xlarge', 'services.0.autoscale.replicas=14'],
    ]) {
      let before = await painted(page);
      await page.selectOption('#shipped', name);
      await untilPainted(page, before);
      const plan = { recommendation: { choice, objective: 1, metrics: {} }, feasible: true, goals: [], runs: 1, probability_best: 1 };
      await page.route('**/api/plan', (route) => route.fulfill({ contentType: 'text/event-stream', body: `event: result\ndata: ${JSON.stringify(plan)}\n\n` }), { times: 1 });
      await page.click('#plan-begin');
      await page.waitForSelector('#plan-sentence');
      assert.ok((await page.textContent('#plan-sentence')).includes(words));
      before = await painted(page);
      await page.click('#apply');
      await untilPainted(page, before);
      assert.equal(await page.textContent('#digest'), digestOf(join(HEADROOM_PROJECT, `scenarios/${name}.json`), ...keys.flatMap((key) => ['--set', key])));
    }
  }));

test('scenarios whose data are missing', () =>
  onPlanner({}, async (page) => {
    const list = [{ name: 'demo', description: 'Jobs' }, { name: 'far', description: 'Far', missing: '../../shared/far.csv' }, { name: 'any', description: 'Any', needs_trace: true }];
    await page.route('**/api/scenarios', (route) => route.fulfill({ json: { scenarios: list } }));
    await page.reload();
    await page.waitForSelector('#lacking:visible');
    assert.equal(await page.textContent('#lacking'), 'Scenarios whose data are missing: far (../../shared/far.csv).');
    const options = await page.evaluate(() => [...document.querySelectorAll('#shipped option')].map(({ textContent, disabled }) => [textContent, disabled]));
    assert.deepEqual(options, [['choose ...', false], ['demo', false], ['far (data missing)', true], ['any (for your trace)', false]]);
  }));

test('a pool without a price: the cost is unknown, not 0, until the forms have one', () =>
  onPlanner({ width: 390, allowed: /status of 422/ }, async (page) => { // with one of the two keys
    await page.setInputFiles('#trace-file', trace);
    await page.waitForSelector('#draft');
    await page.fill('#start input[type="number"]', '24');
    await page.click('#draft');
    await untilPainted(page, 0);
    const figure = (name) => page.textContent(`#results tr:has-text("${name}")`);
    const costs = ['Cost in this period', 'Cost a month (730 hours)', 'Cost of idle GPUs'];
    assert.match(await page.textContent('#sentences'), /The cost is unknown, because pool own has no price\. To add a price, open the pool/);
    assert.doesNotMatch(await page.textContent('#results'), /\$/);
    for (const name of costs) assert.match(await figure(name), /no price.*no price/);
    // The next steps are those that the sentence describes.
    await page.click('#forms summary:text-is("1: own")');
    const add = async (key) => {
      const before = await painted(page);
      await page.selectOption('#add-cluster\\.pools\\.0', key);
      await page.waitForSelector(`#key-cluster\\.pools\\.0\\.${key}`);
      return before;
    };
    await add('market');
    await page.selectOption('#key-cluster\\.pools\\.0\\.market', 'owned');
    await add('usd_per_gpu_hour');
    let before = await painted(page);
    await page.fill('#key-cluster\\.pools\\.0\\.usd_per_gpu_hour', '2');
    await page.keyboard.press('Tab');
    // 24 nodes of 8 GPUs for 730 hours
    await page.waitForFunction((usd) => document.querySelector('#sentences').textContent.includes(usd), '$280,320 a month');
    assert.doesNotMatch(await page.textContent('#sentences'), /present:.*\$0\.00|no price/);
    assert.match(await figure(costs[1]), /no price\$280,320$/);
    assert.equal(await page.textContent('#digest'), digestOf(await saved(page, 'priced.json'), '--trace', trace));
  }));

// A new entry without values is an error.
test('entries with free names are added to the forms', () =>
  onPlanner({ allowed: /status of 422/ }, async (page) => {
    const file = join(HEADROOM_WORK, 'map.json');
    writeFileSync(file, `{ "cluster": { "pools": [{ "name": "a", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8 }] }, "policy": { "name": "queue" },
      "trace": { "file": "demo.csv" }, "models": { "reference": "A100-80", "speeds": { "gpt": { "A100-80": 1 } } } }`);
    await page.setInputFiles('#trace-file', trace);
    await page.waitForSelector('#draft');
    await page.setInputFiles('#scenario-file', file);
    await untilPainted(page, 0);
    for (const name of ['models', 'speeds']) await page.click(`#forms summary:text-is("${name}")`);
    const add = async (at, name) => {
      await page.fill(`#name-${at}`, name);
      await page.keyboard.press('Enter');
    };
    await add('models\\.speeds', 'llama 7.b');
    // The new group has the focus and is open, so that the user can add an entry.
    await page.waitForFunction(() => document.activeElement.textContent === 'llama 7.b');
    await page.keyboard.press('Enter');
    await add('models\\.speeds\\.llama\\%207\\%2Eb', 'A100-80');
    const key = '#key-models\\.speeds\\.llama\\%207\\%2Eb\\.A100-80';
    await page.waitForSelector(key);
    await page.fill(key, '2');
    await page.keyboard.press('Tab');
    // Existing names, comments and empty names are rejected.
    for (const name of ['llama 7.b', '// x', ' ', '__proto__']) {
      await add('models\\.speeds', name);
      assert.equal(await page.$eval('#name-models\\.speeds', (input) => input.validity.valid), false);
    }
    const scenario = JSON.parse(readFileSync(await saved(page, 'map-saved.json'), 'utf8'));
    assert.deepEqual(scenario.models, { reference: 'A100-80', speeds: { gpt: { 'A100-80': 1 }, 'llama 7.b': { 'A100-80': 2 } } });
  }));

test('a goal has the bound and the value of its metric', () =>
  onPlanner({}, async (page) => {
    await page.selectOption('#shipped', 'private-or-cloud');
    await page.waitForSelector('#plan li select');
    const row = page.locator('#plan ul').first().locator('li:has(input)').last();
    await page.click('#plan button:text-is("Add a goal")');
    const values = [];
    for (const metric of ['wait_s.p95', 'wait_s.p99', 'jct_s.p95', 'completed', 'deadline_miss', 'monthly_usd', 'utilization.submit_window', 'wait_s.mean']) {
      await row.locator('select').first().selectOption(metric);
      const goal = [metric, await row.locator('select').last().inputValue(), await row.locator('input').inputValue()].join(' ');
      values.push(goal);
      // The command line accepts the goal.
      const scenario = JSON.parse(readFileSync(await saved(page, 'goal.json'), 'utf8'));
      assert.equal(scenario.plan.constraints.at(-1), goal);
    }
    assert.deepEqual(values.slice(3, 6), ['completed >= 99 %', 'deadline_miss <= 1 %', 'monthly_usd <= 100000']);
    const file = join(HEADROOM_WORK, 'goals.json');
    const plan = { variables: [{ pool: 'a100', from: 0, to: 8, step: 8 }], constraints: values };
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(join(HEADROOM_PROJECT, 'scenarios/demo.json'), 'utf8')), plan }));
    headroom('validate', file);
    // The value that the user entered for another metric is discarded; the value for the first metric of the goal is
    // restored.
    await row.locator('select').first().selectOption('completed');
    await row.locator('input').fill('3 min');
    await row.locator('select').first().selectOption('wait_s.p99');
    assert.equal(await row.locator('input').inputValue(), '4 h');
  }));

// The browser reports responses with a status above 400 as errors on the console.
test('a saved scenario and errors with their places', () =>
  onPlanner({ allowed: /status of 422/ }, async (page) => {
    const path = join(HEADROOM_WORK, 'bad.json');
    writeFileSync(path, '{ "cluster": { "pools": [{ "name": "a", "gpu": "A100-80", "nodes": -1, "gpus_per_node": 8 }] },\n "policy": { "name": "queue" },\n "trace": { "file": "none.csv" } }');
    await page.setInputFiles('#scenario-file', path);
    await page.waitForSelector('#said.bad');
    assert.match(await page.textContent('#said'), /bad\.json:1:\d+: .*nodes/);
    // A file that does not have the form of a scenario is rejected before the page reads its members.
    const pools = '"cluster": { "pools": [{ "name": "a", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8 }] }';
    for (const [text, words] of [
      ['', 'broken.json: is empty; expected a JSON object {...}'],
      ['{\n "a": }', 'broken.json:2:7: '],
      ['null', 'broken.json:1:1: the scenario is null'],
      ['[1]', 'broken.json:1:1: the scenario is a list'],
      ['{\n "cluster": { "pools": [null] } }', "broken.json:2:25: 'cluster.pools.0' is null"],
      [`{${pools},\n "plan": { "constraints": [5], "variables": [] } }`, "broken.json:2:28: 'plan.constraints.0'"],
      [`{${pools},\n "services": [null] }`, "broken.json:2:15: 'services.0' is null"],
    ]) {
      writeFileSync(join(HEADROOM_WORK, 'broken.json'), text);
      await page.setInputFiles('#scenario-file', join(HEADROOM_WORK, 'broken.json'));
      await page.waitForFunction((expected) => document.querySelector('#said').textContent.startsWith(expected), words);
    }
  }));

test('a narrow screen, dark mode, print, labels and the keyboard', () =>
  onPlanner({ width: 390, colorScheme: 'dark' }, async (page) => {
    await page.selectOption('#shipped', 'agency');
    await untilPainted(page, 0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    const unnamed = await page.evaluate(() => {
      // The options of a list are not its accessible name.
      const words = (label) => {
        const copy = label.cloneNode(true);
        copy.querySelectorAll('select, output').forEach((part) => part.remove());
        return copy.textContent.trim();
      };
      const named = (control) => [...(control.labels ?? [])].some(words);
      return [...document.querySelectorAll('input, select, button')]
        .filter((control) => control.offsetParent && !named(control) && !control.getAttribute('aria-label') && !control.textContent.trim())
        .map((control) => control.outerHTML.slice(0, 200));
    });
    assert.deepEqual(unnamed, []);
    const styled = await page.evaluate(() => document.querySelectorAll('main [style]').length);
    assert.equal(styled, 0);
    const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length);
    const before = await painted(page);
    await page.focus('#sliders input');
    await page.keyboard.press('ArrowRight');
    await untilPainted(page, before);
    await page.emulateMedia({ media: 'print' });
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
    assert.equal(await page.isVisible('#sliders'), false);
    assert.equal(await page.isVisible('#sentences'), true);
  }));
