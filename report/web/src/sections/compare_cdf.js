// SPDX-License-Identifier: GPL-3.0-or-later
// The cumulative distributions of waits and completion times of all compared policies, in replication 0. The document
// has the quantiles of each policy at equidistant shares of its jobs.
import { figure, grid, legend, valueAxis } from '../chart.js';
import { duration, durationShort, orDash, share } from '../format.js';
import { hue } from '../palette.js';
import { tip } from '../tip.js';

const KINDS = { wait_s: ['wait', 'of the jobs that started'], jct_s: ['completion time', 'of the jobs that completed'] };
const ROWS = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
const DASHES = ['solid', 'dashed', 'dotted'];

// A logarithmic axis has no zero, so times below this one are drawn at this one.
const LEAST_S = 1;
const TICKS = [1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];

const nameOf = (policy) => policy.title ?? policy.label ?? policy.name;
const quantile = (curve, part) => curve[Math.round(part * (curve.length - 1))] ?? null;

const pointsOf = (curve) => curve.map((x, i) => [Math.max(x, LEAST_S), i / (curve.length - 1), x]);

const wordsOf = (policies, kind) =>
  `Half of the jobs have a ${KINDS[kind][0]} of at most: ${policies
    .map((p) => `${nameOf(p)} ${orDash(duration)(quantile(p.cdf[kind], 0.5))}`)
    .join(', ')}. 95 % have at most: ${policies
    .map((p) => `${nameOf(p)} ${orDash(duration)(quantile(p.cdf[kind], 0.95))}`)
    .join(', ')}.`;

const seriesOf = (policies, look, kind) =>
  policies.map((policy, i) => ({
    name: nameOf(policy),
    type: 'line',
    color: hue(look, i, nameOf(policy)),
    lineStyle: { width: 2, type: DASHES[Math.floor(i / 6) % DASHES.length] },
    showSymbol: false,
    data: pointsOf(policy.cdf[kind]),
    emphasis: { focus: 'series' },
  }));

export const hasCdf = ({ policies }) => policies.some((p) => p.cdf?.wait_s?.length);

export const cdf = ({ policies, replications }) =>
  figure({
    id: 'compare-cdf',
    title: `Distributions${replications > 1 ? ' in replication 0' : ''}`,
    height: 360,
    choices: [
      {
        name: 'kind',
        label: 'Of',
        options: [
          ['jct_s', 'completion times'],
          ['wait_s', 'waits'],
        ],
        value: 'jct_s',
      },
    ],
    words: ({ kind }) => wordsOf(policies, kind),
    table: ({ kind }) => ({
      columns: [{ title: `share ${KINDS[kind][1]}` }, ...policies.map((p) => ({ title: nameOf(p), number: true }))],
      rows: ROWS.map((part) => [share(part), ...policies.map((p) => orDash(duration)(quantile(p.cdf[kind], part)))]),
    }),
    draw: (look, { kind }) => ({
      legend: legend(look),
      grid: grid({ right: 32 }),
      xAxis: {
        type: 'log',
        min: LEAST_S,
        axisLabel: {
          color: look.muted,
          hideOverlap: true,
          customValues: TICKS,
          formatter: (x) => (x <= LEAST_S ? `≤ ${durationShort(LEAST_S)}` : durationShort(x)),
        },
        axisTick: { customValues: TICKS },
        splitLine: { show: false },
      },
      yAxis: { ...valueAxis(look, 'jobs', (x) => `${Math.round(x * 100)} %`), min: 0, max: 1 },
      tooltip: {
        trigger: 'axis',
        formatter: (found) =>
          tip(
            `${share(found[0].value[1])} ${KINDS[kind][1]}`,
            found.map((f) => [f.color, f.seriesName, `≤ ${duration(f.value[2])}`]),
          ),
      },
      series: seriesOf(policies, look, kind),
    }),
  });
