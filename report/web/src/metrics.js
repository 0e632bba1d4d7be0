// SPDX-License-Identifier: GPL-3.0-or-later
// The catalogue of metrics, which the program writes into the document: titles, units, and which direction is better.
// The key of a metric is its path in the JSON summary or its column in CSV files.
import { readDocument } from './data.js';
import { amount, count, duration, durationShort, share, usd, usdShort } from './format.js';

const catalog = readDocument().metrics ?? {};
const columns = new Map(Object.values(catalog).map((metric) => [metric.column, metric]));
const metricOf = (key) => catalog[key] ?? columns.get(key);

const rounded = (x) => amount(Number(x.toPrecision(4)));

const WRITERS = {
  count: (x) => (Number.isInteger(x) ? count(x) : amount(x)),
  s: duration,
  'GPU-hours': rounded,
  share,
  USD: usd,
};

export const metricName = (key) => metricOf(key)?.title ?? key.replaceAll('_', ' ');

export const metricWriter = (key) => WRITERS[metricOf(key)?.unit] ?? rounded;

export const metricUnit = (key) => metricOf(key)?.unit ?? null;

// Short format for axes.
export const metricShort = (key) => {
  const write = metricWriter(key);
  return write === usd ? usdShort : write === duration ? durationShort : write;
};

// 1 if higher is better, -1 if lower is better, 0 if neither.
export const metricSense = (key) => ({ higher: 1, lower: -1 })[metricOf(key)?.better] ?? 0;

// The value of a metric in a summary; null if the summary lacks it.
export const metricIn = (run, path) => path.split('.').reduce((part, key) => part?.[key] ?? null, run);
