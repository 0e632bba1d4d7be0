// SPDX-License-Identifier: GPL-3.0-or-later
// The first section: the choice of a trace, and of a scenario. The scenario can be drafted for the trace, ship with
// Headroom, or be a saved file.

import { el, select } from '../../../report/web/src/dom.js';
import { count, things } from '../../../report/web/src/format.js';
import { getJson, getText, post, upload } from './api.js';
import { namesNoTrace, openScenario, setTrace, state, traceQuery } from './state.js';

const FIELDS = ['submit', 'duration', 'gpus'];
const PROVIDERS = [['', 'nothing'], ['aws', 'AWS'], ['gcp', 'Google Cloud'], ['azure', 'Azure']];

// The value of the field is cleared, so that the user can choose the same file again after correcting it.
const fileButton = (id, label, accept, take) => {
  const onchange = ({ target }) => {
    const [file] = target.files;
    target.value = '';
    if (file) take(file);
  };
  return el('span', { class: 'file' }, el('label', { for: id }, label), el('input', { id, type: 'file', accept, onchange }));
};

const nameOf = (path) => path?.split('/').pop();

// Returns the columns that an error lists: "...; the file has: a, b, c; name the column ...".
const columnsOf = (message) => message.match(/the file has: ([^;]+)/)?.[1].split(', ') ?? [];

const mapForm = (message, retry) => {
  const columns = columnsOf(message);
  const chosen = {};
  const guess = { submit: /submit|arriv|queued/i, duration: /dur|service|run_?time|elapsed/i, gpus: /gpu/i };
  const lists = FIELDS.map((field) => {
    chosen[field] = columns.find((column) => guess[field].test(column)) ?? columns[0];
    return select(`${field}: `, columns.map((column) => [column, column]), chosen[field], (value) => {
      chosen[field] = value;
    });
  });
  return el(
    'form',
    {
      onsubmit: (event) => {
        event.preventDefault();
        retry({ map: FIELDS.map((field) => `${field}=${chosen[field]}`).join(',') });
      },
    },
    el('p', {}, 'The file is a table with other names. Which columns are the time of submission, the run time in seconds and the GPUs?'),
    lists,
    el('button', { type: 'submit' }, 'Read with these columns'),
  );
};

