// SPDX-License-Identifier: GPL-3.0-or-later
// Alternatives side by side: each metric, its difference from the first alternative, and the confidence interval of
// that difference.
import { figure, grid, legend, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { fixed, orDash, share } from '../format.js';
import { metricName, metricSense, metricShort, metricWriter } from '../metrics.js';
import { hue } from '../palette.js';
import { tip } from '../tip.js';
import { cdf, hasCdf } from './compare_cdf.js';

const metricsOf = ({ policies }) =>
  Object.keys(policies[0].mean).filter((key) => policies.some((p) => p.mean[key] !== null));

const signed = (write, x) => (x > 0 ? '+' : x < 0 ? '−' : '') + write(Math.abs(x));

// Returns the formatter for differences of a metric. Differences of shares are formatted in percentage points.
const differenceWriter = (key) =>
  metricWriter(key) === share ? (x) => `${fixed(x * 100, 1)}\u00a0points` : metricWriter(key);

// True if a difference would be printed as zero. Such a difference counts as no change.
const isNothing = (key, x) => differenceWriter(key)(Math.abs(x)) === differenceWriter(key)(0);

const judged = (key, difference) => {
  const { mean, low, high, significant } = difference;
  if (mean === null || mean === 0) return null;
  if (isNothing(key, mean) && isNothing(key, low) && isNothing(key, high)) return ['no change', 'muted'];
  if (significant === false && low !== null && (low !== mean || high !== mean)) return ['not significant', 'muted'];
  if (!metricSense(key)) return ['', 'muted'];
  return Math.sign(mean) === metricSense(key) ? ['better', 'good'] : ['worse', 'bad'];
};

const cell = (key, policy, i) => {
  const write = metricWriter(key);
  const value = policy.mean[key];
  const difference = policy.difference?.[key];
  const verdict = i && difference ? judged(key, difference) : null;
  const by = differenceWriter(key);
  const interval =
    verdict && difference.low !== null && difference.low !== difference.high
      ? ` [${signed(by, difference.low)}, ${signed(by, difference.high)}]`
      : '';
  return el(
    'div',
    { 'data-metric': key, 'data-value': String(value) },
    orDash(write)(value),
    verdict
      ? el('div', { class: `note ${verdict[1]}` }, verdict[0] === 'no change' ? verdict[0] : `${signed(by, difference.mean)}${interval} ${verdict[0]}`)
      : null,
  );
};

// Draws the confidence interval of the difference of a policy. The interval is shifted by the mean of the first policy.
const whisker = (spans, colour) => ({
  type: 'custom',
  name: 'interval',
  data: spans,
  z: 5,
  tooltip: { show: false },
  renderItem: (_, api) => {
    const [row, low, high] = [
      api.value(0),
      api.coord([api.value(1), api.value(0)]),
      api.coord([api.value(2), api.value(0)]),
    ];
    if (Number.isNaN(row) || high[0] - low[0] < 1) return null;
    const style = { stroke: colour, lineWidth: 2 };
    const tick = (x) => ({ type: 'line', shape: { x1: x, x2: x, y1: low[1] - 6, y2: low[1] + 6 }, style });
    return {
      type: 'group',
      children: [
        { type: 'line', shape: { x1: low[0], x2: high[0], y1: low[1], y2: low[1] }, style },
        tick(low[0]),
        tick(high[0]),
      ],
    };
  },
  encode: { x: [1, 2], y: 0 },
});

const spansOf = (policies, key) =>
  policies
    .map((p, i) => [i, p.difference?.[key]?.low, p.difference?.[key]?.high])
    .filter(([i, low, high]) => i > 0 && low !== undefined && low !== null && low !== high)
    .map(([i, low, high]) => [i, policies[0].mean[key] + low, policies[0].mean[key] + high]);

const WISHED = ['wait_p95_s', 'cost_total_usd', 'wait_mean_s', 'jct_mean_s'];

// The metric that is shown first: preferably a metric in which the policies differ.
const firstToShow = (policies, metrics) => {
  const differs = (key) => metrics.includes(key) && new Set(policies.map((p) => p.mean[key])).size > 1;
  return WISHED.find(differs) ?? metrics.find(differs) ?? metrics[0];
};

const chart = (doc) => {
  const { policies } = doc.compare;
  const metrics = metricsOf(doc.compare);
  const names = policies.map((p) => p.title ?? p.label ?? p.name);
  return figure({
    id: 'compare-chart',
    title: 'Side by side',
    height: 110 + 44 * policies.length,
    choices: [
      {
        name: 'metric',
        label: 'Metric',
        options: metrics.map((key) => [key, metricName(key)]),
        value: firstToShow(policies, metrics),
      },
    ],
    words: ({ metric }) =>
      policies.map((p, i) => `${names[i]}: ${orDash(metricWriter(metric))(p.mean[metric])}`).join(', '),
    draw: (look, { metric }, narrow) => ({
      legend: legend(look, { show: false }),
      grid: grid({ top: 30, right: 40 }),
      xAxis: valueAxis(look, '', metricShort(metric)),
      yAxis: {
        type: 'category',
        inverse: true,
        data: names,
        axisLabel: { color: look.text, width: narrow ? 110 : 240, overflow: 'break', lineHeight: 14 },
      },
      tooltip: {
        trigger: 'item',
        formatter: ({ name, value, color }) =>
          tip(name, [[color, metricName(metric), orDash(metricWriter(metric))(value)]]),
      },
      series: [
        {
          name: metricName(metric),
          type: 'bar',
          data: policies.map((p, i) => ({ value: p.mean[metric], itemStyle: { color: hue(look, i, '') } })),
          barMaxWidth: 26,
        },
        whisker(spansOf(policies, metric), look.text),
      ],
    }),
  });
};

const isVaried = (policies) => policies.some((p) => !p.identical);

const howWords = ({ replications, confidence, random, policies }) =>
  replications > 1 && !isVaried(policies)
    ? `Each of ${policies.length} policies ran ${replications} times, with identical results; differences are relative to the first one and have no intervals.`
    : replications > 1
    ? `Each of ${policies.length} policies ran ${replications} times on the same random events; differences are relative to the first one, with paired ${share(confidence).replace('.0', '')} intervals.`
    : `Differences are relative to the first policy${random ? '; one run each, so there are no intervals' : '; the scenario is deterministic, so they are exact'}.`;

export const compare = {
  id: 'compare',
  short: 'Compare',
  title: () => 'Policies side by side',
  has: (doc) => Boolean(doc.compare?.policies?.length),
  fill: (root, doc) => {
    const { policies } = doc.compare;
    root.append(
      el('p', { class: 'lead' }, howWords(doc.compare)),
      chart(doc),
      ...(hasCdf(doc.compare) ? [cdf(doc.compare)] : []),
      table(
        'Policies side by side',
        [{ title: 'Metric' }, ...policies.map((p) => ({ title: p.title ?? p.label ?? p.name, number: true }))],
        metricsOf(doc.compare).map((key) => [metricName(key), ...policies.map((p, i) => cell(key, p, i))]),
        'whole',
      ),
    );
  },
};
