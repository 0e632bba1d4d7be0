// SPDX-License-Identifier: GPL-3.0-or-later
// What the recommendation of a plan depends on: the conditions under which it misses a goal, safer mixes, commitments
// at risk, what the probability covers, and the table "Holds under". The texts are those of the terminal output
// (plan/search/plan_table.c).
import { el, facts, table } from '../dom.js';
import { fixed, orDash, share, things, usd } from '../format.js';
import { metricUnit, metricWriter } from '../metrics.js';

const FORECAST_DAYS = 42;
const LETTERS = ['this plan', 'B', 'C', 'D'];

// The mix in words, without capacities that are 0.
export const shortChoice = (choice) =>
  Object.entries(choice ?? {})
    .filter(([key, value]) => value !== 0 || key.includes('.'))
    .map(([key, value]) => `${key} ${value}`)
    .join(', ') || 'nothing';

export const minimizesMoney = (plan) => metricUnit(plan.objective) === 'USD';

// The text after a value of the objective: " a month" if the value is for a month, nothing if it is for the run.
export const perMonth = (plan) => (plan.objective === 'monthly_usd' ? ' a month' : '');

const objectiveText = (plan, value) => orDash(metricWriter(plan.objective))(value);

const GROUPS = { demand: 'demand', prices: 'prices', 'gpu supply': 'the supply of GPUs' };
const groupOf = ({ kind }) => GROUPS[kind] ?? 'spot availability';

// Returns a sentence if some runs of the recommended mix miss a goal as planned, and a sentence for each group of
// conditions under which more of them do.
const dependence = ({ conditions, mixes }) => {
  const [{ runs, missed_runs: missedRuns, results }] = mixes;
  const chance = missedRuns ? [`chance: ${missedRuns} of ${things(runs, 'run')} as planned miss a goal`] : [];
  const groups = new Map();
  conditions.forEach((condition, i) => {
    const group = groupOf(condition);
    const { size, missed } = groups.get(group) ?? { size: 0, missed: [] };
    groups.set(group, { size: size + 1, missed: results[i].is_worse ? [...missed, condition.condition] : missed });
  });
  const words = [...groups]
    .filter(([, { missed }]) => missed.length)
    .map(([group, { size, missed }]) => {
      const example = `${missed[0]}${missed.length > 1 ? ', ...' : ''}`;
      return `${group}: misses a goal under ${missed.length} of ${things(size, 'condition')} (${example})`;
    });
  return [...chance, ...words];
};

// The mixes that are shown: the recommended one, and safer ones.
export const shownMixes = ({ mixes }) => mixes.filter(({ shown }) => shown);

// The results of a mix without a changed condition. The document has no field `serves` for them. Only mixes that serve
// their jobs are tested, so `serves` is false only if all runs miss a goal that is not in dollars.
const planned = (mix) => ({ ...mix, serves: mix.feasible || mix.missed_runs < mix.runs });

const saferWords = (plan, holds) => {
  const [own, ...others] = shownMixes(holds);
  const and = own.over_dollars > 0 ? ` and ${own.over_dollars}` : '';
  const words = (mix) => {
    const more = mix.objective - own.objective;
    const same = Math.abs(more) <= 1e-4 * Math.abs(own.objective);
    const within = mix.costs_the_same ? ' (within indifference)' : '';
    const cost = same ? 'at the same cost' : `${more < 0 ? '-' : '+'}${objectiveText(plan, Math.abs(more))}${perMonth(plan)}${within}`;
    const over = mix.feasible ? '' : ' (over the goal in dollars)';
    const overMore = mix.over_dollars > 0 ? `; over the goal in dollars in ${mix.over_dollars} more` : '';
    const met = `meets all goals under ${mix.meets_all} of ${holds.conditions.length} conditions`;
    return `${cost}${over}: ${met}${overMore} (this plan: ${own.meets_all}${and}): ${shortChoice(mix.choice)}`;
  };
  const sameFirst = [...others.filter((mix) => mix.costs_the_same), ...others.filter((mix) => !mix.costs_the_same)];
  return sameFirst.map(words);
};

