// SPDX-License-Identifier: GPL-3.0-or-later
// Times. The document has seconds since t = 0. The page shows dates if the trace has dates, otherwise days since the
// start. Dates are labelled as UTC only if the dates of the trace have a time zone.

import { shownRange } from './zoom.js';

const two = (n) => String(n).padStart(2, '0');

const clockText = (ms) => {
  const seconds = Math.floor(ms / 1000) % 86400;
  const text = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}`;
  return seconds % 60 ? `${text}:${two(seconds % 60)}` : text;
};

const dayText = (clock, ms) =>
  clock.dated ? new Date(ms).toISOString().slice(0, 10) : `day ${Math.floor(ms / 86400000)}`;

export const clockOf = (doc) => {
  const { dated = false, zoned = false, origin_s: origin = 0 } = doc.clock ?? {};
  const ms = (seconds) => ((dated ? origin : 0) + seconds) * 1000;
  const zone = zoned ? ' UTC' : '';
  return {
    dated,
    ms,
    day: (seconds) => dayText({ dated }, ms(seconds)),
    textAt: (at) => `${dayText({ dated }, at)} ${clockText(at)}${zone}`,
    // "day 3 06:00", "2017-09-03 06:00 UTC", or "2017-09-03 06:00" if the time zone is unknown.
    text: (seconds) => {
      const at = Math.round(ms(seconds) / 1000) * 1000;
      return `${dayText({ dated }, at)} ${clockText(at)}${zone}`;
    },
    tick: (at) => (at % 86400000 === 0 ? dayText({ dated }, at) : clockText(at)),
  };
};

const LONG_DAYS = 45;
const DAY_MS = 86400000;

// If the trace has no dates, a range of many days has ticks at round numbers of days. The time axis of the library
// would place ticks at the first days of months.
export const dayTicks = (doc, from, to) => {
  const days = (to - from) / DAY_MS;
  if (clockOf(doc).dated || days < LONG_DAYS) return undefined;
  const step = [10, 20, 50, 100, 200, 500, 1000].find((size) => days / size <= 8) ?? 5000;
  const first = Math.ceil(from / DAY_MS / step);
  return Array.from({ length: Math.floor(to / DAY_MS / step) - first + 1 }, (_, i) => (first + i) * step * DAY_MS);
};

// Options that all time charts share. All have the range `doc.spans`, so that they can be zoomed together.
export const timeAxis = (doc, look) => {
  const clock = clockOf(doc);
  const [min, max] = [clock.ms(doc.spans.begin_s), clock.ms(doc.spans.end_s)];
  const { start, end } = shownRange();
  const customValues = dayTicks(doc, min + ((max - min) * start) / 100, min + ((max - min) * end) / 100);
  return {
    type: 'time',
    min,
    max,
    axisLabel: { color: look.muted, hideOverlap: true, formatter: clock.tick, customValues },
    axisLine: { lineStyle: { color: look.line } },
    axisTick: { lineStyle: { color: look.line }, customValues },
    splitLine: { show: false },
  };
};

// Returns the duration of a bucket in seconds. The last bucket ends with the run and may be shorter.
export const widthOf = (doc, i) => {
  const { begin_s: begin, step_s: step } = doc.series;
  return Math.max(0, Math.min(step, doc.spans.end_s - begin - i * step));
};

// Returns the points of a chart: the midpoint and the value of each bucket.
export const points = (doc, list) => {
  const { begin_s: begin, step_s: step } = doc.series;
  const clock = clockOf(doc);
  return list.map((value, i) => [clock.ms(begin + i * step + widthOf(doc, i) / 2), value]);
};

// Returns the start of a bucket as text. If buckets are at least a minute long, the start is rounded down to minutes.
export const bucketText = (doc, i) => {
  const { begin_s: begin, step_s: step } = doc.series;
  const at = begin + i * step;
  return clockOf(doc).text(step < 60 ? at : Math.floor(at / 60) * 60);
};
