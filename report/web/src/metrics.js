// SPDX-License-Identifier: GPL-3.0-or-later
// Figures that alternatives are compared by: their names in words, how they are written, which way is better.
import { amount, count, duration, durationShort, share, usd, usdShort } from './format.js';

const NAMES = {
  wait_mean_s: 'Wait, mean',
  wait_p50_s: 'Wait, median',
  wait_p95_s: 'Wait, p95',
  wait_p99_s: 'Wait, p99',
  wait_max_s: 'Wait, longest',
  jct_mean_s: 'Submit to end, mean',
  jct_p95_s: 'Submit to end, p95',
  slowdown_mean: 'Slowdown, mean',
  slowdown_p95: 'Slowdown, p95',
  makespan_s: 'Makespan',
  utilization_submit_window: 'Utilization while jobs arrive',
  utilization_makespan: 'Utilization',
  jobs_completed: 'Jobs completed',
  jobs_unfinished: 'Jobs unfinished',
  cost_total_usd: 'Cost',
  lost_gpu_hours: 'Lost GPU hours',
  preemptions: 'Preemptions',
  restarts: 'Restarts',
  jain: 'Fairness (Jain)',
  finish_time_fairness_mean: 'Finish-time fairness, mean',
  finish_time_fairness_p95: 'Finish-time fairness, p95',
  finish_time_fairness_max: 'Finish-time fairness, worst',
  finish_time_fairness_share_above_1: 'Jobs later than on an own share',
  fragmentation_submit_window: 'Fragmented while jobs arrive',
  fragmentation_makespan: 'Fragmented',
  stranded: 'Stranded',
  largest_gang_mean: 'Largest gang, mean',
  largest_gang_min: 'Largest gang, least',
  monthly_usd: 'Cost a month',
  completed: 'Completed',
  'utilization.submit_window': 'Utilization while jobs arrive',
  'cost.usd_per_completed_job': 'Cost of a completed job',
  'goodput.lost_gpu_hours': 'Lost GPU hours',
};

const MORE_IS_BETTER = /^(utilization|jobs_completed|completed|jain|largest_gang|goodput\.fraction|throughput)/;

const QUANTITIES = { wait_s: 'Wait', jct_s: 'Submit to end', slowdown: 'Slowdown' };
const STATISTICS = { mean: 'mean', p50: 'median', max: 'longest' };

export const metricName = (key) => {
  const [quantity, statistic] = key.split('.');
  if (QUANTITIES[quantity] && statistic) return `${QUANTITIES[quantity]}, ${STATISTICS[statistic] ?? statistic}`;
  return NAMES[key] ?? key.replaceAll('_', ' ');
};

export const metricWriter = (key) => {
  if (/usd/.test(key)) return usd;
  if (/(^|_)(wait|jct)(_|$).*s$|_s(\.|$)|makespan_s/.test(key) && !/fairness/.test(key)) return duration;
  if (/^(utilization|fragmentation|stranded|completed$)|share/.test(key)) return share;
  if (/^jobs_|preemptions|restarts/.test(key)) return (x) => (Number.isInteger(x) ? count(x) : amount(x));
  return (x) => amount(Number(x.toPrecision(4)));
};

// For axes.
export const metricShort = (key) => {
  const write = metricWriter(key);
  return write === usd ? usdShort : write === duration ? durationShort : write;
};

// 1 when more is better, -1 when less is.
export const metricSense = (key) => (MORE_IS_BETTER.test(key) ? 1 : -1);
