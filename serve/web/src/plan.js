// SPDX-License-Identifier: GPL-3.0-or-later
// The section with the goals, the progress of the search for the cheapest capacity, and its result.

import { el, select, table } from '../../../report/web/src/dom.js';
import { count, duration, orDash, share, usd } from '../../../report/web/src/format.js';
import { postForEvents, stop } from './api.js';
import { scatterChart } from './charts.js';
import { poolGpus } from './forms.js';
import { metricName, metricShort, metricUnit, metricWriter } from './metrics.js';
import { priceWords, unpricedPools } from './prices.js';
import { allPools, bodyOf, lacksTrace, NO_TRACE, openScenario, parsePath, setPath, state } from './state.js';

// Metrics for goals: path, name, and the bound and value of a new goal.
const METRICS = [
  ['wait_s.p95', 'wait of 95 % of the jobs', '<= 1 h'],
  ['wait_s.mean', 'mean wait', '<= 10 min'],
  ['wait_s.p99', 'wait of 99 % of the jobs', '<= 4 h'],
  ['jct_s.p95', 'time to the end of 95 % of the jobs', '<= 1 d'],
  ['completed', 'completed jobs', '>= 99 %'],
  ['deadline_miss', 'missed deadlines', '<= 1 %'],
  ['monthly_usd', 'cost a month', '<= 100000'],
  ['utilization.submit_window', 'use of the GPUs', '>= 50 %'],
];
const firstGoal = (metric) => `${metric} ${METRICS.find(([path]) => path === metric)[2]}`;

// Splits a goal such as "wait_s.p95 <= 1 h" into metric, bound and value; null if it has another form.
const partsOf = (goal) => goal.match(/^(.+?)\s*(<=|>=)\s*(.+)$/)?.slice(1) ?? null;

// Returns the plan variable for a pool: from 0 to twice its nodes (at least 8 nodes), in about eight steps.
const variableOf = ({ pool, name }) => {
  const { gpusPerNode } = poolGpus(name);
  const nodes = Math.max(8, 2 * (pool.nodes ?? 0));
  return { pool: name, from: 0, to: nodes * gpusPerNode, step: Math.max(1, Math.ceil(nodes / 8)) * gpusPerNode };
};

const makePlan = () => {
  const pools = allPools().filter(({ pool }) => pool.name);
  const priced = pools.filter(({ pool }) => pool.market);
  return { variables: (priced.length ? priced : pools).slice(0, 4).map(variableOf), constraints: ['wait_s.p95', 'completed'].map(firstGoal) };
};

// ---- Goals --------------------------------------------------------------------------------------------------------

const boundSelect = (i, value, change) => {
  const label = select('', [['<=', 'at most'], ['>=', 'at least']], value, change);
  label.querySelector('select').setAttribute('aria-label', `Bound of goal ${i + 1}`);
  return label;
};

// A row for a goal. If the user selects another metric, the bound and the value change to those of a new goal.
const goalRow = (goals, i, removed) => {
  const first = partsOf(goals[i]) ?? [goals[i], '<=', ''];
  let parts = first;
  const store = () => {
    goals[i] = `${parts[0]} ${parts[1]} ${parts[2]}`;
  };
  const known = METRICS.some(([path]) => path === parts[0]) ? METRICS : [[parts[0], parts[0]], ...METRICS];
  const bound = boundSelect(i, parts[1], (value) => ((parts[1] = value), store()));
  const input = el('input', { value: parts[2], 'aria-label': `Value of goal ${i + 1}, such as 1 h, 99 % or 20000`, oninput: (event) => ((parts[2] = event.target.value), store()) });
  const choose = (metric) => {
    parts = metric === first[0] ? first : partsOf(firstGoal(metric));
    bound.querySelector('select').value = parts[1];
    input.value = parts[2];
    store();
  };
  return el(
    'li',
    {},
    select(`Goal ${i + 1}: `, known.map(([path, name]) => [path, name]), parts[0], choose),
    bound,
    input,
    el('button', { type: 'button', class: 'small', 'aria-label': `Remove goal ${i + 1}`, onclick: () => (goals.splice(i, 1), removed(i)) }, '×'),
  );
};

