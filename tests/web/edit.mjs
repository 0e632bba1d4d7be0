// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a copy of a page with additional data: a baseline, alerts, reasons of waits, and names that contain markup.
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
run.cost.monthly_usd = scaled(run.cost.monthly_usd, 0.9);
run.utilization.makespan -= 0.04;
run.policy.name = 'fifo';
run.trace.file = 'last-month.csv';
doc.baseline = { name: 'last month', run };
const alert = (begin, seconds, words) => ({
  rule: 'gpus-underused',
  subject: 'cluster',
  begin_s: begin,
  end_s: begin + seconds,
  seconds,
  value: 0.12,
  count: 0,
  words,
});
doc.alerts = [
  alert(90000, 9000, '12 % of the GPUs'),
  alert(200000, 18000, '7 % of the GPUs'),
  { ...alert(300000, 60, 'late jobs'), rule: 'queue-time' },
];
const group = (times, seconds, longest) => ({
  rule: longest.rule,
  subject: longest.subject,
  times,
  seconds,
  longest_s: longest.seconds,
  from_s: longest.begin_s,
  value: longest.value,
  words: longest.words,
});
doc.alert_groups = [group(2, 27000, doc.alerts[1]), group(1, 60, doc.alerts[2])];
const waited = (reason, hours) => ({ reason, jobs: 9, wait_s: hours * 3600, gpu_hours: hours * 8 });
doc.why = {
  waited: {
    jobs: 18,
    wait_s: 576000,
    gpu_hours: 1280,
    reasons: [waited('fragments', 40), waited('capacity', 120)],
    again_s: 0,
    unfinished: 0,
    rejected: 0,
  },
  by_tenant: [
    {
      tenant: 'retail',
      jobs: 9,
      wait_s: 360000,
      gpu_hours: 800,
      reasons: [waited('capacity', 75), waited('fragments', 25)],
    },
  ],
  by_size: [{ gpus: '2-4', jobs: 9, wait_s: 360000, gpu_hours: 800, reasons: [waited('capacity', 75)] }],
};
for (let i = 0; i < 5; i++) doc.run.by_tenant[`small ${i}`] = {};
const hostile = '<img src=x onerror="window.broken=1"> & \'quotes\'';
doc.title = hostile;
doc.description = hostile;
doc.saving.command = hostile;
doc.goals = [{ constraint: `wait_s.p95 of ${hostile} <= 1 s`, value: 2, met: false }];
doc.series.by.tenant[0].name = hostile;
doc.jobs.text.tenant[0] = hostile;
doc.notes = Array.from({ length: 6 }, (_, i) => `note ${i}: ${hostile}`);

const json = JSON.stringify(doc).replaceAll('<', '\\u003c');
writeFileSync(
  to,
  page.replace(element, (_, open, __, close) => open + json + close),
);
