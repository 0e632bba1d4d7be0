// SPDX-License-Identifier: GPL-3.0-or-later
// Sliders for the most common settings: nodes of pools, share of spot, quotas, load, checkpoint intervals and replicas.

import { el } from '../../../report/web/src/dom.js';
import { duration, share } from '../../../report/web/src/format.js';
import { allPools, edit, getPath, pathName, setLoad, state } from './state.js';

const plain = (value) => String(value);

const nodeSliders = () =>
  allPools().map(({ pool, name, path }, i) => ({
    label: `Nodes of ${name ?? `pool ${i}`}`,
    path: [...path, 'nodes'],
    min: 0,
    max: Math.max(16, 2 * (pool.nodes ?? 0)),
    write: plain,
  }));

// Policies with the key `max_spot_share`: `queue`, and the names of its orders and backfills.
const LIMITS_SPOT = /^(queue|fifo|sjf|smallest|largest|priority|srtf|las|gittins|edf|f1|wfp3|qssf|fair-share|drf|multifactor|easy|conservative)$/;
const hasMarket = (market) => allPools().some(({ pool }) => pool.market === market);
const spotSliders = () =>
  hasMarket('spot') && LIMITS_SPOT.test(state.scenario.policy?.name) ? [{ label: 'Largest share of spot', path: ['policy', 'max_spot_share'], min: 0, max: 1, step: 0.05, fallback: 1, write: share }] : [];

const quotaSliders = () =>
  (state.scenario.quotas?.tenants ?? []).flatMap((tenant, i) =>
    ['guaranteed_gpus', 'max_gpus']
      .filter((key) => typeof tenant[key] === 'number')
      .map((key) => ({ label: `${key === 'max_gpus' ? 'Limit' : 'Guarantee'} of ${tenant.tenant}, GPUs`, path: ['quotas', 'tenants', i, key], min: 0, max: Math.max(16, 2 * tenant[key]), write: plain })),
  );

const checkpointSliders = () =>
  Object.entries(state.scenario.classes ?? {})
    .filter(([, of]) => typeof of.checkpoint?.interval_s === 'number')
    .map(([name, of]) => ({ label: `Checkpoint interval of ${name}`, path: ['classes', name, 'checkpoint', 'interval_s'], min: 60, max: Math.max(14400, 2 * of.checkpoint.interval_s), step: 60, write: duration }));

// An autoscaler has a minimum and a maximum number of replicas, or a fixed number.
const REPLICAS = { replicas: ['', 1], min: [' (fewest)', 0], max: [' (most)', 1] };
const replicaSliders = () =>
  (state.scenario.services ?? []).flatMap((service, i) =>
    Object.entries(REPLICAS)
      .filter(([key]) => typeof service.autoscale?.[key] === 'number')
      .map(([key, [words, min]]) => ({ label: `Replicas of ${service.name}${words}`, path: ['services', i, 'autoscale', key], min, max: Math.max(8, 2 * service.autoscale[key]), write: plain })),
  );

const slider = ({ label, min, max, step = 1, write, value, change, path }) => {
  const shown = el('output', {}, write(value));
  const input = el('input', {
    type: 'range',
    min,
    max,
    step,
    value,
    'data-path': pathName(path),
    'aria-valuetext': write(value),
    oninput: () => {
      shown.textContent = write(Number(input.value));
      input.setAttribute('aria-valuetext', shown.textContent);
      change(Number(input.value));
    },
  });
  return el('label', { class: 'slider' }, el('span', {}, label), input, shown);
};

// Sets the sliders to the values of the forms. Does nothing while the user moves a slider, which has its value already.
export const showValues = (section) => {
  if (!section.contains(document.activeElement)) fillSliders(section);
};

export const fillSliders = (section) => {
  section.hidden = !state.scenario;
  if (!state.scenario) return;
  const paths = [...nodeSliders(), ...spotSliders(), ...quotaSliders(), ...checkpointSliders(), ...replicaSliders()];
  const all = paths.map((of) => slider({ ...of, value: getPath(of.path) ?? of.fallback ?? of.min, change: (value) => edit(of.path, value) }));
  if (state.trace)
    all.push(slider({ label: 'Load, relative to the trace', min: 0.2, max: 3, step: 0.05, value: state.load, write: (value) => `× ${value.toFixed(2)}`, change: setLoad, path: ['load'] }));
  section.replaceChildren(el('h2', { id: 'sliders-title' }, 'What if'), el('div', { class: 'sliders' }, all));
};