const rangeRow = (variable) => {
  if (!variable.pool || typeof variable.to !== 'number') return el('li', {}, variable.name ?? variable.pool ?? variable.path ?? 'variable', ': as in the scenario');
  const number = (key, label) =>
    el('label', {}, ` ${label} `, el('input', { type: 'number', min: 0, value: variable[key], oninput: (event) => (variable[key] = Number(event.target.value)) }));
  return el('li', {}, `GPUs of ${variable.pool}:`, number('from', 'from'), number('to', 'to'), number('step', 'in steps of'));
};

// ---- The search -----------------------------------------------------------------------------------------------------

const nameOf = (variable) => variable.name ?? variable.pool ?? variable.path;

// The value of a variable in words. The value for a pool is a number of GPUs; the value for a key has the unit of the
// key.
const valueWords = (variable, value) => {
  if (variable?.pool || variable?.pools) return `${value} GPUs`;
  return typeof value === 'number' && /_s$/.test(variable?.path ?? '') ? duration(value) : String(value);
};
const mixWords = (choice, variables) =>
  Object.entries(choice)
    .map(([name, value]) => `${name} ${valueWords(variables.find((of) => nameOf(of) === name), value)}`)
    .join(', ');

// Parses an override PATH=VALUE to [path, value].
const override = (text) => {
  const [path, ...rest] = text.split('=');
  const value = rest.join('=');
  try {
    return [parsePath(path), JSON.parse(value)];
  } catch {
    return [parsePath(path), value];
  }
};

// The parameters that the policies `queue` and `deadline` have in common. If the policy changes from one to the other,
// all other parameters are removed, as by an override on the command line.
const COMMON = ['name', 'placement', 'changeover_s'];
const setPolicy = (scenario, name) => {
  const { policy } = scenario;
  const related = ['queue', 'deadline'].includes(name) && ['queue', 'deadline'].includes(policy?.name);
  if (related && name !== policy.name) for (const key of Object.keys(policy).filter((of) => !COMMON.includes(of))) delete policy[key];
  setPath(['policy', 'name'], name, scenario);
};

// Sets a variable of the plan in the scenario. All pools of a variable get the same number of nodes.
const setVariable = (scenario, variable, value) => {
  if (variable.path === 'policy.name') setPolicy(scenario, value);
  else if (variable.path) setPath(parsePath(variable.path), value, scenario);
  for (const text of variable.settings?.find(({ label }) => label === value)?.set ?? []) setPath(...override(text), scenario);
  const pools = (variable.pools ?? [variable.pool]).map(poolGpus).filter(({ path }) => path);
  const gpus = pools.reduce((sum, { gpusPerNode }) => sum + gpusPerNode, 0);
  for (const { path } of pools) setPath([...path, 'nodes'], Math.round(value / gpus), scenario);
};

const WAITS = ['wait_s.p95', 'wait_s.mean', 'jct_s.p95'];
const COST = 'monthly_usd';
const valueOf = (mix, metric) => mix.metrics?.[metric]?.mean;
const isNumber = (value) => typeof value === 'number';

// Returns the metric of the vertical axis. It is the first metric with a known value in this order: waits and latencies
// of goals, other metrics of goals, other waits.
const axisOf = (constraints, objective, mixes) => {
  const goals = constraints.map((goal) => partsOf(goal)?.[0]?.trim()).filter((metric) => metric && metric !== objective);
  const times = goals.filter((metric) => ['s', 'ms'].includes(metricUnit(metric)));
  return [...times, ...goals, ...WAITS].find((metric) => mixes.some((mix) => isNumber(valueOf(mix, metric)))) ?? WAITS[0];
};

const pointOf = (of, kind, { objective, axis, variables }) => ({
  x: of.objective,
  y: valueOf(of, axis),
  kind,
  title: `${mixWords(of.choice, variables)}: ${metricWriter(objective)(of.objective)}, ${metricWriter(axis)(valueOf(of, axis))}`,
});

