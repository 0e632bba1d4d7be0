// SPDX-License-Identifier: GPL-3.0-or-later
// Names and units of metrics, from the catalogue of the server. A goal names a metric by its path or its column. The
// name of a service, class or tenant may precede it: "chat.ttft_ms.p95".

import { amount, count, duration, durationShort, share, usd, usdShort } from '../../../report/web/src/format.js';

const GAP = '\u00a0';
const rows = new Map();

export const setMetrics = (metrics) => {
  for (const metric of metrics) rows.set(metric.column, metric);
  for (const metric of metrics) rows.set(metric.path, metric);
};

const metricOf = (key) => {
  for (let at = key; ; at = at.slice(at.indexOf('.') + 1)) {
    if (rows.has(at)) return rows.get(at);
    if (!at.includes('.')) return null;
  }
};

const rounded = (value) => amount(Number(value.toPrecision(4)));
const milliseconds = (value) => (value < 1000 ? `${rounded(value)}${GAP}ms` : `${rounded(value / 1000)}${GAP}s`);
const WRITERS = { count: (value) => (Number.isInteger(value) ? count(value) : amount(value)), s: duration, ms: milliseconds, share, USD: usd };
const SHORT = new Map([[usd, usdShort], [duration, durationShort]]);

export const metricUnit = (key) => metricOf(key)?.unit ?? null;
export const metricWriter = (key) => WRITERS[metricUnit(key)] ?? rounded;
// Returns a short format for axes.
export const metricShort = (key) => SHORT.get(metricWriter(key)) ?? metricWriter(key);
export const metricName = (key) => {
  const title = metricOf(key)?.title;
  return title ? `${title} (${key})` : key;
};
