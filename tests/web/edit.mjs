// SPDX-License-Identifier: GPL-3.0-or-later
// Makes of one page another whose document also has a baseline, alerts, reasons of waits, and names that would be markup.
//
//   node edit.mjs PAGE.html OUT.html
import { readFileSync, writeFileSync } from 'node:fs';

const [from, to] = process.argv.slice(2);
const page = readFileSync(from, 'utf8');
const element = /(<script type="application\/json" id="headroom-data">)(.*?)(<\/script>)/s;
const doc = JSON.parse(page.match(element)[2]);

const scaled = (value, factor) => value * factor;
const run = structuredClone(doc.run);
run.wait_s.mean = scaled(run.wait_s.mean, 1.3);
run.cost.usd_per_month = scaled(run.cost.usd_per_month, 0.9);
run.utilization.makespan -= 0.04;
doc.baseline = { name: 'last month', run };
doc.alerts = [{ rule: 'utilization under 20 % for 1 h', subject: 'cluster', begin_s: 90000, end_s: 99000, seconds: 9000, value: 0.12, words: '12 % of the GPUs were allocated' }];
doc.why = {
  by_reason: [
    { reason: 'no-fit', words: 'too few free GPUs', hours: 120, gpu_hours: 900 },
    { reason: 'fragmented', words: 'enough GPUs free, but in fragments', hours: 40, gpu_hours: 300 },
  ],
  by_tenant: [{ name: 'retail', hours: 99, gpu_hours: 700 }],
  by_size: [{ name: '2-4', hours: 99, gpu_hours: 700 }],
};
const hostile = '<img src=x onerror="window.broken=1"> & \'quotes\'';
doc.title = hostile;
doc.series.by.tenant[0].name = hostile;
doc.jobs.text.tenant[0] = hostile;
doc.notes = Array.from({ length: 6 }, (_, i) => `note ${i}: ${hostile}`);

const json = JSON.stringify(doc).replaceAll('<', '\\u003c');
writeFileSync(to, page.replace(element, (_, open, __, close) => open + json + close));