export const startSection = (said) => {
  const place = el('div', { class: 'trace-state', role: 'status' });
  const draftPlace = el('div');
  const own = { nodes: '', gpus: '8', gpu: 'A100-80', cloud: 'aws', goal: 'wait_s.p95 <= 1 h' };

  const draft = async () => {
    const isChosen = choice();
    said('Drafting a scenario ...');
    const nodes = Number(own.nodes);
    const { trace } = state;
    try {
      const scenario = await post('/api/draft', {
        trace: trace.trace,
        ...(nodes > 0 ? { own: [`${nodes}x${Number(own.gpus)}x${own.gpu}`] } : {}),
        ...(own.cloud ? { cloud: own.cloud } : {}),
        goals: [own.goal],
      });
      if (!isChosen()) return;
      if (trace === state.trace) await openScenario(scenario, { name: 'scenario.json' });
      if (isChosen()) said('');
    } catch (error) {
      if (isChosen()) said(error.message, true);
    }
  };

  const field = (key, label, attributes = {}) =>
    el('label', {}, `${label} `, el('input', { value: own[key], ...attributes, oninput: (event) => (own[key] = event.target.value) }));

  const offerDraft = () =>
    draftPlace.replaceChildren(
      el(
        'form',
        {
          class: 'fields',
          onsubmit: (event) => {
            event.preventDefault();
            draft();
          },
        },
        el('h3', {}, 'A scenario for this trace'),
        field('nodes', 'Own nodes (empty: guessed)', { type: 'number', min: 0, max: 100000 }),
        field('gpus', 'GPUs of a node', { type: 'number', min: 1, max: 16 }),
        field('gpu', 'GPU type', { list: 'gpu-types' }),
        select('Capacity that can be bought ', PROVIDERS, own.cloud, (value) => (own.cloud = value)),
        field('goal', 'Goal'),
        el('button', { type: 'submit', id: 'draft', class: 'main' }, 'Draft a scenario'),
      ),
    );

  // The trace that the user dropped last. Scenarios that name no trace use it.
  let dropped = null;
  const showTrace = (trace) => {
    setTrace(trace);
    place.replaceChildren(trace && trace === dropped ? `${trace.name}: ${things(trace.check.trace.jobs, 'job')}.` : '');
    if (trace && trace === dropped) offerDraft();
    else draftPlace.replaceChildren();
  };

  const read = async (file, query) => ({ ...(await upload(file, query)), file, query });

  // The number of the file that was dropped last. Late answers for an earlier file are ignored.
  let taken = 0;
  const takeTrace = async (file, query = traceQuery()) => {
    const mine = ++taken;
    place.replaceChildren(`Reading ${file.name} (${count(Math.ceil(file.size / 1024))} KiB) ...`);
    draftPlace.replaceChildren();
    try {
      const trace = await read(file, query);
      if (mine !== taken) return;
      dropped = trace;
      showTrace(dropped);
      if (state.scenario) await openScenario(state.scenario, state.place);
    } catch (error) {
      if (mine !== taken) return;
      const columns = columnsOf(error.message);
      const words = columns.length ? error.message.replace(/; (name|choose) .*/, '') : error.message; // the form replaces this advice
      place.replaceChildren(el('p', { class: 'bad', role: 'alert' }, words));
      if (columns.length) place.append(mapForm(error.message, (more) => takeTrace(file, more)));
      else if (!query.lenient) place.append(el('button', { type: 'button', onclick: () => takeTrace(file, { ...query, lenient: '1' }) }, 'Leave out bad rows'));
    }
  };

  // Parses a scenario. The server checks it first; if it is invalid, the error of the server is thrown.
  const parse = async (text, where) => {
    await post('/api/check', { ...where, scenario: text });
    return JSON.parse(text);
  };

  // True if a scenario uses the dropped trace: it names no trace, or it is a saved scenario that was run on this trace.
  const keepsDropped = (scenario, isSaved) =>
    dropped && (namesNoTrace(scenario) || (isSaved && (state.trace === dropped || [dropped.name, dropped.file.name].includes(nameOf(scenario.trace?.file)))));

  // If the scenario names columns, the dropped trace is read again with these columns, as on the command line.
  const withColumns = async (scenario) => {
    const query = traceQuery(scenario);
    const before = dropped;
    if (!query.map || before.query.map) return before;
    const again = await read(before.file, { ...before.query, ...query });
    if (dropped === before) dropped = again;
    return dropped;
  };

  // The number of the last choice of a scenario. Late answers for an earlier choice are ignored.
  let choices = 0;
  const choice = () => {
    const mine = ++choices;
    return () => mine === choices;
  };

  const open = async (text, where, isChosen, trace = null) => {
    try {
      const scenario = await parse(text, where);
      if (!isChosen()) return;
      const shown = trace ?? (keepsDropped(scenario, Boolean(where.name)) ? await withColumns(scenario) : null);
      if (!isChosen()) return;
      showTrace(shown);
      await openScenario(scenario, where);
      if (isChosen()) said('');
    } catch (error) {
      if (isChosen()) said(error.message, true);
    }
  };

  const openShipped = async (name) => {
    const isChosen = choice();
    own_.value = '';
    if (!name) return;
    said(`Opening ${name} ...`);
    try {
      const text = await getText(`/api/file?shipped=${encodeURIComponent(name)}`);
      const trace = JSON.parse(text).trace?.file ? await upload(new File([], name), { shipped: name }) : null;
      await open(text, { shipped: name }, isChosen, trace);
    } catch (error) {
      if (isChosen()) said(error.message, true);
    }
  };

  // Texts that are too long for the list: the purpose of the chosen scenario, and the missing data of other scenarios.
  const purpose = el('p', { class: 'what', id: 'purpose', role: 'status', hidden: true });
  const lacking = el('p', { class: 'what', id: 'lacking', hidden: true });
  const purposes = new Map();
  const showPurpose = (name) => {
    shipped.value = name;
    purpose.textContent = purposes.get(name) ?? '';
    purpose.hidden = !purpose.textContent;
  };
  const openFile = async (path) => {
    const isChosen = choice();
    if (!path) return;
    showPurpose('');
    try {
      await open(await getText(`/api/file?path=${encodeURIComponent(path)}`), { file: path }, isChosen);
    } catch (error) {
      if (isChosen()) said(error.message, true);
    }
  };
  const openSaved = async (file) => {
    const isChosen = choice();
    showPurpose('');
    own_.value = '';
    await open(await file.text(), { name: file.name }, isChosen);
  };
  const list = ({ name, description, missing, needs_trace: needsTrace }) => {
    purposes.set(name, description);
    return el('option', { value: name, disabled: Boolean(missing) }, missing ? `${name} (data missing)` : needsTrace ? `${name} (for your trace)` : name);
  };
  const listAll = ({ scenarios, folder }) => {
    state.folders.shipped = folder;
    const without = scenarios.filter(({ missing }) => missing).map(({ name, missing }) => `${name} (${missing})`);
    shipped.append(...scenarios.map(list));
    lacking.hidden = !without.length;
    lacking.textContent = `Scenarios whose data are missing: ${without.join(', ')}.`;
  };
  const shipped = el('select', { id: 'shipped', 'aria-describedby': 'purpose lacking', onchange: (event) => (showPurpose(event.target.value), openShipped(event.target.value)) }, el('option', { value: '' }, 'choose ...'));
  const own_ = el('select', { id: 'files', onchange: (event) => openFile(event.target.value) }, el('option', { value: '' }, 'choose ...'));
  getJson('/api/scenarios').then(listAll, (error) => said(error.message, true));
  const listFiles = ({ files, folder }) => {
    state.folders.files = folder;
    own_.append(...files.filter(({ path }) => path.endsWith('.json')).map(({ path }) => el('option', { value: path }, path)));
  };
  getJson('/api/files').then(listFiles, () => {});

  const zone = el(
    'div',
    {
      class: 'drop',
      id: 'drop',
      ondragover: (event) => {
        event.preventDefault();
        zone.classList.add('over');
      },
      ondragleave: () => zone.classList.remove('over'),
      ondrop: (event) => {
        event.preventDefault();
        zone.classList.remove('over');
        if (event.dataTransfer.files[0]) takeTrace(event.dataTransfer.files[0]);
      },
    },
    el('p', {}, 'Drop a trace here: CSV, SWF, output of sacct or kubectl, and others, also compressed.'),
    fileButton('trace-file', 'Or choose a file: ', null, takeTrace),
  );

  return el(
    'section',
    { id: 'start', 'aria-labelledby': 'start-title' },
    el('h1', { id: 'start-title' }, 'Plan GPU capacity'),
    el('p', { class: 'lead' }, 'Drop a list of past jobs, or start from a scenario. Everything stays on this machine.'),
    zone,
    place,
    draftPlace,
    el(
      'div',
      { class: 'fields' },
      el('label', {}, 'Scenario that ships with Headroom ', shipped),
      el('label', {}, 'Scenario in the folder ', own_),
      fileButton('scenario-file', 'Saved scenario: ', '.json,application/json', openSaved),
    ),
    purpose,
    lacking,
  );
};
