// SPDX-License-Identifier: GPL-3.0-or-later
// GPUs over time: capacity, allocation and use; or allocation by tenant, class, GPU type, market or pool.
import { areaLegend, figure, grid, lineLegend, valueAxis } from '../chart.js';
import { el } from '../dom.js';
import { amount, count, durationShort } from '../format.js';
import { line, mean } from '../lines.js';
import { hue } from '../palette.js';
import { bucketText, clockOf, timeAxis } from '../time.js';
import { axisTip } from '../tip.js';
import { zoomButtons } from '../zoom.js';

const WORDS = { tenant: 'by tenant', class: 'by class', gpu: 'by GPU type', market: 'by market', pool: 'by pool' };

// True if the capacity varied during the run. The maximum of some bucket then differs from its mean.
const varies = ({ mean: means, max }) => max.some((most, i) => means[i] !== null && most - means[i] > 1e-4 * most);

const whole = (doc, look) => {
  const { capacity, allocated, busy, useful } = doc.series;
  return [
    line(doc, 'allocated', allocated.mean, look.allocated, { area: 0.35 }),
    line(doc, 'allocated, peak', allocated.max, look.allocated, { width: 1, type: 'dotted', z: 3 }),
    busy ? line(doc, 'busy', busy.mean, look.busy, { z: 4 }) : null,
    useful ? line(doc, 'useful work', useful.mean, look.useful, { type: [6, 2], z: 4 }) : null,
    line(doc, 'capacity', capacity.mean, look.capacity, { type: 'dashed', z: 5 }),
    varies(capacity) ? line(doc, 'capacity, peak', capacity.max, look.capacity, { width: 1, type: 'dotted', z: 5 }) : null,
  ].filter(Boolean);
};

const stacked = (doc, look, groups) => [
  ...groups.map((group, i) =>
    line(doc, group.name || '(none)', group.allocated, hue(look, i, group.name), {
      area: 0.75,
      stack: 'all',
      width: 0.5,
    }),
  ),
  line(doc, 'capacity', doc.series.capacity.mean, look.capacity, { type: 'dashed', z: 5 }),
];

const wordsOf = (doc, by) => {
  const { allocated, capacity } = doc.series;
  if (by === 'whole') {
    const most = allocated.max.reduce((a, b) => Math.max(a, b), 0);
    const when = bucketText(doc, allocated.max.indexOf(most));
    return `${amount(mean(allocated.mean))} of ${amount(mean(capacity.mean))} GPUs allocated on average, ${amount(most)} at most (first about ${when}). The dotted line is the maximum within the time range of each point.`;
  }
  const groups = doc.series.by[by]
    .map((group) => [group.name || '(none)', mean(group.allocated)])
    .sort((a, b) => b[1] - a[1]);
  return `GPUs allocated on average: ${groups
    .slice(0, 4)
    .map(([name, x]) => `${name} ${amount(x)}`)
    .join(', ')}${groups.length > 4 ? '; the others fewer' : ''}.`;
};

const tableOf = (doc, by) => {
  const { capacity, allocated, busy, useful } = doc.series;
  const lists =
    by === 'whole'
      ? [
          ['capacity', capacity.mean],
          ...(varies(capacity) ? [['capacity, maximum', capacity.max]] : []),
          ['allocated', allocated.mean],
          ['minimum', allocated.min],
          ['maximum', allocated.max],
          ['busy', busy?.mean],
          ['useful', useful?.mean],
        ].filter(([, list]) => list)
      : doc.series.by[by].map((group) => [group.name || '(none)', group.allocated]);
  return {
    columns: [{ title: 'From' }, ...lists.map(([title]) => ({ title, number: true }))],
    rows: capacity.mean.map((_, i) => [bucketText(doc, i), ...lists.map(([, list]) => amount(list[i] ?? 0))]),
  };
};

const choicesOf = (doc) => {
  const by = Object.entries(doc.series.by ?? {}).filter(
    ([, groups]) => groups.length > 1 || (groups.length === 1 && groups[0].name && groups[0].name !== '(none)'),
  );
  return [['whole', 'use of GPUs'], ...by.map(([key]) => [key, WORDS[key] ?? `by ${key}`])];
};

// Over many weeks, daily peaks hide the trend. The chart therefore has one point per day unless the reader selects the
// full resolution.
const MANY_DAYS = 30;
const DAY_S = 86400;

const isLong = (doc) => doc.spans.end_s - doc.spans.begin_s > MANY_DAYS * DAY_S && doc.series.step_s < DAY_S / 2;

// Combines consecutive buckets into buckets of about a day. A new mean is the mean of the old means, a new maximum the
// maximum of the old maxima, and a new minimum the minimum of the old minima.
const dailyOf = (doc) => {
  const { series } = doc;
  const width = Math.round(DAY_S / series.step_s);
  const n = Math.ceil(series.n / width);
  const parts = (list, combine) =>
    Array.from({ length: n }, (_, i) => combine(list.slice(i * width, (i + 1) * width).filter((x) => x !== null)));
  const combined = (counts) =>
    counts && {
      ...counts,
      mean: parts(counts.mean, mean),
      ...(counts.max ? { max: parts(counts.max, (list) => Math.max(...list)) } : {}),
      ...(counts.min ? { min: parts(counts.min, (list) => Math.min(...list)) } : {}),
    };
  const by = Object.entries(series.by ?? {}).map(([key, groups]) => [
    key,
    groups.map((group) => ({ ...group, allocated: parts(group.allocated, mean) })),
  ]);
  return {
    ...doc,
    series: {
      ...series,
      n,
      step_s: series.step_s * width,
      capacity: combined(series.capacity),
      allocated: combined(series.allocated),
      busy: combined(series.busy),
      useful: combined(series.useful),
      by: Object.fromEntries(by),
    },
  };
};

export const gpus = {
  id: 'gpus',
  short: 'GPUs',
  title: () => 'GPUs over time',
  has: (doc) => Boolean(doc.series?.n),
  fill: (root, doc) => {
    const clock = clockOf(doc);
    const daily = isLong(doc) ? dailyOf(doc) : doc;
    const at = ({ detail }) => (detail === 'day' ? daily : doc);
    root.append(
      el(
        'p',
        { class: 'lead' },
        'Allocated: assigned to a job. Busy: not loading or saving a checkpoint or restarting. Useful: work that was not lost.',
      ),
      zoomButtons(),
      figure({
        id: 'gpus-chart',
        title: 'GPUs',
        time: true,
        slider: true,
        height: 400,
        choices: [
          { name: 'by', label: 'Show', options: choicesOf(doc), value: 'whole' },
          {
            name: 'detail',
            label: 'Each point is',
            options: isLong(doc)
              ? [
                  ['day', 'a day'],
                  ['full', durationShort(doc.series.step_s)],
                ]
              : [['full', '']],
            value: isLong(doc) ? 'day' : 'full',
          },
        ],
        words: ({ by }) => wordsOf(doc, by),
        table: (state) => tableOf(at(state), state.by),
        draw: (look, { by, detail }) => ({
          legend: by === 'whole' ? lineLegend(look) : areaLegend(look),
          grid: grid({ bottom: 44 }),
          xAxis: timeAxis(doc, look),
          yAxis: valueAxis(look, 'GPUs', count),
          tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), amount) },
          series: by === 'whole' ? whole(at({ detail }), look) : stacked(at({ detail }), look, at({ detail }).series.by[by]),
        }),
      }),
    );
  },
};
