// SPDX-License-Identifier: GPL-3.0-or-later
// Inference services. For each service: its figures, the distribution of its latencies, the attainment by hour, and the
// replicas over time with the reason for each decision.
import { areaLegend, figure, grid, legend, valueAxis } from '../chart.js';
import { el, facts } from '../dom.js';
import { amount, count, orDash, share, things, usd } from '../format.js';
import { axisTip } from '../tip.js';

const QUANTILES = [
  ['p50', 'median'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['max', 'maximum'],
];
const LATENCIES = [
  ['ttft_ms', 'TTFT', 'time to first token'],
  ['tpot_ms', 'TPOT', 'time per output token'],
  ['e2e_ms', 'E2E', 'time to last token'],
];

// Milliseconds below one second, otherwise seconds.
const time = (ms) => (ms < 1000 ? `${amount(ms)}\u00a0ms` : `${amount(ms / 1000)}\u00a0s`);
const small = (dollars) => (dollars >= 1 ? usd(dollars) : `$${Number(dollars.toPrecision(3))}`);

const requestWords = ({ requests: r }) =>
  [
    `${count(r.offered)} offered`,
    `${count(r.completed)} completed`,
    ...[
      [r.refused, 'refused'],
      [r.timed_out, 'timed out'],
      [r.spilled, 'spilled'],
      [r.unfinished, 'unfinished'],
    ].flatMap(([n, words]) => (n ? [`${count(n)} ${words}`] : [])),
  ].join(', ');

const known = (value, write) => (value === null || value === undefined ? null : write(value));

const costWords = (service) =>
  known(
    service.serving_usd,
    (cost) =>
      `${usd(cost)}; ${small(service.usd_per_mtok ?? 0)} per million tokens${known(service.usd_per_attained_request, (x) => `; ${small(x)} per request within the goals`) ?? ''}`,
  );

const hoursWords = (hours) =>
  `${amount(hours.held)} held, ${amount(hours.busy)} busy${hours.starting ? `, ${amount(hours.starting)} starting` : ''}, ${amount(hours.idle)} idle`;

const startWords = ({ replicas, requests }) =>
  replicas || requests ? `${count(replicas)}; ${things(requests, 'request')} waited for a ready replica` : null;

const figuresOf = (service) =>
  facts([
    ['Requests', requestWords(service)],
    ['Within the goals', known(service.attainment, share)],
    ['TTFT, p95', known(service.ttft_ms.p95, time)],
    ['TPOT, p95', known(service.tpot_ms.p95, time)],
    ['E2E, p95', known(service.e2e_ms.p95, time)],
    ['Tokens', `${count(service.tokens.prompt)} of prompts, ${count(service.tokens.output)} of outputs${service.tokens.recomputed ? `; ${count(service.tokens.recomputed)} computed again` : ''}`],
    ['GPU hours', hoursWords(service.gpu_hours)],
    ['KV memory', known(service.kv_use.mean, (mean) => `${share(mean)} used on average, ${share(service.kv_use.peak)} at most`)],
    ['Cold starts', startWords(service.cold_starts)],
    ['Preempted sequences', service.kv_preemptions ? count(service.kv_preemptions) : null],
    ['Stopped replicas', service.stopped_replicas ? count(service.stopped_replicas) : null],
    ['Goodput', known(service.goodput_per_gpu, (x) => `${amount(x)} requests/s within the goals per GPU`)],
    ['Cost', costWords(service)],
    ['Revenue', known(service.revenue_usd, usd)],
  ]);

const latencyChart = (service, number) =>
  figure({
    id: `service-${number}-latency`,
    title: 'Latency',
    height: 300,
    words: () =>
      LATENCIES.filter(([key]) => service[key].p50 !== null)
        .map(([key, short, words]) => `${short} (${words}): median ${time(service[key].p50)}, p99 ${time(service[key].p99)}.`)
        .join(' '),
    table: () => ({
      columns: [{ title: '' }, ...['mean', ...QUANTILES.map(([, words]) => words)].map((title) => ({ title, number: true }))],
      rows: LATENCIES.map(([key, short]) => [
        short,
        ...['mean', ...QUANTILES.map(([part]) => part)].map((part) => orDash(time)(service[key][part])),
      ]),
    }),
    draw: (look) => ({
      legend: legend(look),
      grid: grid(),
      xAxis: { type: 'category', data: QUANTILES.map(([, words]) => words), axisLabel: { color: look.muted } },
      yAxis: { ...valueAxis(look, '', time), type: 'log', logBase: 10 },
      tooltip: { trigger: 'axis', formatter: axisTip((f) => f.axisValue, time) },
      series: LATENCIES.map(([key, short], i) => ({
        name: short,
        type: 'line',
        color: look.hues[i],
        symbol: ['circle', 'rect', 'triangle'][i],
        symbolSize: 8,
        data: QUANTILES.map(([part]) => (service[key][part] > 0 ? service[key][part] : null)),
      })),
    }),
  });

// The hour of the day, with the number of the day unless it is the first day.
const hourText = ({ hour }) => `${hour >= 24 ? `day ${Math.floor(hour / 24) + 1}, ` : ''}${String(hour % 24).padStart(2, '0')}:00`;

const hourWords = ({ hours }) => {
  const most = hours.reduce((a, b) => (b.offered > a.offered ? b : a));
  const measured = hours.filter((hour) => hour.attainment !== null);
  const worst = measured.length ? measured.reduce((a, b) => (b.attainment < a.attainment ? b : a)) : null;
  return `Most requests: ${count(most.offered)}, in the hour from ${hourText(most)}.${worst ? ` Lowest attainment: ${share(worst.attainment)}, in the hour from ${hourText(worst)}.` : ''}`;
};

const hourChart = (service, number) =>
  figure({
    id: `service-${number}-hours`,
    title: 'Requests and attainment by hour of arrival',
    height: 320,
    words: () => hourWords(service),
    table: () => ({
      columns: [{ title: 'From' }, { title: 'requests', number: true }, { title: 'within the goals', number: true }],
      rows: service.hours.map((hour) => [hourText(hour), count(hour.offered), orDash(share)(hour.attainment)]),
    }),
    draw: (look) => ({
      legend: areaLegend(look),
      grid: grid(),
      xAxis: { type: 'category', data: service.hours.map(hourText), axisLabel: { color: look.muted, hideOverlap: true } },
      yAxis: [
        valueAxis(look, 'requests', count),
        { ...valueAxis(look, '', share), max: 1, position: 'right', splitLine: { show: false } },
      ],
      tooltip: {
        trigger: 'axis',
        formatter: axisTip(
          (f) => f.axisValue,
          (value, name) => (name === 'requests' ? count(value) : share(value)),
        ),
      },
      series: [
        { name: 'requests', type: 'bar', color: look.allocated, data: service.hours.map(({ offered }) => offered) },
        {
          name: 'within the goals',
          type: 'line',
          yAxisIndex: 1,
          color: look.worst,
          symbolSize: 6,
          data: service.hours.map(({ attainment }) => attainment),
        },
      ],
    }),
  });

const HOUR_S = 3600;
const clockText = (seconds) => {
  const day = Math.floor(seconds / 86400);
  const at = new Date(Math.round((seconds - day * 86400) * 1000)).toISOString().slice(11, seconds % 60 ? 19 : 16);
  return day ? `day ${day + 1}, ${at}` : at;
};

// The last decision at or before a time; null if none exists.
const decisionAt = ({ scaling }, seconds) => {
  const [first, ...rest] = scaling.decisions;
  return first && first.time_s <= seconds ? rest.reduce((last, next) => (next.time_s <= seconds ? next : last), first) : null;
};

const replicaTip = (service) =>
  axisTip(
    (f) => {
      const seconds = f.axisValue * HOUR_S;
      const last = decisionAt(service, seconds);
      return `${clockText(Math.round(seconds))}${last ? ` \u2013 ${last.from} to ${last.to} at ${clockText(Math.round(last.time_s))}: ${last.reason}` : ''}`;
    },
    (value) => count(value),
  );

const replicaWords = ({ replicas, scaling }) => {
  const most = Math.max(...replicas.map(({ ready }) => ready));
  const rest = scaling.count - scaling.decisions.length;
  return `${things(scaling.count, 'decision')} of the autoscaler; at most ${things(most, 'ready replica')}.${rest > 0 ? ` The table lists the first ${count(scaling.decisions.length)} decisions.` : ''}`;
};

const LEVELS = [
  ['wanted', 'wanted', 'dashed', 'waiting'],
  ['ready', 'ready', 'solid', 'allocated'],
  ['starting', 'starting', 'dotted', 'worst'],
];

const replicaChart = (service, number) =>
  figure({
    id: `service-${number}-replicas`,
    title: 'Replicas over time',
    height: 300,
    words: () => replicaWords(service),
    table: () => ({
      columns: [{ title: 'Time' }, { title: 'from', number: true }, { title: 'to', number: true }, { title: 'reason' }],
      rows: service.scaling.decisions.map(({ time_s, from, to, reason }) => [
        clockText(Math.round(time_s)),
        count(from),
        count(to),
        reason,
      ]),
    }),
    draw: (look) => {
      const { replicas } = service;
      const [begin, end] = [replicas[0].time_s / HOUR_S, replicas[replicas.length - 1].time_s / HOUR_S];
      return {
        legend: legend(look),
        grid: grid(),
        xAxis: {
          type: 'value',
          min: begin,
          max: end,
          axisLabel: {
            color: look.muted,
            hideOverlap: true,
            showMinLabel: false,
            showMaxLabel: false,
            formatter: (hour) => clockText(Math.round(hour * HOUR_S)),
          },
          splitLine: { show: false },
        },
        yAxis: { ...valueAxis(look, 'replicas', count), minInterval: 1 },
        tooltip: { trigger: 'axis', formatter: replicaTip(service) },
        series: LEVELS.map(([key, name, type, colour]) => ({
          name,
          type: 'line',
          step: 'end',
          symbol: 'none',
          color: look[colour],
          lineStyle: { type, width: 2 },
          areaStyle: key === 'ready' ? { opacity: 0.25 } : undefined,
          data: replicas.map((level) => [level.time_s / HOUR_S, level[key]]),
        })),
      };
    },
  });

export const services = {
  id: 'services',
  short: 'Services',
  title: (doc) => (doc.run.services.length === 1 ? `Service ${doc.run.services[0].name}` : 'Services'),
  has: (doc) => Boolean(doc.run?.services?.length),
  fill: (root, doc) => {
    const all = doc.run.services;
    all.forEach((service, i) => {
      if (all.length > 1) root.append(el('h3', {}, service.name));
      root.append(figuresOf(service), latencyChart(service, i));
      if (service.hours.length > 1) root.append(hourChart(service, i));
      if (service.replicas.length > 1 && service.scaling.count > 1) root.append(replicaChart(service, i));
    });
  },
};
