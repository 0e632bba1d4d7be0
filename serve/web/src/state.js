// SPDX-License-Identifier: GPL-3.0-or-later
// The scenario that is edited, its trace, and the results of its runs. A run uses the same text that is saved, so the
// command line computes the same digest from the saved file.

import { post } from './api.js';

const SERIES = 240;

export const state = {
  scenario: null, // the object
  place: {}, // { name }, { file } or { shipped }: the origin of the scenario, for messages and relative paths
  folders: {}, // { shipped, files }: the folder of the shipped scenarios, and that of the files of the server
  // the answer to an upload: { trace, name, check, stats }; if the user dropped the trace, also { file, query }, where
  // `query` has the parameters with which it was read
  trace: null,
  load: 1, // relative to the trace
  present: null, // { result, scenario }: the configuration with which other results are compared
  result: null, // of the last run
  ran: null, // { result, scenario }: the last result and its scenario
  error: null,
  running: false,
};

const listeners = [];
export const onChange = (listener) => listeners.push(listener);
const tell = (what) => listeners.forEach((listener) => listener(what));

export const scenarioText = (scenario = state.scenario) => `${JSON.stringify(scenario, null, 2)}\n`;

// Returns the members of a body that name the scenario and its trace.
export const bodyOf = (scenario = state.scenario) => ({
  scenario: scenarioText(scenario),
  ...state.place,
  ...(state.trace ? { trace: state.trace.trace } : {}),
  ...(state.load === 1 ? {} : { load: state.load }),
});

// Returns the override for a single run. The page and most files show a single run. If the scenario has replications,
// it is the first replication; the command line prints the digest of that one.
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

// Parses the path of an override or of a variable of a plan, such as "cluster.pools.0.nodes". The keys of these paths
// contain no dots.
export const parsePath = (text) => text.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));

// Returns a name of a path for ids of elements. It has no spaces, and different paths have different names.
export const pathName = (path) => path.map((key) => encodeURIComponent(key).replaceAll('.', '%2E')).join('.');

// Returns all pools: [{ pool, name, path }]. If there are several clusters, the names are CLUSTER/POOL, as in results
// and plans.
export const allPools = (scenario = state.scenario) => [
  ...(scenario.cluster?.pools ?? []).map((pool, i) => ({ pool, name: pool.name, path: ['cluster', 'pools', i] })),
  ...(scenario.clusters ?? []).flatMap(({ name, pools }, k) => (pools ?? []).map((pool, i) => ({ pool, name: `${name}/${pool.name}`, path: ['clusters', k, 'pools', i] }))),
];

// Returns the parameters with which a trace is read for the scenario: the format and the columns that the scenario
// names.
export const traceQuery = (scenario = state.scenario) => {
  const { format, columns } = scenario?.trace ?? {};
  const map = Object.entries(columns ?? {}).map(([field, column]) => `${field}=${column}`).join(',');
  return { ...(format && format !== 'auto' ? { format } : {}), ...(map ? { map } : {}) };
};

// Only one run is executed at a time. `wanted` is true if the scenario changed during the run; then it is run again.
// `opened` counts the scenarios that were opened. Results of scenarios that were opened earlier are ignored.
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

// A scenario cannot be run if it has no services and names no trace, and no trace was dropped.
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

// Opens a scenario and runs it. If it is a variant of the previous scenario, the caller passes the previous `load` and
// `present`.
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

// Sets a value that a form or a slider has changed, and runs the scenario. If `redraw` is true, the forms and sliders
// are built again.
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
