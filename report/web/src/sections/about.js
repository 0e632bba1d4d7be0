// SPDX-License-Identifier: GPL-3.0-or-later
// How to reproduce the run, its assumptions, and definitions of the metrics.
import { copyButton, el, facts } from '../dom.js';
import { things } from '../format.js';

const MEANINGS = [
  ['Wait', 'from a job’s submit to its first start'],
  ['Percentile', '95th: one job in twenty waits longer; 99th: one in a hundred'],
  ['Allocated', 'GPUs assigned to a job, whether it uses them or not'],
  ['Busy', 'allocated, and not loading or saving a checkpoint or restarting'],
  ['Useful', 'work that was not lost to an interruption'],
  ['Utilization', 'allocated GPU time / available GPU time'],
  ['Cost of idle', 'cost of the pools minus the charges of their jobs'],
  [
    'A month',
    '730 hours with the demand of the run. Costs of on-demand and spot capacity are scaled from the submit window, all other costs from the whole run',
  ],
  ['Fragmented', 'idle, but too small for a typical task. Typical tasks are the most frequent requests of the trace'],
  ['Digest', 'hash of the event log: equal digests mean equal runs'],
];

export const clusterWords = ({ gpus, nodes, pools }) => {
  const types = [...new Set(pools.filter((pool) => pool.nodes).map((pool) => pool.gpu).filter(Boolean))].join(', ');
  return `${things(gpus, 'GPU')} on ${things(nodes, 'node')}${types ? ` (${types})` : ''}`;
};

export const policyWords = (policy) => {
  const parts = ['order', 'backfill', 'placement', 'market']
    .filter((key) => policy[key])
    .map((key) => `${key} ${policy[key]}`);
  return [policy.name, ...parts].join(', ').replace(', ', ': ');
};

const baselineFacts = ({ name, run }) =>
  [name, run.policy ? `policy ${policyWords(run.policy)}` : null, run.digest ? `digest ${run.digest}` : null]
    .filter(Boolean)
    .join(', ');

const list = (title, lines) =>
  lines?.length
    ? [
        el('h3', {}, title),
        el(
          'ul',
          { class: 'words' },
          lines.map((line) => el('li', {}, line)),
        ),
      ]
    : [];

export const about = {
  id: 'about',
  short: 'Reproduce',
  title: () => 'Technical details, and how to reproduce this run',
  folded: true,
  has: () => true,
  fill: (root, doc) => {
    const run = doc.run ?? {};
    root.append(
      facts([
        ['Command', doc.command ? el('span', {}, el('code', {}, doc.command), ' ', copyButton(doc.command)) : null],
        ['Scenario', run.scenario],
        ['Cluster', run.cluster ? clusterWords(run.cluster) : null],
        ['Trace', run.trace?.file ? `${run.trace.file} (${run.trace.format})` : null],
        ['Seed', run.seed === undefined ? null : String(run.seed)],
        ['Version', `Headroom ${doc.version}`],
        ['Digest', run.digest ? el('code', {}, run.digest) : null],
        ['Baseline', doc.baseline ? baselineFacts(doc.baseline) : null],
        [
          'Policy',
          run.policy
            ? el(
                'code',
                {},
                Object.entries(run.policy)
                  .map(([key, value]) => `${key}=${value}`)
                  .join(' '),
              )
            : null,
        ],
      ]),
      ...list('Assumptions', doc.assumptions),
      el('h3', {}, 'Definitions'),
      facts(MEANINGS),
    );
  },
};