// The cost of the best mix, compared with the baseline. If the objective is not the cost, its value precedes the cost.
const costWords = (best, plan, objective) => {
  const compared = (now, before, write) => (!isNumber(before) || write(before) === write(now) ? '' : now < before ? `, ${write(before - now)} less than the baseline` : `, ${write(now - before)} more than the baseline`);
  const cost = valueOf(best, COST);
  const unpriced = state.result ? unpricedPools(state.result) : [];
  const without = unpriced.length ? ` (${priceWords(unpriced)}: the cost is that of the others)` : '';
  const paid = isNumber(cost) ? `, ${usd(cost)} a month${compared(cost, valueOf(plan.baseline ?? {}, COST), usd)}${without}` : '';
  if (objective === COST || !isNumber(best.objective)) return paid;
  const write = metricWriter(objective);
  return `, ${metricName(objective)} ${write(best.objective)}${compared(best.objective, plan.baseline?.objective, write)}${paid}`;
};

export const planSection = () => {
  const goals = el('ul', { class: 'plain' });
  const ranges = el('ul', { class: 'plain' });
  const progress = el('progress', { hidden: true, 'aria-label': 'Progress of the search' });
  const status = el('p', { class: 'status', role: 'status', 'aria-live': 'polite' });
  const frontier = el('figure', { id: 'frontier' });
  const answer = el('div', { id: 'plan-answer' });
  let [job, points, aborter, variables] = [null, [], null, []];
  let [load, objective, constraints] = [1, COST, []]; // settings of the search

  const drawFrontier = (choice = null) => {
    const axis = axisOf(constraints, objective, points);
    const known = points.filter((mix) => isNumber(valueOf(mix, axis)) && isNumber(mix.objective));
    if (!known.length) return;
    const about = { objective, axis, variables };
    const isDrawn = choice && isNumber(valueOf(choice, axis)) && isNumber(choice.objective);
    scatterChart(
      frontier,
      'Mixes that were run',
      `${count(known.length)} mixes were run; ${count(known.filter(({ feasible }) => feasible).length)} meet the goals. To the right: ${metricName(objective)}; upwards: ${metricName(axis)}.`,
      [...known.map((of) => pointOf(of, of.feasible ? 'feasible' : 'missed', about)), ...(isDrawn ? [pointOf(choice, 'choice', about)] : [])],
      [el('span', { class: 'key-feasible' }, 'meets the goals'), el('span', { class: 'key-missed' }, 'misses a goal'), el('span', { class: 'key-choice' }, 'choice')],
      metricShort(objective),
      metricShort(axis),
    );
  };

  const apply = (plan) => {
    const scenario = structuredClone(state.scenario);
    for (const [name, value] of Object.entries((plan.recommendation ?? plan.nearest).choice)) {
      const variable = variables.find((of) => nameOf(of) === name);
      if (variable) setVariable(scenario, variable, value);
    }
    openScenario(scenario, state.place, { load, present: state.present });
    document.getElementById('results-title').focus();
  };

  const showAnswer = (plan) => {
    const best = plan.recommendation ?? plan.nearest;
    objective = plan.objective ?? objective;
    const sentence = plan.feasible
      ? `The ${objective === COST ? 'cheapest' : 'best'} mix that meets all goals: ${mixWords(best.choice, variables)}${costWords(best, plan, objective)}.`
      : `No mix meets all goals.${best ? ` The nearest one: ${mixWords(best.choice, variables)}${costWords(best, plan, objective)}.` : ''}`;
    answer.replaceChildren(
      el('p', { class: 'first-line', id: 'plan-sentence' }, sentence),
      table(
        'Goals of the plan',
        [{ title: 'Goal' }, { title: 'Value', number: true }, { title: 'Met' }],
        plan.goals.map(({ constraint, value, met }) => [constraint, orDash(metricWriter(partsOf(constraint)?.[0] ?? constraint))(value), met ? 'yes' : 'no']),
      ),
      el('p', { class: 'what' }, `${count(plan.runs)} runs${plan.feasible && isNumber(plan.probability_best) ? `; probability that this mix is the best: ${share(plan.probability_best)}` : ''}.`),
      best ? el('button', { type: 'button', id: 'apply', onclick: () => apply(plan) }, plan.feasible ? 'Take this mix' : 'Take the nearest mix, which misses a goal') : '',
    );
    drawFrontier(best);
  };

  const listen = ({ name, data }) => {
    if (name === 'start') job = data.job;
    if (name === 'progress') {
      progress.max = data.total;
      progress.value = data.done;
      status.textContent = `Searching: ${share(data.done / data.total)} of the requested runs, mixes so far: ${count(points.length)}.`;
    }
    if (name === 'candidate') {
      points.push(data);
      drawFrontier();
    }
    if (name === 'failed') {
      status.textContent = data.error.message;
      status.className = data.error.message === 'stopped' ? 'status' : 'status bad';
    }
    if (name === 'result') {
      status.textContent = '';
      showAnswer(data);
    }
  };

  const begin = async () => {
    if (lacksTrace()) {
      status.className = 'status bad';
      status.textContent = NO_TRACE;
      return;
    }
    if (!state.scenario.plan) state.scenario.plan = makePlan();
    [points, aborter, variables] = [[], new AbortController(), structuredClone(state.scenario.plan.variables ?? [])];
    [load, objective, constraints] = [state.load, state.scenario.plan.objective ?? COST, state.scenario.plan.constraints ?? []];
    answer.replaceChildren();
    frontier.replaceChildren();
    status.className = 'status';
    status.textContent = 'Searching ...';
    progress.hidden = stopButton.hidden = false;
    progress.removeAttribute('value');
    if (document.activeElement === beginButton) stopButton.focus();
    beginButton.disabled = true;
    const { signal } = aborter;
    try {
      await postForEvents('/api/plan', { ...bodyOf(), brief: brief.checked }, (event) => signal.aborted || listen(event), signal);
    } catch (error) {
      if (signal.aborted) return;
      status.textContent = error.message;
      status.className = 'status bad';
    }
    if (!signal.aborted) end();
  };

  const end = () => {
    beginButton.disabled = false;
    if (document.activeElement === stopButton) beginButton.focus();
    progress.hidden = stopButton.hidden = true;
    job = null;
  };

  const beginButton = el('button', { type: 'button', id: 'plan-begin', class: 'main', onclick: begin }, 'Search the cheapest capacity');
  const stopButton = el('button', { type: 'button', id: 'plan-stop', hidden: true, onclick: () => job && stop(job) }, 'Stop');
  const brief = el('input', { type: 'checkbox', checked: true });

  const section = el(
    'section',
    { id: 'plan', 'aria-labelledby': 'plan-title', hidden: true },
    el('h2', { id: 'plan-title' }, 'Goals and plan'),
    goals,
    ranges,
    el('p', { class: 'row screen-only' }, beginButton, stopButton, el('label', {}, brief, ' without tests under other conditions')),
    progress,
    status,
    frontier,
    answer,
  );

  const fill = () => {
    section.hidden = !state.scenario;
    if (!state.scenario) return;
    const plan = state.scenario.plan ?? makePlan();
    const own = () => {
      state.scenario.plan ??= plan;
    };
    plan.constraints ??= [];
    // After a goal was added or removed, the focus is on an element of the goals.
    const added = () => {
      own();
      plan.constraints.push(firstGoal('wait_s.mean'));
      fill();
      goals.children[plan.constraints.length - 1].querySelector('select').focus();
    };
    const removed = (i) => {
      own();
      fill();
      [...goals.querySelectorAll('button')][i].focus(); // the button of the next goal, or "Add a goal"
    };
    goals.replaceChildren(
      ...plan.constraints.map((_, i) => goalRow(plan.constraints, i, removed)),
      el('li', {}, el('button', { type: 'button', onclick: added }, 'Add a goal')),
    );
    ranges.replaceChildren(...(plan.variables ?? []).map(rangeRow));
    goals.onchange = ranges.onchange = own;
  };
  // Called when another scenario was opened: stops the search and removes its result. The server stops the search when
  // the connection is closed.
  const clear = () => {
    aborter?.abort();
    end();
    answer.replaceChildren();
    frontier.replaceChildren();
    status.textContent = '';
    status.className = 'status';
  };
  return { section, fill, clear };
};
