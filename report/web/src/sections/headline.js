// SPDX-License-Identifier: GPL-3.0-or-later
// Summary: the first lines, and the most important metrics, each with its change from the baseline.
import { el } from '../dom.js';
import { HEADLINE_METRICS, change } from '../headline_metrics.js';
import { things } from '../format.js';
import { clusterWords, policyWords } from './about.js';
import { firstLines, goalText, metGoals } from './first_lines.js';

// Titles that do not depend on the name of the scenario, which the reader may not know.
const TITLES = { run: 'GPU use and cost', compare: 'Scheduling policies compared', plan: 'GPU capacity plan', tco: 'Cost of ownership' };

// The change of a metric from the baseline. If the run meets a goal on this metric, the change is neither better nor
// worse.
const changeOf = (figure, value, run, baseline, goals) => {
  const against = baseline ? change(figure, value, figure.of(baseline), run) : null;
  const goal = goals.get(figure.key);
  return against && goal ? { words: `${against.words.replace(/, (better|worse)$/, '')}, ${goalText(goal)}`, better: null } : against;
};

const card = (figure, run, baseline, goals) => {
  const value = figure.of(run);
  const against = changeOf(figure, value, run, baseline, goals);
  const mark = against && (against.better === null ? 'muted' : against.better ? 'good' : 'bad');
  const note = figure.note?.(run);
  return el(
    'div',
    {
      class: `card ${figure.first ? 'first' : ''} ${figure.idle ? 'idle' : ''}`,
      'data-figure': figure.key,
      'data-value': String(value),
    },
    el('dt', {}, figure.words),
    el('dd', { class: 'value' }, figure.write(value)),
    note ? el('dd', { class: 'note muted' }, note) : null,
    against ? el('dd', { class: `change ${mark}` }, against.words) : null,
  );
};

// A run with services and without jobs: the section on services has its figures.
const hasNoJobs = (doc) => doc.kind === 'run' && doc.run?.services?.length > 0 && doc.run.jobs.submitted === 0;

export const headline = {
  id: 'headline',
  short: 'Summary',
  title: (doc) => TITLES[doc.kind] ?? doc.title,
  has: () => true,
  fill: (root, doc) => {
    const name = doc.run?.scenario ?? (TITLES[doc.kind] ? doc.title : null);
    const what = [name ? `Scenario ${name}` : null, doc.description].filter(Boolean).join(': ');
    if (what) root.append(el('p', { class: 'what' }, what));
    if (hasNoJobs(doc)) return;
    root.append(...firstLines(doc));
    if (doc.run && doc.kind === 'run') fillNumbers(root, doc);
  },
};

// For plans and comparisons, the details of one run come after the result.
export const depth = {
  id: 'depth',
  short: 'Details',
  title: (doc) => (doc.kind === 'plan' ? 'Details of the recommended mix' : 'Details of the first policy'),
  has: (doc) => Boolean(doc.run && doc.kind !== 'run'),
  fill: fillNumbers,
};

// The parts of the configuration that are compared with those of the baseline, because a difference may explain a
// change of the metrics: [name, value to compare, text to show]. The policy is not compared.
const clusterOf = ({ cluster }) => cluster && clusterWords(cluster);
const CONFIGURATION = [
  ['scenario', (run) => run.scenario, (words) => words],
  ['trace', (run) => run.trace?.file?.split('/').pop(), (words) => words],
  ['trace', (run) => (run.jobs ? things(run.jobs.submitted, 'job') : null), (words) => words],
  ['cluster', (run) => JSON.stringify(run.cluster), (_, run) => clusterOf(run)],
];

const differences = (run, base) =>
  CONFIGURATION.flatMap(([what, of, words]) => {
    const [ours, theirs] = [of(run), of(base)];
    if (!ours || !theirs || ours === theirs) return [];
    const [here, there] = [words(ours, run), words(theirs, base)];
    return [here === there ? `${what}: differs` : `${what}: ${there} (now ${here})`];
  });

const putBaseline = (root, doc) => {
  const differ = differences(doc.run, doc.baseline.run);
  const { name, run } = doc.baseline;
  root.append(
    el('p', { class: 'lead' }, `Changes are relative to the baseline ${name}${run.policy ? ` (policy ${policyWords(run.policy)})` : ''}.`),
  );
  if (differ.length)
    root.append(
      el('p', { class: 'note muted', id: 'other-baseline' }, `Changed since the baseline: ${differ.join('; ')}.`),
    );
};

function fillNumbers(root, doc) {
  if (doc.baseline) putBaseline(root, doc);
  const shown = HEADLINE_METRICS.filter((figure) => figure.of(doc.run) !== null);
  const goals = metGoals(doc);
  root.append(
    el(
      'dl',
      { class: 'cards' },
      shown.map((figure) => card(figure, doc.run, doc.baseline?.run, goals)),
    ),
  );
}
