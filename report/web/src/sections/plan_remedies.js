// SPDX-License-Identifier: GPL-3.0-or-later
// For each changed condition under which the recommended mix of a plan misses a goal: how to meet the goals then.
import { el } from '../dom.js';
import { orDash } from '../format.js';
import { metricWriter } from '../metrics.js';
import { minimizesMoney, perMonth, shortChoice } from './plan_certainty.js';

const objectiveText = (plan, value) => orDash(metricWriter(plan.objective))(value);
const cheapest = (mixes) => mixes.reduce((a, b) => (a && a.objective <= b.objective ? a : b), null);

// The tested mixes with their results under a condition.
const testedUnder = (plan, condition) =>
  (plan.holds_under?.mixes ?? []).flatMap((mix) =>
    mix.results.filter((result) => result.condition === condition).map((result) => ({ ...mix, result })),
  );

// The conditions under which the recommended mix misses a goal. `best`: a mix that meets the goals under the condition,
// or null. If `searched` is true, it is the best mix of a search under the condition, otherwise the cheapest tested
// mix.
const missed = (plan) => {
  const rows = (plan.sensitivity ?? [])
    .filter((row) => row.same_choice && !row.same_choice.feasible)
    .map(({ change, best_choice: best }) => ({ change, best: best?.feasible === false ? null : best, searched: true }));
  for (const { condition, feasible } of plan.holds_under?.mixes?.[0]?.results ?? [])
    if (!feasible && !rows.some(({ change }) => change === condition)) {
      const best = cheapest(testedUnder(plan, condition).filter(({ result }) => result.feasible));
      rows.push({ change: condition, best, searched: false });
    }
  return rows;
};

// The command of the page without its outputs.
const withoutOutputs = (command) => command.replace(/ --(report|json|events)[ =]('[^']*'|\S+)/g, '');

// The overrides that set a condition in the scenario; null if there are none. An override of the demand would replace a
// growth or forecast of the scenario itself, so such a scenario gets none.
const overrides = (plan, condition) => {
  const { kind, factor } = plan.holds_under.conditions.find((one) => one.condition === condition);
  if (kind === 'demand' && plan.forecast_months === null && !/workloads/.test(plan.probability_over))
    return [`replications.workload.growth=${factor}`];
  const pools = plan.pools ?? [];
  if (kind !== 'spot model' || pools.some(({ name }) => name.includes('/'))) return null;
  const preset = condition.replace('spot as ', '');
  return pools.flatMap(({ market }, i) => (market === 'spot' ? [`'cluster.pools.${i}.spot={"preset":"${preset}"}'`] : []));
};

// The advice if no tested mix meets the goals. Only a few mixes were tested, so a new search may find one that does.
const planAgain = (plan, condition, command) => {
  const set = command ? overrides(plan, condition) : null;
  return set?.length
    ? ['plan again with this condition, for example: ', el('code', {}, `${withoutOutputs(command)} --set ${set.join(' --set ')}`)]
    : [
        condition === 'no spot capacity'
          ? 'plan again with a maximum of 0 for the spot variables.'
          : /spot/.test(condition)
            ? 'plan again with lower maxima of the spot variables.'
            : 'plan again with a scenario in which this condition holds.',
      ];
};

const costWords = (plan, best, of) => {
  const more = best.objective - plan.recommendation.objective;
  const difference = minimizesMoney(plan) && more > 0 ? ` (${objectiveText(plan, more)} more than the recommended mix)` : '';
  return `To meet the goals: ${shortChoice(best.choice)}, for ${objectiveText(plan, best.objective)}${perMonth(plan)} ${of}${difference}.`;
};

// A tested mix that misses goals in dollars only.
const overWords = (plan, condition) => {
  const mix = cheapest(testedUnder(plan, condition).filter(({ result }) => result.serves));
  return mix
    ? `${shortChoice(mix.choice)} misses only a goal in dollars, for ${objectiveText(plan, mix.result.objective)}${perMonth(plan)} then. `
    : '';
};

const remedyOf = (plan, command, { change, best, searched }) => {
  if (best) return [costWords(plan, best, searched ? 'then' : 'as planned')];
  const over = overWords(plan, change);
  if (searched)
    return [
      `None of the candidates that were run under this condition meets the goals. ${over}`,
      'Raise the maxima of the variables, or relax a goal.',
    ];
  const tests = testedUnder(plan, change).length;
  const who = tests === 1 ? 'The only mix tested under this condition misses a goal' : `None of the ${tests} mixes tested under this condition meets the goals`;
  return [over ? `${who}. ${over}To meet all goals, relax the goal in dollars, or ` : `${who}: `, ...planAgain(plan, change, command)];
};

export const remedies = (plan, command) => {
  const rows = plan.recommendation ? missed(plan) : [];
  if (!rows.length) return null;
  return el(
    'div',
    { id: 'remedies' },
    el('h3', {}, 'How to meet the goals if the assumptions do not hold'),
    el(
      'ul',
      { class: 'words' },
      rows.map((row) =>
        el('li', {}, el('b', {}, `${row.change}: `), 'the recommended mix misses a goal. ', ...remedyOf(plan, command, row)),
      ),
    ),
  );
};
