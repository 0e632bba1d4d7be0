// SPDX-License-Identifier: GPL-3.0-or-later
// Starts from a shipped scenario and shows the summary of its run.
import { el } from '../../../report/web/src/dom.js';
import { getJson, post } from './api.js';

const start = async () => {
  const content = document.getElementById('content');
  const { scenarios } = await getJson('/api/scenarios');
  const result = el('pre', { role: 'status' });
  const run = async (shipped) => {
    result.textContent = `Running ${shipped} ...`;
    try {
      result.textContent = JSON.stringify(await post('/api/run', { shipped }), null, 2);
    } catch (error) {
      result.textContent = error.message;
    }
  };
  content.append(
    el('h1', {}, 'Shipped scenarios'),
    ...scenarios.map(({ name, description }) =>
      el('p', {}, el('button', { type: 'button', onclick: () => run(name) }, name), ` ${description}`),
    ),
    result,
  );
};

start().catch((error) => {
  document.getElementById('content').textContent = error.message;
});
