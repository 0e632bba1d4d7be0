// SPDX-License-Identifier: GPL-3.0-or-later
// How to get the same again, what was assumed, and what each figure means.
import { el, facts } from '../dom.js';

const MEANINGS = [
  ['Wait', 'from a job’s submit to its first start'],
  ['Percentile', '95th: one job in twenty waits longer; 99th: one in a hundred'],
  ['Allocated', 'held by a job, whatever it does with the GPU'],
  ['Busy', 'allocated, and not loading, saving a checkpoint or starting again'],
  ['Useful', 'work that was kept: not undone by an interruption'],
  ['Utilization', 'GPU time allocated, of the GPU time that was there'],
  ['Cost of idle', 'what the pools cost, less what their jobs are charged'],
  ['Cost a month', 'the run’s cost for 730 hours of it'],
  ['Fragmented', 'idle, and no use to a task drawn from the typical ones'],
  ['Digest', 'of all that happened: the same digest, the same run'],
];

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

const copyButton = (text) => {
  const button = el('button', { type: 'button', class: 'screen-only' }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    button.textContent = done ? 'Copied' : 'Select and copy by hand';
  });
  return button;
};

export const about = {
  id: 'about',
  short: 'Reproduce',
  title: () => 'To get the same again',
  has: () => true,
  fill: (root, doc) => {
    const run = doc.run ?? {};
    root.append(
      facts([
        ['Command', doc.command ? el('span', {}, el('code', {}, doc.command), ' ', copyButton(doc.command)) : null],
        ['Scenario', run.scenario],
        ['Trace', run.trace?.file ? `${run.trace.file} (${run.trace.format})` : null],
        ['Seed', run.seed === undefined ? null : String(run.seed)],
        ['Version', `Headroom ${doc.version}`],
        ['Digest', run.digest ? el('code', {}, run.digest) : null],
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
      el('h3', {}, 'What the figures mean'),
      facts(MEANINGS),
    );
  },
};
