// SPDX-License-Identifier: GPL-3.0-or-later
// The section with files: the scenario, exports of its run, and a comparison of policies.

import { el } from '../../../report/web/src/dom.js';
import { postForFile } from './api.js';
import { savedScenario } from './paths.js';
import { bodyOf, lacksTrace, NO_TRACE, scenarioText, singleRun, state, traceQuery } from './state.js';

// The files, with the body of their export. The JSON summary and the comparison contain all replications of the
// scenario; the other files contain a single run.
const FILES = [
  ['Report (HTML)', { of: 'run', as: 'page' }],
  ['Costs (CSV)', { of: 'run', as: 'csv' }],
  ['Jobs (CSV)', { of: 'run', as: 'jobs' }],
  ['Summary (Markdown)', { of: 'run', as: 'markdown' }],
  ['Summary (JSON)', { of: 'run', as: 'json' }],
  ['Policies compared (HTML)', { of: 'compare', as: 'page', policies: 'fifo,sjf,conservative' }],
];

// Returns a word in quotes if a shell needs them.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// Returns the options of the command line with which the saved scenario reads the trace; null if no options
// can do this. A saved copy of a shipped scenario names the trace itself.
const traceWords = () => {
  if (!state.trace) return '';
  const scaled = state.load === 1 ? [] : [`(after headroom trace scale --by compress --load ${state.load})`];
  if (!state.trace.query) {
    const file = savedScenario()?.trace?.file;
    if (!file) return null;
    return scaled.length ? ` --trace ${quoted(file)} ${scaled[0]}` : '';
  }
  const [read, named] = [state.trace.query, traceQuery()];
  if (named.map && !read.map) return null;
  const words = [
    `--trace ${quoted(state.trace.file.name)}`,
    ...(read.format === named.format ? [] : [`--format ${quoted(read.format ?? 'auto')}`]),
    ...(read.map === named.map ? [] : [`--map ${quoted(read.map)}`]),
    ...(read.lenient ? ['--lenient'] : []),
    ...scaled,
  ];
  return ` ${words.join(' ')}`;
};

const save = (name, blob) => {
  const link = el('a', { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

export const exportsSection = () => {
  const status = el('p', { class: 'status', role: 'status' });
  const get = async (what) => {
    status.textContent = 'Making the file ...';
    status.className = 'status';
    try {
      const single = what.of === 'run' && what.as !== 'json' ? singleRun() : {};
      const { name, blob } = await postForFile('/api/export', { ...bodyOf(), ...single, ...what });
      save(name, blob);
      status.textContent = `${name} was saved.`;
    } catch (error) {
      status.textContent = error.message;
      status.className = 'status bad';
    }
  };
  const command = el('p', { class: 'what' });
  const why = el('p', { class: 'what', id: 'exports-why' });
  const buttons = FILES.map(([name, what]) => el('button', { type: 'button', onclick: () => get(what) }, name));
  const costs = buttons[FILES.findIndex(([, what]) => what.as === 'csv')];
  const section = el(
    'section',
    { id: 'exports', class: 'screen-only', 'aria-labelledby': 'exports-title', hidden: true },
    el('h2', { id: 'exports-title' }, 'Files'),
    el(
      'p',
      { class: 'row' },
      el('button', { type: 'button', id: 'save', class: 'main', onclick: () => save('scenario.json', new Blob([scenarioText(savedScenario())], { type: 'application/json' })) }, 'Save the scenario'),
      buttons,
    ),
    why,
    status,
    command,
  );
  const fill = () => {
    section.hidden = !state.scenario;
    const [empty, unpriced] = [lacksTrace(), Boolean(state.result) && !state.result.cost];
    for (const button of buttons) button.disabled = empty || (button === costs && unpriced);
    why.textContent = empty ? NO_TRACE : unpriced ? 'There is no file of costs, because no pool has a price.' : '';
    if (costs.disabled) costs.setAttribute('aria-describedby', why.id);
    else costs.removeAttribute('aria-describedby');
    why.hidden = !why.textContent;
    const trace = empty || state.error ? null : traceWords();
    command.hidden = trace === null;
    command.replaceChildren('On the command line, the saved scenario gives the same digest: ', el('code', {}, `headroom run scenario.json${trace}`));
  };
  return { section, fill };
};
