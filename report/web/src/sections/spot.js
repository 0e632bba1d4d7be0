// SPDX-License-Identifier: GPL-3.0-or-later
// The spot market: nodes offered and nodes up, reclaims, and lost work.
import { figure, grid, legend, lineLegend, valueAxis } from '../chart.js';
import { el } from '../dom.js';
import { amount, count, share, things } from '../format.js';
import { highest, line, total } from '../lines.js';
import { bucketText, clockOf, points, timeAxis } from '../time.js';
import { axisTip } from '../tip.js';

// Adds lists element by element. The maxima of pools may occur at different times, so a sum of maxima is an upper
// bound.
const added = (lists) => (lists[0] ?? []).map((_, i) => lists.reduce((sum, list) => sum + (list?.[i] ?? 0), 0));

const poolOf = (pools, name) =>
  name === 'all'
    ? {
        offered: added(pools.map((p) => p.offered)),
        offered_max: added(pools.map((p) => p.offered_max)),
        up: added(pools.map((p) => p.up)),
        up_max: added(pools.map((p) => p.up_max)),
        reclaims: added(pools.map((p) => p.reclaims)),
        interrupted: added(pools.map((p) => p.interrupted)),
      }
    : pools.find((p) => p.pool === name);

const over = (doc, look, unit) => {
  const clock = clockOf(doc);
  return {
    legend: legend(look),
    grid: grid(),
    xAxis: timeAxis(doc, look),
    yAxis: { ...valueAxis(look, unit, amount), ...(unit === 'GPU hours' ? {} : { minInterval: 1 }) },
    tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), amount) },
  };
};

const bars = (doc, name, list, colour, extra = {}) => ({
  name,
  type: 'bar',
  data: points(doc, list),
  color: colour,
  barMinWidth: 2,
  ...extra,
});

const marks = (doc, name, list, colour) => ({
  name,
  type: 'scatter',
  symbol: 'triangle',
  symbolSize: 7,
  color: colour,
  data: points(doc, list).filter(([, n]) => n > 0),
});

// True if offered nodes were recorded for the pool.
const isKnown = ({ offered }) => Boolean(offered && highest(offered));

const upWords = (pool) =>
  `At most ${things(highest(pool.up_max), 'node')} ${highest(pool.up_max) === 1 ? 'was' : 'were'} up${isKnown(pool) ? `; ${count(highest(pool.offered_max))} were offered at most` : ''}.`;

const capacity = (doc, pools) =>
  figure({
    id: 'spot-chart',
    title: 'Spot nodes',
    time: true,
    height: 300,
    choices: [
      {
        name: 'pool',
        label: 'Pool',
        options: [['all', 'all spot pools'], ...pools.map((p) => [p.pool, p.pool])].slice(pools.length > 1 ? 0 : 1),
        value: pools.length > 1 ? 'all' : pools[0].pool,
      },
    ],
    words: ({ pool }) => upWords(poolOf(pools, pool)),
    table: ({ pool }) => {
      const { offered, offered_max: best, up, up_max: peak, reclaims, interrupted } = poolOf(pools, pool);
      return {
        columns: [
          { title: 'From' },
          ...['offered', 'offered, maximum', 'up', 'up, maximum', 'reclaims', 'interrupted jobs'].map((title) => ({ title, number: true })),
        ],
        rows: up.map((_, i) => [
          bucketText(doc, i),
          ...[offered, best, up, peak, reclaims, interrupted].map((list) => amount(list?.[i] ?? 0)),
        ]),
      };
    },
    draw: (look, { pool }) => ({
      ...over(doc, look, 'nodes'),
      legend: lineLegend(look),
      series: [
        ...(isKnown(poolOf(pools, pool))
          ? [line(doc, 'offered', poolOf(pools, pool).offered, look.muted, { type: 'dashed' })]
          : []),
        line(doc, 'up', poolOf(pools, pool).up, look.busy, { area: 0.3 }),
        line(doc, 'up, peak', poolOf(pools, pool).up_max, look.busy, { width: 1, type: 'dotted', z: 3 }),
      ],
    }),
  });

const losses = (doc, pools) => {
  const { reclaims, interrupted } = poolOf(pools, 'all');
  const lost = doc.series.lost_gpu_hours;
  return figure({
    id: 'reclaims-chart',
    title: 'Reclaims and lost work',
    time: true,
    height: 300,
    choices: [
      {
        name: 'what',
        label: 'Show',
        options: [['reclaims', 'reclaims'], ...(lost ? [['lost', 'GPU hours of lost work']] : [])],
        value: 'reclaims',
      },
    ],
    words: () =>
      `${things(total(reclaims), 'reclaim')}, ${things(total(interrupted), 'job interruption')}${lost ? `, ${amount(total(lost))} GPU hours of work lost` : ''}.`,
    table: () => ({
      columns: [{ title: 'From' }, { title: 'reclaims', number: true }, { title: 'lost GPU hours', number: true }],
      rows: reclaims
        .map((n, i) => [n, lost?.[i] ?? 0, i])
        .filter(([n, h]) => n || h)
        .map(([n, h, i]) => [bucketText(doc, i), count(n), amount(h)]),
    }),
    draw: (look, { what }) => ({
      ...over(doc, look, what === 'lost' ? 'GPU hours' : 'reclaims'),
      series:
        what === 'lost'
          ? [bars(doc, 'lost work', lost, look.lost)]
          : [bars(doc, 'reclaims', reclaims, look.busy), marks(doc, 'job interruptions', interrupted, look.worst)],
    }),
  });
};

export const spot = {
  id: 'spot',
  short: 'Spot',
  title: () => 'Spot capacity',
  folded: true,
  has: (doc) => Boolean(doc.series?.spot?.length),
  fill: (root, doc) => {
    const { spot: figures, goodput } = doc.run ?? {};
    if (figures?.availability !== undefined && figures?.availability !== null)
      root.append(
        el(
          'p',
          { class: 'lead' },
          `Spot nodes were available ${share(figures.availability)} of the time${goodput?.fraction ? `; ${share(goodput.fraction)} of the allocated GPU time was useful work` : ''}.`,
        ),
      );
    root.append(el('div', { class: 'pair' }, capacity(doc, doc.series.spot), losses(doc, doc.series.spot)));
  },
};
