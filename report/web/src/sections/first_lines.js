// SPDX-License-Identifier: GPL-3.0-or-later
// The first lines of a page, for a reader who has ten seconds: the period, the cost and its idle share, the largest
// saving and the command for it, and the goals.
import { copyButton, el } from '../dom.js';
import { count, duration, orDash, share, things, usd } from '../format.js';
import { metricWriter } from '../metrics.js';
import { clockOf } from '../time.js';

const FEW = 3;

const listed = (words) =>
  words.length > FEW + 1
    ? `${words.slice(0, FEW).join(', ')} and ${count(words.length - FEW)} more`
    : words.join(', ').replace(/, ([^,]*)$/, ' and $1');

const gpuWords = ({ gpus, pools }) => {
  const types = [...new Set(pools.filter((pool) => pool.nodes).map((pool) => pool.gpu))].filter(Boolean);
  return `${things(gpus, 'GPU')}${types.length ? ` (${listed(types)})` : ''}`;
};

const line = (name, label, ...parts) => el('p', { class: 'first-line', 'data-line': name }, el('b', {}, `${label}: `), ...parts);

const command = (text) =>
  el('span', { class: 'command' }, el('code', {}, text), ' ', copyButton(text));

const periodLine = (doc) => {
  const { run, spans } = doc;
  const clock = clockOf(doc);
  const elastic = doc.prices?.some(({ market }) => market === 'on-demand' || market === 'spot');
  const when = clock.dated
    ? `${clock.day(spans.begin_s)} to ${clock.day(spans.end_s)} (${duration(spans.end_s - spans.begin_s)})`
    : `${duration(spans.end_s - spans.begin_s)}; the trace has no dates`;
  return line('period', 'Period', `${when}. ${things(run.jobs.submitted, 'job')} on ${elastic ? 'up to ' : ''}${gpuWords(run.cluster)}.`);
};

// The note on assumed prices; it is part of the line with the cost.
const assumedWords = (doc) => {
  const pools = (doc.prices ?? []).filter(({ status }) => status === 'assumed').map(({ pool }) => pool);
  if (!pools.length) return null;
  const words = `The price${pools.length > 1 ? 's' : ''} of ${listed(pools)} ${pools.length > 1 ? 'are' : 'is'} assumed, not read from a price list.`;
  return el('span', { class: 'assumed' }, ` ${words}`);
};

const idleWords = ({ capacity_usd: capacity, idle_usd: idle }) =>
  capacity > 0 ? `; ${share(idle / capacity)} of the cost of GPUs in this period (${usd(idle)} of ${usd(capacity)}) paid for idle GPUs` : '';

const monthWords = (of) => `${usd(of)} a month (730 hours with this demand)`;

const costLine = (doc) => {
  const { cost, utilization } = doc.run;
  const mix = doc.plan && (doc.plan.recommendation ?? doc.plan.nearest);
  if (!cost) {
    const used = utilization?.makespan;
    return line(
      'cost',
      'Use',
      used ? `${share(used)} of the GPU time was allocated to jobs, ${share(1 - used)} was idle. ` : '',
      'Costs are unknown, because the scenario has no prices: add a market to the pools.',
    );
  }
  const month = mix?.metrics?.monthly_usd?.mean ?? cost.monthly_usd;
  const words = mix
    ? `the ${doc.plan.recommendation ? 'recommended' : 'nearest'} mix costs ${monthWords(month)}`
    : `${usd(cost.total_usd)} in this period${month === null ? '' : `, or ${monthWords(month)}`}`;
  return line('cost', 'Cost', `${words}${idleWords(cost)}.`, assumedWords(doc));
};

const partOf = (saved, whole) => (whole > 0 ? ` (${share(saved / whole)})` : '');

const planSaving = (doc) => {
  const { recommendation: best, baseline } = doc.plan;
  const [ours, today] = [best, baseline].map((mix) => mix?.metrics?.monthly_usd?.mean);
  const how = doc.saving?.command ? [' To run the mix: ', command(doc.saving.command)] : [];
  if (!best) return line('saving', 'Saving', 'none of the candidates that were run meets all goals; the page shows the one that is nearest to them.', ...how);
  if (typeof ours !== 'number' || typeof today !== 'number')
    return line('saving', 'Saving', 'unknown, because the plan has no mix of today to compare with (plan.baseline).', ...how);
  const saved = today - ours;
  return saved > 0
    ? line('saving', 'Largest saving', `${usd(saved)} a month${partOf(saved, today)} less than today.`, ...how)
    : line('saving', 'Saving', saved < 0 ? `none: the mix costs ${usd(-saved)} a month more than today, which the goals need.` : 'none: the mix costs as much as today.', ...how);
};

