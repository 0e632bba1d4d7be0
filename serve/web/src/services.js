// SPDX-License-Identifier: GPL-3.0-or-later
// Inference services in the result of a run: a sentence for each service, a table that compares the services with those
// of the present configuration, and the share of requests within the goals by hour.

import { el, table } from '../../../report/web/src/dom.js';
import { amount, count, orDash, share, things } from '../../../report/web/src/format.js';

const SENTENCES = 3; // if there are more services, only those that miss their goals are named

// True if the run has jobs other than the replicas of services. The summary counts replicas as jobs, too.
export const hasJobs = (run) => run.trace?.format !== 'no jobs';
export const hasServices = (run) => Boolean(run.services?.length);

const time = (ms) => (ms < 1000 ? `${amount(ms)}\u00a0ms` : `${amount(ms / 1000)}\u00a0s`);

// The services of a run. `required` is the share of requests that must be within the goals according to the scenario; 0
// if the scenario states none.
const servicesOf = ({ result, scenario }) =>
  (result.services ?? []).map((service) => ({
    name: service.name,
    attainment: service.attainment,
    required: scenario.services?.find(({ name }) => name === service.name)?.slo?.attainment ?? 0,
    ttft: service.ttft_ms?.p95,
    offered: service.requests.offered,
    refused: service.requests.refused,
    timedOut: service.requests.timed_out,
    replicas: Math.max(0, ...(service.replicas ?? []).map(({ ready }) => ready)),
    hours: service.hours ?? [],
  }));

const isKnown = (value) => typeof value === 'number';
const misses = ({ attainment, required }) => isKnown(attainment) && attainment < required;
const verdict = (of) => (!isKnown(of.attainment) || !of.required ? '–' : misses(of) ? 'MISSED' : 'met');

const withPresent = (now, before, write) => `${orDash(write)(now)}${before !== undefined && before !== now ? ` (present: ${orDash(write)(before)})` : ''}`;

const sentence = (now, before) => {
  const within = isKnown(now.attainment)
    ? `${withPresent(now.attainment, before?.attainment, share)} of ${things(now.offered, 'request')} are within the goals${now.required ? `; ${share(now.required)} are required: ${verdict(now)}` : ''}.`
    : `${things(now.offered, 'request')}; no goals.`;
  const lost = [[now.refused, 'refused'], [now.timedOut, 'timed out']].filter(([n]) => n).map(([n, words]) => `, ${count(n)} ${words}`).join('');
  const words = `${now.name}: ${within} TTFT, p95: ${withPresent(now.ttft, before?.ttft, time)}${lost}; ${withPresent(now.replicas, before?.replicas, (n) => things(n, 'replica'))} at most.`;
  return el('p', { class: misses(now) ? 'first-line bad' : 'first-line' }, words);
};

export const serviceSentences = (now, present) => {
  const [services, before] = [servicesOf(now), servicesOf(present)];
  if (services.length <= SENTENCES) return services.map((service) => sentence(service, before.find(({ name }) => name === service.name)));
  const missed = services.filter(misses);
  const names = missed.slice(0, SENTENCES).map(({ name }) => name).join(', ');
  const words = missed.length ? `MISSED by ${count(missed.length)}: ${names}${missed.length > SENTENCES ? ', ...' : ''}` : 'none misses its goals';
  return [el('p', { class: missed.length ? 'first-line bad' : 'first-line' }, `${things(services.length, 'service')}; ${words}.`)];
};

const COLUMNS = [
  ['Within the goals', ({ attainment }) => attainment, share],
  ['Required', ({ required }) => required || null, share],
  ['Goal', verdict, String],
  ['TTFT, p95', ({ ttft }) => ttft, time],
  ['Requests', ({ offered }) => offered, count],
  ['Refused', ({ refused }) => refused, count],
  ['Timed out', ({ timedOut }) => timedOut, count],
  ['Replicas, at most', ({ replicas }) => replicas, count],
];

// The table has a row for each service. If a value differs from that of the present configuration, both are shown.
export const serviceTable = (now, present) => {
  const before = servicesOf(present);
  const cells = (service) => {
    const was = before.find(({ name }) => name === service.name);
    return COLUMNS.map(([, of, write]) => withPresent(of(service), was ? of(was) : undefined, write));
  };
  return table(
    'Services',
    [{ title: 'Service' }, ...COLUMNS.map(([title]) => ({ title, number: title !== 'Goal' }))],
    servicesOf(now).map((service) => [service.name, ...cells(service)]),
    'stacked',
  );
};

// Returns the chart of the service that misses its goal by most or, if none does, exceeds it by least: the share of its
// requests within the goals by hour. Returns null if no service has these values.
export const serviceChart = (now, present) => {
  const known = servicesOf(now).filter(({ attainment, hours }) => isKnown(attainment) && hours.length);
  if (!known.length) return null;
  const worst = known.reduce((a, b) => (b.attainment - b.required < a.attainment - a.required ? b : a));
  const before = present === now ? null : servicesOf(present).find(({ name }) => name === worst.name);
  const line = (hours, kind, name) => ({ name, kind, values: hours.map(({ attainment }) => attainment ?? null), seconds: 3600 * hours.length });
  const required = worst.required ? [{ name: 'required', kind: 'limit', values: worst.hours.map(() => worst.required), seconds: 3600 * worst.hours.length }] : [];
  return {
    title: `Requests of ${worst.name} within the goals, by hour`,
    words: `${share(worst.attainment)} of all${worst.required ? `; ${share(worst.required)} are required: ${verdict(worst)}` : ''}.`,
    lines: [line(worst.hours, 'now', 'now'), ...(before?.hours.length ? [line(before.hours, 'was', 'present')] : []), ...required],
  };
};
