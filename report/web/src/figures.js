// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics of a run's summary that the page shows: path in the JSON, format, and which direction is better.
import { amount, count, duration, share, usd } from './format.js';

const at =
  (...path) =>
  (run) =>
    path.reduce((part, key) => (part === null || part === undefined ? null : part[key]), run) ?? null;

// better: 1 if higher is better, -1 if lower is better, 0 if neither. The order is that of the page.
export const FIGURES = [
  {
    key: 'cost.usd_per_month',
    words: 'Cost per month',
    of: at('cost', 'usd_per_month'),
    write: usd,
    better: -1,
    first: true,
  },
  { key: 'cost.total_usd', words: 'Cost of the run', of: at('cost', 'total_usd'), write: usd, better: -1 },
  {
    key: 'cost.idle_usd',
    words: 'Cost of idle GPUs',
    of: at('cost', 'idle_usd'),
    write: usd,
    better: -1,
    idle: true,
    note: (run) => partOf(run, 'idle_usd', 'capacity_usd', 'of the cost of GPUs'),
  },
  {
    key: 'utilization.makespan',
    words: 'Utilization',
    of: at('utilization', 'makespan'),
    write: share,
    better: 1,
    first: true,
    points: true,
    note: windowNote,
  },
  { key: 'wait_s.mean', words: 'Wait, mean', of: at('wait_s', 'mean'), write: duration, better: -1, first: true },
  {
    key: 'wait_s.p95',
    words: 'Wait, 95th percentile',
    of: at('wait_s', 'p95'),
    write: duration,
    better: -1,
    note: () => 'at most 1 job in 20 waits longer',
  },
  {
    key: 'wait_s.p99',
    words: 'Wait, 99th percentile',
    of: at('wait_s', 'p99'),
    write: duration,
    better: -1,
    note: () => 'at most 1 job in 100 waits longer',
  },
  { key: 'wait_s.max', words: 'Wait, maximum', of: at('wait_s', 'max'), write: duration, better: -1 },
  {
    key: 'jobs.completed',
    words: 'Jobs completed',
    of: at('jobs', 'completed'),
    write: count,
    better: 1,
    note: (run) => `of ${count(run.jobs.submitted)} submitted`,
  },
  {
    key: 'jobs.rejected',
    words: 'Jobs rejected',
    of: at('jobs', 'rejected'),
    write: count,
    better: -1,
    note: (run) => (run.jobs.unfinished ? `${count(run.jobs.unfinished)} more unfinished` : 'none unfinished'),
  },
  {
    key: 'jobs.missed_deadlines',
    words: 'Deadlines missed',
    of: (run) => (run.jobs.deadlines ? run.jobs.missed_deadlines : null),
    write: count,
    better: -1,
    note: (run) => `of ${count(run.jobs.deadlines)}`,
  },
  {
    key: 'idle_gpu_hours',
    words: 'Idle GPU hours',
    of: idleHours,
    write: amount,
    better: -1,
    idle: true,
    note: (run) => `${share(1 - run.utilization.makespan)} of the available GPU time`,
  },
  {
    key: 'spot.reclaims',
    words: 'Spot reclaims',
    of: (run) => (run.spot?.gpu_hours ? run.spot.reclaims : null),
    write: count,
    better: -1,
    note: (run) => `${count(run.spot.jobs_interrupted)} job interruptions`,
  },
  {
    key: 'goodput.lost_gpu_hours',
    words: 'Lost work',
    of: (run) => (run.spot?.gpu_hours || run.goodput?.lost_gpu_hours ? at('goodput', 'lost_gpu_hours')(run) : null),
    write: (x) => `${amount(x)} h`,
    note: () => 'GPU hours lost to interruptions',
    better: -1,
  },
];

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

// Compares `value` with `base`: { words, better: true, false or null }.
export const change = (figure, value, base) => {
  if (value === null || base === null || base === undefined) return null;
  const by = value - base;
  if (Math.abs(by) <= Math.abs(base) * 1e-9) return { words: 'same as the baseline', better: null };
  const sign = by > 0 ? '+' : '−';
  const size = figure.points ? `${Math.abs(by * 100).toFixed(1)} points` : figure.write(Math.abs(by));
  if (size === (figure.points ? '0.0 points' : figure.write(0))) return { words: 'no change', better: null };
  const part = !figure.points && base ? ` (${sign}${share(Math.abs(by / base))})` : '';
  const better = figure.better ? Math.sign(by) === figure.better : null;
  return { words: `${sign}${size}${part}${better === null ? '' : better ? ', better' : ', worse'}`, better };
};