const riskWords = ({ variable, monthly_usd, months, has_smaller_value: smaller, at_risk_if_demand_falls: regret }) => {
  const committed = usd(monthly_usd * (months ?? 1));
  if (!smaller)
    return `${committed} for ${variable}${months ? '' : ' a month'}, if demand falls by 25 %: not tested: the variable has no smaller value`;
  if (!regret) return null;
  const gpus = fixed(regret.best_gpus, 0);
  if (!(regret.monthly_usd > 0))
    return `nothing of ${committed} for ${variable}${months ? '' : ' a month'}, if demand falls by 25 %`;
  const month = usd(regret.monthly_usd);
  return months
    ? `${usd(regret.monthly_usd * months)} of ${committed} committed to ${variable} for ${months} months, if demand falls by 25 % (${month} a month more than with ${gpus} GPUs)`
    : `${month} a month of ${committed} for ${variable}, if demand falls by 25 % (more than with ${gpus} GPUs)`;
};

// The certainty of the choice. A probability is shown only with what it covers.
export const certaintyWords = (plan) => {
  const { recommendation: mix, probability_best: probability } = plan;
  if (!mix) return 'none of the candidates that were run meets the goals';
  if (!plan.random) return 'deterministic: the best of the candidates that were run';
  if (!(mix.replications > 1) || typeof probability !== 'number')
    return 'the best of the candidates that were run; a single run has no probability';
  const within = plan.indifference > 0 ? `, or within ${objectiveText(plan, plan.indifference)} of it,` : '';
  const covers = plan.holds_under
    ? "it does not cover the conditions under 'Holds under'"
    : 'other conditions were not tested';
  return `the best of the finalists${within} with probability ${fixed(probability, 3)} over ${plan.probability_over} (${mix.replications} replications); ${covers}`;
};

// The maximum improvement by candidates that were not evaluated.
const improvableWords = ({ candidates: { left, improvable } = {} }) => {
  if (!left || improvable === 0) return null;
  const most = typeof improvable === 'number' ? ` by at most ${share(improvable)}` : '';
  return `may be improved${most}: ${things(left, 'candidate')} ${left === 1 ? 'was' : 'were'} not evaluated (--exhaustive runs all)`;
};

// Returns a list of what is known about the certainty of the recommendation.
export const certainty = (plan) => {
  const holds = plan.holds_under;
  const depends = holds ? dependence(holds) : [];
  const pairs = [
    ['Cost', [improvableWords(plan)]],
    ['Depends on', depends],
    ['Holds under', holds && !depends.length ? [`all ${things(holds.conditions.length, 'condition')} that were tested`] : []],
    ['Safer', holds ? saferWords(plan, holds) : []],
    ['At risk', (holds?.commitments ?? []).map(riskWords)],
    ['Certainty', [certaintyWords(plan)]],
  ];
  const list = facts(pairs.flatMap(([term, lines]) => lines.filter(Boolean).map((line, i) => [i ? '' : term, line])));
  list.id = 'certainty';
  return list;
};

// ---- The table ----------------------------------------------------------------------------------------

const isSplit = ({ missed_runs: missed, runs }) => missed > 0 && missed < runs;

const cell = (plan, held) => {
  const value = held.objective === null ? 'no price' : objectiveText(plan, held.objective);
  const words = `${held.serves ? value : 'misses'}${held.serves && !held.feasible ? '*' : ''}`;
  return el(
    'span',
    { class: held.serves ? null : 'bad', title: things(held.runs, 'run') },
    `${words}${isSplit(held) ? ` ${held.missed_runs}/${held.runs}` : ''}`,
  );
};

// Lists the conditions whose random cells have different numbers of runs, with the number of runs of each cell.
const unevenRows = (conditions) =>
  conditions
    .filter(({ held }) => new Set(held.map(({ runs }) => runs).filter((runs) => runs > 1)).size > 1)
    .map(({ name, held }) => `${name} (${held.map(({ runs }) => runs).join(', ')})`)
    .join(', ');

