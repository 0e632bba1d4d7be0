// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep: each run is a line through its settings and metrics, and a row of the table.
import { figure } from '../chart.js';
import { el } from '../dom.js';
import { count, orDash } from '../format.js';
import { metricName, metricShort, metricWriter } from '../metrics.js';

const MAX_METRICS = 5;

const PREFERRED = ['cost_total_usd', 'monthly_usd', 'wait_mean_s', 'wait_p95_s', 'utilization_makespan', 'jobs_completed'];

const settingsOf = ({ runs }) => Object.keys(runs[0].settings);
const metricsOf = ({ runs }) =>
  Object.keys(runs[0].metrics).filter((key) => runs.some((run) => run.metrics[key] !== null));
const drawn = (metrics) =>
  [...PREFERRED.filter((key) => metrics.includes(key)), ...metrics.filter((key) => !PREFERRED.includes(key))].slice(
    0,
    MAX_METRICS,
  );

const varies = (sweep, key) => new Set(sweep.runs.map((run) => run.metrics[key])).size > 1;

const isText = (runs, key) => runs.some((run) => typeof run.settings[key] !== 'number');

const axisOf = (look, dim, name, extra) => ({
  dim,
  name,
  nameTextStyle: { color: look.text, width: 110, overflow: 'truncate' },
  axisLabel: { color: look.text, ...extra.axisLabel },
  axisLine: { lineStyle: { color: look.muted } },
  ...extra.axis,
});

const axesOf = (look, sweep, settings, metrics) => [
  ...settings.map((key, i) =>
    axisOf(
      look,
      i,
      key.split('.').slice(-3).join('.'),
      isText(sweep.runs, key)
        ? { axis: { type: 'category', data: [...new Set(sweep.runs.map((run) => String(run.settings[key])))] } }
        : { axis: { scale: true } },
    ),
  ),
  ...metrics.map((key, i) =>
    axisOf(look, settings.length + i, metricName(key), {
      axis: { scale: true },
      axisLabel: { formatter: metricShort(key) },
    }),
  ),
];

const option = (sweep) => (look, _, narrow) => {
  const settings = settingsOf(sweep);
  const metrics = drawn(metricsOf(sweep).filter((key) => varies(sweep, key))).slice(0, narrow ? 2 : MAX_METRICS);
  const value = (run, key) => (isText(sweep.runs, key) ? String(run.settings[key]) : run.settings[key]);
  return {
    parallel: { left: 50, right: 70, top: 40, bottom: 20, layout: narrow ? 'vertical' : 'horizontal' },
    parallelAxis: axesOf(look, sweep, settings, metrics),
    tooltip: { show: false },
    series: [
      {
        type: 'parallel',
        lineStyle: { color: look.busy, width: 1.5, opacity: 0.45 },
        data: sweep.runs.map((run) => [
          ...settings.map((key) => value(run, key)),
          ...metrics.map((key) => run.metrics[key] ?? '-'),
        ]),
      },
    ],
  };
};

const tableOf = (sweep) => {
  const [settings, metrics] = [settingsOf(sweep), metricsOf(sweep)];
  return {
    columns: [
      ...settings.map((title) => ({ title })),
      ...metrics.map((key) => ({ title: metricName(key), number: true })),
    ],
    rows: sweep.runs.map((run) => [
      ...settings.map((key) => String(run.settings[key])),
      ...metrics.map((key) => orDash(metricWriter(key))(run.metrics[key])),
    ]),
  };
};

export const sweep = {
  id: 'sweep',
  short: 'Sweep',
  title: () => 'Runs of the sweep',
  has: (doc) => Boolean(doc.sweep?.runs?.length),
  fill: (root, doc) => {
    root.append(
      el(
        'p',
        { class: 'lead' },
        'Each line is a run, from its settings on the left to its metrics on the right. Drag along an axis to select runs.',
      ),
      figure({
        id: 'sweep-chart',
        title: 'Settings and metrics',
        height: 380,
        words: () => `${count(doc.sweep.runs.length)} runs.`,
        table: () => tableOf(doc.sweep),
        draw: option(doc.sweep),
      }),
    );
  },
};
