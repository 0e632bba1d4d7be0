// SPDX-License-Identifier: GPL-3.0-or-later
// The number of idle GPUs that typical tasks cannot use, over time.
import { areaLegend, figure, grid, valueAxis } from '../chart.js';
import { el } from '../dom.js';
import { amount, count, share } from '../format.js';
import { highest, line } from '../lines.js';
import { bucketText, clockOf, timeAxis } from '../time.js';
import { axisTip } from '../tip.js';

const listsOf = ({ fragmented, stranded, capacity, allocated }) =>
  [
    ['idle', capacity.mean.map((x, i) => Math.max(0, x - allocated.mean[i])), 'idle', { area: 0.3, width: 0.5 }],
    ['fragmented', fragmented?.mean, 'waiting', { area: 0.4 }],
    ['stranded', stranded?.mean, 'lost', { type: 'dashed' }],
  ].filter(([, list]) => list);

export const fragmentation = {
  id: 'fragmentation',
  short: 'Fragments',
  title: () => 'Fragmentation',
  folded: true,
  has: (doc) => Boolean(doc.series?.fragmented || doc.series?.stranded),
  fill: (root, doc) => {
    const lists = listsOf(doc.series);
    const clock = clockOf(doc);
    const figures = doc.run?.fragmentation;
    root.append(
      el(
        'p',
        { class: 'lead' },
        `Fragmented: idle, but too small for a typical task. Stranded: idle on nodes without enough free CPU or memory.${figures ? ` ${share(figures.makespan ?? 0)} of the GPUs were fragmented on average, ${share(figures.max ?? 0)} at most.` : ''}`,
      ),
      figure({
        id: 'fragmentation-chart',
        title: 'Unusable idle GPUs',
        time: true,
        height: 300,
        words: () => `Maximum: ${lists.map(([name, list]) => `${amount(highest(list))} ${name}`).join(', ')} GPUs.`,
        table: () => ({
          columns: [{ title: 'From' }, ...lists.map(([title]) => ({ title, number: true }))],
          rows: lists[0][1].map((_, i) => [bucketText(doc, i), ...lists.map(([, list]) => amount(list[i] ?? 0))]),
        }),
        draw: (look) => ({
          legend: areaLegend(look),
          grid: grid(),
          xAxis: timeAxis(doc, look),
          yAxis: valueAxis(look, 'GPUs', count),
          tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), amount) },
          series: lists.map(([name, list, colour, extra]) => line(doc, name, list, look[colour], extra)),
        }),
      }),
    );
  },
};