// Notes on the number of runs of each cell, and on the spread of these runs.
const runNotes = (cells, conditions) => {
  const random = cells.filter(({ held }) => held.runs > 1);
  if (!random.length) return [];
  const runs = random.map(({ held }) => held.runs);
  const [least, most] = [Math.min(...runs), Math.max(...runs)];
  const spreads = random
    .filter(({ held }) => held.serves && held.objective !== null)
    .map((at) => ({ ...at, spread: (at.held.objective_high - at.held.objective_low) / Math.abs(at.held.objective_low) }))
    .filter(({ spread }) => Number.isFinite(spread));
  const widest = spreads.reduce((a, b) => (b.spread > (a?.spread ?? 0) ? b : a), null);
  const uneven = unevenRows(conditions);
  return [
    ['runs', `${least}${most > least ? ` to ${most}` : ''} for each random cell`],
    uneven ? ['', `cells of a row have different numbers of runs in: ${uneven}`] : null,
    widest?.spread >= 0.0005
      ? ['', `the lowest and the highest of them differ by up to ${share(widest.spread)} (${widest.condition}, ${widest.mix})`]
      : null,
    random.some(({ held }) => isSplit(held)) ? ['k/n', 'k of n runs miss a goal that is not in dollars'] : null,
  ].filter(Boolean);
};

const forecastNote = (plan) =>
  plan.forecast_months === null && plan.demand?.window_hours >= FORECAST_DAYS * 24
    ? [['forecast', '--forecast 3 plans for the forecast demand of the next 3 months instead']]
    : [];

// The shown mixes as planned and under each condition; null if nothing was tested.
export const holdsTable = (plan) => {
  const holds = plan.holds_under;
  if (!holds) return null;
  const mixes = shownMixes(holds);
  const conditions = holds.conditions.map(({ condition }, i) => ({ name: condition, held: mixes.map(({ results }) => results[i]) }));
  const rows = [{ name: 'as planned', held: mixes.map(planned) }, ...conditions];
  const cells = mixes.flatMap((_, i) => rows.map(({ name, held }) => ({ held: held[i], condition: name, mix: LETTERS[i] })));
  const starred = cells.some(({ held }) => held.serves && !held.feasible);
  return el(
    'div',
    { id: 'holds-under' },
    el('h3', {}, 'Holds under'),
    table(
      'Holds under',
      [{ title: 'Condition' }, ...mixes.map((_, i) => ({ title: LETTERS[i], number: true }))],
      rows.map(({ name, held }) => [name, ...held.map((of) => cell(plan, of))]),
      'whole',
    ),
    facts([
      ...mixes.slice(1).map(({ choice }, i) => [LETTERS[i + 1], shortChoice(choice)]),
      ...runNotes(cells, conditions),
      ...(starred ? [['*', 'over the goal in dollars; all other goals are met']] : []),
      ...(minimizesMoney(plan) && !perMonth(plan) ? [['in dollars', `${plan.objective} of the run, not of a month`]] : []),
      ...forecastNote(plan),
    ]),
  );
};

// ---- Goals --------------------------------------------------------------------------------------------

// The interval of the metric of a goal; null if it has none.
const intervalOf = (plan, goal) => {
  const name = goal.constraint.match(/^(.*?)\s*[<>]/)?.[1];
  const { low = null, high = null } = (plan.recommendation ?? plan.nearest)?.metrics?.[name] ?? {};
  return low === null || high === null || low === high ? null : { low, high };
};

const atMost = (goal) => /</.test(goal.constraint);

const isAtBound = (plan, goal) => {
  const interval = intervalOf(plan, goal);
  return (
    Math.abs(goal.value - goal.bound) <= 0.01 * Math.abs(goal.bound) ||
    (interval !== null && interval.low <= goal.bound && goal.bound <= interval.high)
  );
};

// The value of a goal with its interval.
export const goalValue = (plan, goal) => {
  if (goal.value === null) return 'unknown';
  const write = metricWriter(goal.constraint.split(' ')[0]);
  const interval = intervalOf(plan, goal);
  return `${write(goal.value)}${interval ? ` (${write(interval.low)} to ${write(interval.high)})` : ''}`;
};

export const metWords = (plan, goal) => {
  if (goal.value === null) return 'unknown, as a pool has no price';
  if (!goal.met) return 'missed';
  const interval = intervalOf(plan, goal);
  const unsure = interval && (atMost(goal) ? interval.high > goal.bound : interval.low < goal.bound);
  return unsure ? 'met, not significantly' : 'met';
};

// The remark on a goal that excluded a better candidate. If the plan has no recommendation, `goal.binding` only means
// that the goal excluded candidates.
export const goalRemark = (plan, goal) => {
  if (!goal.met || !(goal.excluded_better || goal.binding)) return '';
  if (plan.feasible ? goal.binding : isAtBound(plan, goal)) return 'binds';
  return minimizesMoney(plan) ? 'excluded a cheaper candidate' : 'excluded a better candidate';
};
