// SPDX-License-Identifier: GPL-3.0-or-later
// The queue over time: waiting jobs, the GPUs that they request, and the waits of jobs that started.
import { durationSteps, figure, grid, legend, lineLegend, valueAxis } from '../chart.js';
import { el } from '../dom.js';
import { amount, count, duration, durationShort, orDash } from '../format.js';
import { highest, line } from '../lines.js';
import { bucketText, clockOf, points, timeAxis } from '../time.js';
import { axisTip } from '../tip.js';

const chart = (doc, look, write, lists, unit, short = write, steps = {}) => {
  const clock = clockOf(doc);
  return {
    legend: lineLegend(look),
    grid: grid(),
    xAxis: timeAxis(doc, look),
    yAxis: { ...valueAxis(look, unit, short), minInterval: 1, ...steps },
    tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), write) },
    series: lists,
  };
};

const bucketTable = (doc, lists, write) => ({
  columns: [{ title: 'From' }, ...lists.map(([title]) => ({ title, number: true }))],
  rows: lists[0][1].map((_, i) => [bucketText(doc, i), ...lists.map(([, list]) => orDash(write)(list[i]))]),
});

const lengthFigure = (doc) => {
  const of = (by) => doc.series[by === 'gpus' ? 'waiting_gpus' : 'waiting'];
  return figure({
    id: 'queue-chart',
    title: 'Queue length',
    time: true,
    height: 260,
    choices: [
      {
        name: 'by',
        label: 'Count',
        options: [['jobs', 'jobs'], ...(doc.series.waiting_gpus ? [['gpus', 'requested GPUs']] : [])],
        value: 'jobs',
      },
    ],
    words: ({ by }) =>
      `At most ${amount(highest(of(by).max))} ${by === 'gpus' ? 'GPUs requested by waiting jobs' : 'jobs waited'} at once, first about ${bucketText(doc, of(by).max.indexOf(highest(of(by).max)))}.`,
    table: ({ by }) =>
      bucketTable(
        doc,
        [
          ['waiting, mean', of(by).mean],
          ['maximum', of(by).max],
        ],
        amount,
      ),
    draw: (look, { by }) =>
      chart(
        doc,
        look,
        amount,
        [
          line(doc, 'waiting, mean', of(by).mean, look.waiting, { area: 0.25 }),
          line(doc, 'maximum', of(by).max, look.worst, { type: 'dotted', width: 1 }),
        ],
        by === 'gpus' ? 'GPUs' : 'jobs',
        count,
      ),
  });
};

const waitSeries = (doc, look) => {
  const { mean, max } = doc.series.wait_s;
  const longest = points(doc, max).filter(([, seconds]) => seconds > 0);
  return [
    { ...line(doc, 'mean', mean, look.busy), symbol: 'circle', symbolSize: 3, showSymbol: mean.length < 400 },
    { name: 'maximum', type: 'scatter', symbol: 'triangle', symbolSize: 4, color: look.worst, data: longest },
  ];
};

const waitFigure = (doc) => {
  const { wait_s: wait } = doc.series;
  return figure({
    id: 'wait-chart',
    title: 'Waits of started jobs',
    time: true,
    height: 260,
    words: () =>
      `The longest wait of a job was ${duration(highest(wait.max))}; it started about ${bucketText(doc, wait.max.indexOf(highest(wait.max)))}.`,
    table: () =>
      bucketTable(
        doc,
        [
          ['mean', wait.mean],
          ['maximum', wait.max],
        ],
        duration,
      ),
    draw: (look) => ({
      ...chart(doc, look, duration, waitSeries(doc, look), '', durationShort, durationSteps(highest(wait.max))),
      legend: legend(look),
    }),
  });
};

const noWaits = (id, title) =>
  el('figure', { id }, el('figcaption', {}, el('h3', {}, title)), el('p', { class: 'chart-words' }, 'No job waited.'));

export const queue = {
  id: 'queue',
  short: 'Queue',
  title: () => 'Queue and waiting time',
  folded: true,
  has: (doc) => Boolean(doc.series?.waiting),
  fill: (root, doc) => {
    const { waiting, wait_s: wait } = doc.series;
    root.append(
      el(
        'div',
        { class: 'pair' },
        highest(waiting.max) ? lengthFigure(doc) : noWaits('queue-chart', 'Queue length'),
        wait && (highest(wait.max) ? waitFigure(doc) : noWaits('wait-chart', 'Waits of started jobs')),
      ),
    );
  },
};
