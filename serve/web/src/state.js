// SPDX-License-Identifier: GPL-3.0-or-later
// The scenario that is edited, its trace, and the results of its runs. The scenario is run as the text that is saved,
// so the command line gives the same digest for the file.

import { post } from './api.js';

const SERIES = 240;

export const state = {
  scenario: null, // the object
  place: {}, // { name }, { file } or { shipped }: where it came from, for messages and relative paths
  folders: {}, // { shipped, files }: of the scenarios that ship, and of the files of the server
  trace: null, // of an upload: { trace, name, check, stats }, and { query } if the user dropped it: how it was read
  load: 1,
  present: null, // the result with which others are compared, and its scenario
  result: null,
  ran: null, // { result, scenario }: the last result with the scenario that it is of
  error: null,
  running: false,
};

const listeners = [];
export const onChange = (listener) => listeners.push(listener);
const tell = (what) => listeners.forEach((listener) => listener(what));

export const scenarioText = (scenario = state.scenario) => `${JSON.stringify(scenario, null, 2)}\n`;

// The members of a body that name the scenario and its trace.
export const bodyOf = (scenario = state.scenario) => ({
  scenario: scenarioText(scenario),
  ...state.place,
  ...(state.trace ? { trace: state.trace.trace } : {}),
  ...(state.load === 1 ? {} : { load: state.load }),
});

// The page shows a single run, and so do most files: of a scenario with replications, it is the first one, which has the
// digest that the command line prints.
export const singleRun = (scenario = state.scenario) => (scenario.replications ? { set: { replications: { count: 1 } } } : {});

// A path is an array: keys of objects, and numbers for the items of arrays. A key may contain dots.
export const getPath = (path, from = state.scenario) => path.reduce((value, key) => value?.[key], from);

export const setPath = (path, value, to = state.scenario) => {
  const last = path.at(-1);
  let at = to;
  path.slice(0, -1).forEach((key, i) => {
    at[key] ??= typeof path[i + 1] === 'number' ? [] : {};
    at = at[key];
  });
  if (value !== undefined) at[last] = value;
  else if (Array.isArray(at)) at.splice(last, 1);
  else delete at[last];
};

// The path of an override or of a variable of a plan, such as "cluster.pools.0.nodes". Their keys contain no dots.
export const parsePath = (text) => text.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));

// A name of a path for ids of elements: without spaces, and different for different paths.
export const pathName = (path) => path.map((key) => encodeURIComponent(key).replaceAll('.', '%2E')).join('.');

// All pools: [{ pool, name, path }]. Those of several clusters are named CLUSTER/POOL, as in results and plans.
export const allPools = (scenario = state.scenario) => [
  ...(scenario.cluster?.pools ?? []).map((pool, i) => ({ pool, name: pool.name, path: ['cluster', 'pools', i] })),
  ...(scenario.clusters ?? []).flatMap(({ name, pools }, k) => (pools ?? []).map((pool, i) => ({ pool, name: `${name}/${pool.name}`, path: ['clusters', k, 'pools', i] }))),
];

// How a trace is read for the scenario: its format, and the columns that the scenario names.
export const traceQuery = (scenario = state.scenario) => {
  const { format, columns } = scenario?.trace ?? {};
  const map = Object.entries(columns ?? {}).map(([field, column]) => `${field}=${column}`).join(',');
  return { ...(format && format !== 'auto' ? { format } : {}), ...(map ? { map } : {}) };
};

// One run at a time; while it is executed, only the latest change waits. `opened` counts the scenarios that were opened:
// an answer about an earlier one is dropped.
let wanted = false;
let opened = 0;

const runOnce = async () => {
  const scenario = structuredClone(state.scenario);
  const about = opened;
  try {
    const result = await post('/api/run', { ...bodyOf(scenario), ...singleRun(scenario), series: SERIES });
    if (about !== opened) return;
    state.result = result;
    state.ran = { result, scenario };
    state.error = null;
    state.present ??= state.ran;
  } catch (error) {
    if (about === opened) state.error = error;
  }
};

// Whether there is nothing to run yet: a scenario without services that names no trace, and no trace was dropped.
export const NO_TRACE = 'The scenario names no trace: drop one above.';
export const namesNoTrace = (scenario) => !scenario?.trace?.file && !scenario?.services;
export const lacksTrace = () => !state.trace && namesNoTrace(state.scenario);

export const run = async () => {
  wanted = !lacksTrace();
  if (!wanted) return;
  if (state.running || !state.scenario) return;
  state.running = true;
  tell('running');
  while (wanted) {
    wanted = false;
    await runOnce();
    tell('result');
  }
  state.running = false;
  tell('running');
};

export const keepAsPresent = () => {
  state.present = state.ran;
  tell('result');
};

// `load` and `present` are kept if the scenario is a variant of the one before.
export const openScenario = (scenario, place, { load = 1, present = null } = {}) => {
  opened++;
  state.scenario = scenario;
  state.place = place;
  state.load = load;
  state.present = present;
  state.result = state.ran = state.error = null;
  tell('scenario');
  return run();
};

// The path of the last change.
export let changed = [];

// A change in a form or of a slider. `redraw`: the forms and sliders must be built again.
export const edit = (path, value, redraw = false) => {
  setPath(path, value);
  changed = path;
  tell(redraw ? 'edited' : 'value');
  return run();
};

export const setLoad = (load) => {
  state.load = load;
  return run();
};

export const setTrace = (trace) => {
  state.trace = trace;
  tell('trace');
};
