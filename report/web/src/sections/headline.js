// SPDX-License-Identifier: GPL-3.0-or-later
// Summary: a description of the run, and the most important metrics, each with its change from the baseline.
import { el } from '../dom.js';
import { HEADLINE_METRICS, change } from '../headline_metrics.js';
import { things } from '../format.js';

const KINDS = { run: 'One run', compare: 'Policies compared', sweep: 'A sweep', plan: 'A plan' };

const clusterWords = ({ gpus, nodes, pools }) => {
  const types = [...new Set(pools.map((pool) => pool.gpu).filter(Boolean))].join(', ');
  return `${things(gpus, 'GPU')} on ${things(nodes, 'node')}${types ? ` (${types})` : ''}`;
};

const policyWords = (policy) => {
  const parts = ['order', 'backfill', 'placement', 'market']
    .filter((key) => policy[key])
    .map((key) => `${key} ${policy[key]}`);
  return [policy.name, ...parts].join(', ').replace(', ', ': ');
};

const whatWords = (doc) => {
  const { run } = doc;
  if (!run) return [KINDS[doc.kind]];
  return [
    KINDS[doc.kind],
    `scenario ${run.scenario}`,
    run.trace?.file ? `trace ${run.trace.file.split('/').pop()}` : null,
    run.cluster ? clusterWords(run.cluster) : null,
    run.policy ? `policy ${policyWords(run.policy)}` : null,
    `seed ${run.seed}`,
    run.digest ? `digest ${run.digest}` : null,
  ].filter(Boolean);
};

const card = (figure, run, baseline) => {
  const value = figure.of(run);
  const against = baseline ? change(figure, value, figure.of(baseline)) : null;
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

export const headline = {
  id: 'headline',
  short: 'Summary',
  title: (doc) => doc.title,
  has: () => true,
  fill: (root, doc) => {
    root.append(el('p', { class: 'what' }, whatWords(doc).join(' · ')));
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

// Differences of the configuration from the baseline that may explain a change of the metrics. The policy is excluded.
const clusterOf = ({ cluster }) => cluster && clusterWords(cluster);
const CONFIGURATION = [
  ['scenario', (run) => run.scenario, (words) => words],
  ['trace', (run) => run.trace?.file, (words) => words],
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

const baselineWords = ({ name, run }) => {
  const parts = [run.policy ? `policy ${policyWords(run.policy)}` : null, run.digest ? `digest ${run.digest}` : null];
  const words = parts.filter(Boolean).join(', ');
  return `Changes are relative to the baseline ${name}${words ? ` (${words})` : ''}.`;
};

const putBaseline = (root, doc) => {
  const differ = differences(doc.run, doc.baseline.run);
  root.append(el('p', { class: 'lead' }, baselineWords(doc.baseline)));
  if (differ.length)
    root.append(
      el('p', { class: 'note bad', id: 'other-baseline' }, `The baseline used a different configuration: ${differ.join('; ')}.`),
    );
};

function fillNumbers(root, doc) {
  if (doc.baseline) putBaseline(root, doc);
  const shown = HEADLINE_METRICS.filter((figure) => figure.of(doc.run) !== null);
  root.append(
    el(
      'dl',
      { class: 'cards' },
      shown.map((figure) => card(figure, doc.run, doc.baseline?.run)),
    ),
  );
  if (!doc.run.cost)
    root.append(
      el(
        'p',
        { class: 'note muted' },
        'No costs: this scenario has no prices. Set the market of a pool, or the costs of the scenario, to see them.',
      ),
    );
}
