// SPDX-License-Identifier: GPL-3.0-or-later
// Metrics for comparing alternatives: name, format, and which direction is better.
import { amount, count, duration, durationShort, share, usd, usdShort } from './format.js';

const NAMES = {
  wait_mean_s: 'Wait, mean',
  wait_p50_s: 'Wait, median',
  wait_p95_s: 'Wait, p95',
  wait_p99_s: 'Wait, p99',
  wait_max_s: 'Wait, maximum',
  jct_mean_s: 'Completion time, mean',
  jct_p95_s: 'Completion time, p95',
  slowdown_mean: 'Slowdown, mean',
  slowdown_p95: 'Slowdown, p95',
  makespan_s: 'Makespan',
  utilization_submit_window: 'Utilization, submit window',
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
  finish_time_fairness_max: 'Finish-time fairness, maximum',
  finish_time_fairness_share_above_1: 'Jobs with finish-time fairness > 1',
  fragmentation_submit_window: 'Fragmentation, submit window',
  fragmentation_makespan: 'Fragmentation',
  stranded: 'Stranded GPUs',
  largest_gang_mean: 'Largest gang, mean',
  largest_gang_min: 'Largest gang, minimum',
  monthly_usd: 'Cost per month',
  completed: 'Completed',
  'utilization.submit_window': 'Utilization, submit window',
  'cost.usd_per_completed_job': 'Cost per completed job',
  'goodput.lost_gpu_hours': 'Lost GPU hours',
};

const MORE_IS_BETTER = /^(utilization|jobs_completed|completed|jain|largest_gang|goodput\.fraction|throughput)/;

const QUANTITIES = { wait_s: 'Wait', jct_s: 'Completion time', slowdown: 'Slowdown' };
const STATISTICS = { mean: 'mean', p50: 'median', max: 'maximum' };

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

// Short format for axes.
export const metricShort = (key) => {
  const write = metricWriter(key);
  return write === usd ? usdShort : write === duration ? durationShort : write;
};

// 1 if higher is better, -1 if lower is better.
export const metricSense = (key) => (MORE_IS_BETTER.test(key) ? 1 : -1);
