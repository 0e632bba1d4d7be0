// SPDX-License-Identifier: GPL-3.0-or-later
// Assembles the page of the planner.

import { el } from '../../../report/web/src/dom.js';
import { getJson, hasToken } from './api.js';
import { exportsSection } from './exports.js';
import { catalogueLists, fillForms, showValue } from './forms.js';
import { setMetrics } from './metrics.js';
import { planSection } from './plan.js';
import { resultsSection } from './results.js';
import { fillSliders, showValues } from './sliders.js';
import { startSection } from './start.js';
import { onChange, state } from './state.js';
import { startTheme } from './theme.js';
import { fillTrace } from './trace.js';

const content = document.getElementById('content');

const start = () => {
  const status = el('p', { id: 'said', class: 'status', role: 'status', 'aria-live': 'polite' });
  const said = (text, bad = false) => {
    status.textContent = text;
    status.className = bad ? 'status bad' : 'status';
  };
  const empty = (id) => el('section', { id, 'aria-labelledby': `${id}-title`, hidden: true });
  const [trace, sliders, forms] = ['trace', 'sliders', 'forms'].map(empty);
  const [results, plan, files] = [resultsSection(), planSection(), exportsSection()];
  let schema = null;
  content.replaceChildren(startSection(said), status, trace, sliders, results.section, plan.section, forms, files.section);
  getJson('/api/schema').then((document_) => {
    schema = document_;
    fillForms(forms, schema);
  }, (error) => said(error.message, true));
  getJson('/api/catalogue').then((catalogue) => {
    setMetrics(catalogue.metrics);
    document.body.append(...catalogueLists(catalogue));
  }, (error) => said(error.message, true));
  onChange((what) => {
    if (what === 'trace') fillTrace(trace, state.trace);
    if (what === 'scenario') plan.clear();
    if (what === 'scenario' || what === 'edited') {
      fillForms(forms, schema);
      plan.fill();
    }
    if (what === 'scenario' || what === 'edited' || what === 'trace') fillSliders(sliders);
    if (what === 'value') {
      showValue(schema, forms);
      showValues(sliders);
    }
    if (what === 'result' || what === 'scenario') results.fill();
    if (what !== 'running' && what !== 'value') files.fill();
  });
};

startTheme(document.getElementById('switches'));
if (hasToken()) start();
else
  content.replaceChildren(
    el('section', {}, el('h1', {}, 'The token is missing'), el('p', {}, 'Open the whole address that the server printed when it started; it ends with ?token=...')),
  );
