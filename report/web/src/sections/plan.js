// SPDX-License-Identifier: GPL-3.0-or-later
// The capacity plan: the recommended mix, its cost compared with that of today's mix, its certainty, the goals, the
// frontier of cost and wait, and the sensitivity of the recommendation.
import { durationSteps, figure, grid, legend, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { duration, orDash, share } from '../format.js';
import { highest } from '../lines.js';
import { metricName, metricShort, metricWriter } from '../metrics.js';
import { tip } from '../tip.js';
import { certainty, goalRemark, goalValue, holdsTable, metWords } from './plan_certainty.js';
import { remedies } from './plan_remedies.js';

const choiceWords = (choice) =>
  Object.entries(choice ?? {})
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');

const objectiveText = (plan, value) => orDash(metricWriter(plan.objective))(value);

const card = (plan, title, mix, first, words = title) =>
  mix
    ? el(
        'div',
        { class: `card ${first ? 'first' : ''}`, 'data-mix': title, 'data-value': String(mix.objective) },
        el('dt', {}, words),
        el('dd', { class: 'value' }, objectiveText(plan, mix.objective)),
        el('dd', { class: 'note' }, choiceWords(mix.choice)),
        el(
          'dd',
          { class: `note ${mix.feasible ? 'good' : 'bad'}` },
          mix.feasible ? 'meets the goals' : 'misses a goal',
        ),
        first ? savingOf(plan, mix) : null,
      )
    : null;

// The savings of the mix compared with today's.
const savingOf = (plan, mix) => {
  const saved = plan.baseline ? plan.baseline.objective - mix.objective : 0;
  if (!saved || !/usd/.test(plan.objective)) return null;
  const part = plan.baseline.objective ? ` (${share(Math.abs(saved) / plan.baseline.objective)})` : '';
  return el(
    'dd',
    { class: `change ${saved > 0 ? 'good' : 'bad'}` },
    `${objectiveText(plan, Math.abs(saved))}${part} ${saved > 0 ? 'less' : 'more'} than today`,
  );
};

// If today's mix is all on demand, one card shows both.
const otherCards = (plan) => {
  const same = choiceWords(plan.baseline?.choice) === choiceWords(plan.all_on_demand?.choice);
  return same && plan.baseline
    ? [card(plan, 'Today', plan.baseline, false, 'Today, all on demand')]
    : [card(plan, 'Today', plan.baseline), card(plan, 'All on-demand', plan.all_on_demand)];
};

const leadWords = (plan) =>
  plan.feasible
    ? `The best mix found that meets all goals (${metricName(plan.objective).toLowerCase()}).`
    : 'None of the candidates that were run meets all goals; the nearest one is shown.';

const goalTable = (plan) =>
  table(
    'Goals',
    [{ title: 'Goal' }, { title: 'Value', number: true }, { title: 'Met' }, { title: 'Effect' }],
    plan.goals.map((goal) => [
      `${goal.constraint}${goal.assumed ? ' (assumed)' : ''}`,
      goalValue(plan, goal),
      el('span', { class: goal.met ? 'good' : 'bad' }, metWords(plan, goal)),
      goalRemark(plan, goal),
    ]),
    'stacked',
  );

const waitKey = (plan) =>
  plan.pareto_of?.wait ?? Object.keys(plan.pareto[0].metrics).find((key) => key.startsWith('wait_s')) ?? plan.objective;

const point = (plan, key, mix) => ({ value: [mix.objective, mix.metrics[key]?.mean], mix });

const mixTip =
  (plan, key) =>
  ({ data, color, seriesName }) =>
    tip(seriesName, [
      [color, choiceWords(data.mix.choice), ''],
      [null, metricName(plan.objective), objectiveText(plan, data.mix.objective)],
      [null, metricName(key), orDash(metricWriter(key))(data.mix.metrics[key]?.mean)],
    ]);

const dots = (name, symbol, colour, size, data) => ({
  name,
  type: 'scatter',
  symbol,
  symbolSize: size,
  color: colour,
  data,
  emphasis: { focus: 'series' },
});

const frontierFigure = (plan) => {
  const key = waitKey(plan);
  const others = [
    ['today', plan.baseline, 'rect'],
    ['all on-demand', plan.all_on_demand, 'diamond'],
  ].filter(([, mix]) => mix?.metrics?.[key]);
  const best = plan.recommendation ?? plan.nearest;
  const drawn = [...plan.pareto, ...others.map(([, mix]) => mix), ...(best ? [best] : [])];
  const rows = [...plan.pareto.map((mix) => [mix, '']), ...others.map(([name, mix]) => [mix, `${name}: `])];
  return figure({
    id: 'pareto-chart',
    title: `Frontier: cost against ${metricName(key).toLowerCase()}`,
    height: 340,
    words: () =>
      `${plan.pareto.length} mixes that no other mix beats in both cost and wait; ${plan.pareto.filter((mix) => mix.feasible).length} of them meet the goals.`,
    table: () => ({
      columns: [
        { title: 'Mix' },
        { title: metricName(plan.objective), number: true },
        { title: metricName(key), number: true },
        { title: 'Goals' },
      ],
      rows: rows.map(([mix, name]) => [
        `${name}${choiceWords(mix.choice)}`,
        objectiveText(plan, mix.objective),
        orDash(metricWriter(key))(mix.metrics[key]?.mean),
        mix.feasible ? 'met' : 'missed',
      ]),
    }),
    draw: (look) => ({
      legend: legend(look),
      grid: grid({ right: 30 }),
      xAxis: { ...valueAxis(look, '', metricShort(plan.objective)), scale: true, nameLocation: 'middle' },
      yAxis: {
        ...valueAxis(look, metricName(key), metricShort(key)),
        ...(metricWriter(key) === duration
          ? durationSteps(highest(drawn.map((mix) => mix.metrics?.[key]?.mean)))
          : {}),
      },
      tooltip: { trigger: 'item', formatter: mixTip(plan, key) },
      series: [
        {
          ...dots(
            'frontier',
            'none',
            look.muted,
            1,
            plan.pareto.map((mix) => point(plan, key, mix)),
          ),
          type: 'line',
          step: 'end',
          lineStyle: { width: 1, type: 'dashed' },
        },
        dots(
          'meets the goals',
          'circle',
          look.busy,
          10,
          plan.pareto.filter((mix) => mix.feasible).map((mix) => point(plan, key, mix)),
        ),
        dots(
          'misses a goal',
          'emptyCircle',
          look.worst,
          10,
          plan.pareto.filter((mix) => !mix.feasible).map((mix) => point(plan, key, mix)),
        ),
        ...(best ? [dots('recommended', 'pin', look.useful, 30, [point(plan, key, best)])] : []),
        ...others.map(([name, mix, symbol]) => dots(name, symbol, look.waiting, 13, [point(plan, key, mix)])),
      ],
    }),
  });
};

const tighterTable = (plan) =>
  table(
    'Tighter goals',
    [
      { title: 'Tighter goal' },
      { title: 'Cost', number: true },
      { title: 'Difference', number: true },
      { title: 'Mix' },
    ],
    plan.tightening.map((row) => [
      `${row.constraint.replace(/[^ ]+ [^ ]+$/, '')}${orDash(metricWriter(row.constraint.split(' ')[0]))(row.bound)}`.replace(
        '= ',
        '= ',
      ),
      row.feasible ? objectiveText(plan, row.objective) : 'not feasible',
      orDash((x) => objectiveText(plan, x))(row.difference),
      choiceWords(row.choice),
    ]),
  );

const sensitivityTable = (plan) =>
  table(
    'Sensitivity',
    [{ title: 'Change' }, { title: 'This mix' }, { title: 'Best mix' }, { title: 'Its cost', number: true }],
    plan.sensitivity.map((row) => [
      row.change,
      row.same_choice
        ? el(
            'span',
            { class: row.same_choice.feasible ? 'good' : 'bad' },
            row.same_choice.feasible ? 'still meets the goals' : 'misses a goal',
          )
        : '–',
      row.best_is_better === false && row.best_choice
        ? 'this mix'
        : choiceWords(row.best_choice?.choice) || '–',
      objectiveText(plan, (row.best_is_better === false && row.best_choice ? row.same_choice : row.best_choice)?.objective),
    ]),
  );

const titled = (title, ...elements) => el('div', {}, el('h3', {}, title), ...elements);

const goals = (plan) =>
  titled(
    'Goals',
    goalTable(plan),
    plan.goals.some((goal) => goalRemark(plan, goal))
      ? el(
          'p',
          { class: 'note' },
          'A goal excluded a candidate if this candidate was run and missed only this goal. A goal binds if, in addition, the value is at its bound.',
        )
      : '',
  );

export const plan = {
  id: 'plan',
  short: 'Plan',
  title: () => 'Capacity plan',
  has: (doc) => Boolean(doc.plan),
  fill: (root, doc) => {
    const found = doc.plan;
    root.append(
      el('p', { class: 'lead' }, leadWords(found)),
      el(
        'dl',
        { class: 'cards' },
        [
          card(found, 'Recommended', found.recommendation, true),
          card(found, 'Nearest', found.recommendation ? null : found.nearest, true),
          ...otherCards(found),
        ].filter(Boolean),
      ),
    );
    root.append(...[certainty(found), holdsTable(found), remedies(found, doc.command)].filter(Boolean));
    if (found.pareto?.length) root.append(frontierFigure(found));
    root.append(
      el(
        'div',
        { class: 'pair' },
        [
          found.goals?.length ? goals(found) : null,
          found.tightening?.length ? titled('Cost of tighter goals', tighterTable(found)) : null,
          found.sensitivity?.length ? titled('Sensitivity', sensitivityTable(found)) : null,
        ].filter(Boolean),
      ),
    );
    if (found.notes?.length && !doc.notes?.length)
      root.append(
        el('h3', {}, 'Notes of the plan'),
        el(
          'ul',
          { class: 'words' },
          found.notes.map((note) => el('li', {}, note)),
        ),
      );
  },
};
