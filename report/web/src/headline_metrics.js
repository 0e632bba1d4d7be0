// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics in the summary of a run, with notes and with their changes from the baseline.
import { count, share } from './format.js';
import { metricIn, metricName, metricSense, metricWriter } from './metrics.js';

const usesSpot = (run) => run.spot?.gpu_hours > 0;

// In the order of the page. A metric is shown if it has a value and, if there is a function `has`, this returns true.
const SHOWN = [
  { path: 'cost.monthly_usd', metric: 'monthly_usd', first: true, note: () => '730 hours with this demand' },
  { path: 'cost.total_usd' },
  { path: 'cost.idle_usd', idle: true, note: (run) => partOf(run, 'idle_usd', 'capacity_usd', 'of the cost of GPUs') },
  { path: 'utilization.makespan', first: true, points: true, note: windowNote },
  { path: 'wait_s.mean', first: true },
  { path: 'wait_s.p95', note: () => 'at most 1 job in 20 waits longer' },
  { path: 'wait_s.p99', note: () => 'at most 1 job in 100 waits longer' },
  { path: 'wait_s.max' },
  { path: 'jobs.completed', note: (run) => `of ${count(run.jobs.submitted)} submitted` },
  {
    path: 'jobs.rejected',
    note: (run) => (run.jobs.unfinished ? `${count(run.jobs.unfinished)} more unfinished` : 'none unfinished'),
  },
  {
    path: 'jobs.missed_deadlines',
    has: (run) => run.jobs.deadlines,
    note: (run) => `of ${count(run.jobs.deadlines)}`,
  },
  {
    path: 'idle_gpu_hours',
    words: 'Idle GPU hours',
    of: idleHours,
    better: -1,
    idle: true,
    note: (run) => `${share(1 - run.utilization.makespan)} of the available GPU time`,
  },
  { path: 'spot.reclaims', has: usesSpot, note: (run) => `${count(run.spot.jobs_interrupted)} job interruptions` },
  { path: 'goodput.lost_gpu_hours', has: (run) => usesSpot(run) || run.goodput?.lost_gpu_hours > 0 },
];

// If the run has prices, a change of the utilization is neither better nor worse: the cost of idle GPUs shows its
// effect.
const senseOf = (path) => (run) => (path.startsWith('utilization') && run.cost ? 0 : metricSense(path));

export const HEADLINE_METRICS = SHOWN.map(({ path, metric = path, has, better, ...more }) => ({
  key: path,
  words: metricName(metric),
  of: (run) => (has && !has(run) ? null : metricIn(run, path)),
  write: metricWriter(metric),
  betterIn: better === undefined ? senseOf(metric) : () => better,
  ...more,
}));

function partOf(run, part, whole, words) {
  return run.cost[whole] ? `${share(run.cost[part] / run.cost[whole])} ${words}` : null;
}

function windowNote(run) {
  const window = run.utilization.submit_window;
  return window === null ? null : `${share(window)} during the submit window`;
}

// Idle GPU hours; null for runs with prices, which show the cost of idle capacity instead.
function idleHours(run) {
  const used = run.utilization?.makespan;
  return run.cost || !used ? null : (run.gpu_hours / used) * (1 - used);
}

// A metric that has more than tripled is shown with its old value; smaller changes are shown in percent.
const MUCH = 2;

// Compares `value` with `base`. Returns { words, better }; `better` is true, false or null (neither better nor worse).
export const change = (metric, value, base, run) => {
  if (value === null || base === null || base === undefined) return null;
  const by = value - base;
  if (Math.abs(by) <= Math.abs(base) * 1e-9) return { words: 'same as the baseline', better: null };
  const sign = by > 0 ? '+' : '−';
  const size = metric.points ? `${Math.abs(by * 100).toFixed(1)} points` : metric.write(Math.abs(by));
  if (size === (metric.points ? '0.0 points' : metric.write(0))) return { words: 'no change', better: null };
  const part = metric.points || !base ? '' : by / base > MUCH ? ` (was ${metric.write(base)})` : ` (${sign}${share(Math.abs(by / base))})`;
  const sense = metric.betterIn(run);
  const better = sense ? Math.sign(by) === sense : null;
  return { words: `${sign}${size}${part}${better === null ? '' : better ? ', better' : ', worse'}`, better };
};