const compareSaving = (doc) => {
  const { policies } = doc.compare;
  const [first, ...others] = policies.map(({ policy, name, label, mean }) => ({ name: label ?? policy ?? name, mean }));
  const least = (key) => others.reduce((a, b) => ((b.mean[key] ?? Infinity) < (a.mean[key] ?? Infinity) ? b : a), first);
  const cheap = least('monthly_usd');
  const saved = (first.mean.monthly_usd ?? 0) - (cheap.mean.monthly_usd ?? 0);
  if (saved > 0.005 * first.mean.monthly_usd)
    return line('saving', 'Largest saving', `${cheap.name} costs ${usd(saved)} a month${partOf(saved, first.mean.monthly_usd)} less than ${first.name}.`);
  const quick = least('wait_mean_s');
  const wait = (of) => orDash(duration)(of.mean.wait_mean_s);
  return line(
    'saving',
    'Saving',
    first.mean.monthly_usd > 0 ? 'no policy costs noticeably less than the first. ' : '',
    quick === first ? `${first.name} has the shortest mean wait (${wait(first)}).` : `${quick.name} has the shortest mean wait: ${wait(quick)} instead of ${wait(first)}.`,
  );
};

const whatChanges = ({ class: kind, pool, from, to }) => {
  const where = [kind ? `${kind} jobs` : null, pool ? `pool ${pool}` : null].filter(Boolean).join(' in ');
  return `${where ? `${where}: ` : ''}${from} → ${to}`;
};

const savingLine = (doc) => {
  const { saving, run } = doc;
  if (doc.plan) return planSaving(doc);
  if (doc.compare) return compareSaving(doc);
  if (!saving?.advise_command) return null;
  if (!saving.searched)
    return line('saving', 'Largest saving', 'not searched, because the trace is large. To search: ', command(saving.advise_command));
  if (!saving.examined) return line('saving', 'Saving', 'there is no change to examine for this run. For the reasons: ', command(saving.advise_command));
  if (!saving.command)
    return line('saving', 'Saving', `none of the ${count(saving.examined)} changes that were examined saves money and serves as well. For the list: `, command(saving.advise_command));
  return line(
    'saving',
    'Largest saving',
    `${usd(saving.usd_per_month)} a month${partOf(saving.usd_per_month, run.cost.monthly_usd)}, and jobs are served as well: ${whatChanges(saving)}. `,
    command(saving.command),
  );
};

const goalItem = (goal) => {
  const write = metricWriter(goal.constraint.split(' ')[0]);
  return el(
    'li',
    { class: goal.met ? 'good' : 'bad', 'data-met': String(goal.met) },
    `${goal.met ? '✓ met' : '✗ missed'}: ${goal.constraint}${goal.assumed ? ', assumed' : ''}`,
    goal.value === null || goal.value === undefined ? ' (unknown)' : ` (${write(goal.value)})`,
  );
};

// The goals of the run or, if it has none, of the plan.
const goalLines = (doc) => {
  const goals = doc.goals?.length ? doc.goals : (doc.plan?.goals ?? []);
  if (!goals.length) return null;
  return el('div', { id: 'goals' }, el('b', {}, 'Goals:'), el('ul', { class: 'goals' }, goals.map(goalItem)));
};

// The goals that are met and apply to all jobs: a map from the path of the metric to the goal.
export const metGoals = (doc) =>
  new Map(
    (doc.goals ?? [])
      .filter((goal) => goal.met && / [<>]=? /.test(goal.constraint) && !/ of /.test(goal.constraint))
      .map((goal) => [goal.constraint.split(' ')[0], goal]),
  );

export const firstLines = (doc) =>
  doc.run?.jobs ? [periodLine(doc), costLine(doc), savingLine(doc), goalLines(doc)].filter(Boolean) : [];

export const goalText = (goal) => `within the goal ${goal.constraint.replace(/^\S+ /, '')}`;
