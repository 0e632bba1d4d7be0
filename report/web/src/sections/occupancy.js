// SPDX-License-Identifier: GPL-3.0-or-later
// The heat map of nodes over time. Each cell is the share of allocated GPUs of a node or, if there are many nodes, of
// several nodes.
import { block } from '../data.js';
import { figure, grid } from '../chart.js';
import { el } from '../dom.js';
import { share } from '../format.js';
import { clockOf, timeAxis } from '../time.js';
import { tip } from '../tip.js';

const ROOMY = 36;

// The height of the map in pixels, or of one row if `each` is true. If there are many rows, each row is thin, and only
// some rows are labelled.
const heightOf = (rows, each) => {
  const row = rows > ROOMY ? Math.max(2.5, Math.min(8, 560 / rows)) : 16;
  return each ? row : rows * row;
};

const rowName = ({ pool, first_node: first, nodes }) =>
  nodes > 1 ? `${pool} ${first}–${first + nodes - 1}` : `${pool} ${first}`;

const cellsOf = (bytes, columns) => Array.from(bytes, (held, i) => [i % columns, Math.floor(i / columns), held]);

const option = (doc, cells) => (look) => {
  const { rows, columns, begin_s: begin, step_s: step } = doc.occupancy;
  const clock = clockOf(doc);
  const low = rows.length > ROOMY;
  const when = (column) => clock.text(begin + column * step);
  const bare = { axisTick: { show: false }, splitLine: { show: false }, axisLine: { lineStyle: { color: look.line } } };
  return {
    // Patterns are disabled, because cells differ in brightness only.
    aria: { enabled: false },
    grid: grid({ top: 40, right: 8 }),
    // Cells use a category axis of columns; a second axis below shows the time.
    xAxis: [
      { type: 'category', data: Array.from({ length: columns }, (_, i) => i), show: false },
      { ...timeAxis(doc, look), min: clock.ms(begin), max: clock.ms(begin + columns * step), position: 'bottom' },
    ],
    yAxis: {
      type: 'category',
      inverse: true,
      data: rows.map(rowName),
      axisLabel: {
        color: look.muted,
        interval: low ? Math.ceil(14 / heightOf(rows.length, true)) - 1 : 0,
        width: 110,
        overflow: 'truncate',
      },
      ...bare,
    },
    visualMap: {
      type: 'continuous',
      min: 0,
      max: 255,
      orient: 'horizontal',
      top: 0,
      left: 0,
      itemHeight: 120,
      itemWidth: 12,
      text: ['all allocated', 'idle'],
      textStyle: { color: look.text },
      inRange: { color: look.ramp },
      calculable: false,
      hoverLink: false,
    },
    tooltip: {
      trigger: 'item',
      formatter: ({ value: [column, row, held], color }) =>
        tip(`${rowName(rows[row])}, ${when(column)}`, [[color, 'GPUs allocated', share(held / 255)]]),
    },
    series: [{ type: 'heatmap', data: cells, progressive: 0, animation: false, emphasis: { disabled: true } }],
  };
};

const idleRows = (bytes, doc) => {
  const { rows, columns } = doc.occupancy;
  return rows
    .map((row, r) => ({
      row,
      held: bytes.subarray(r * columns, (r + 1) * columns).reduce((sum, x) => sum + x, 0) / columns / 255,
    }))
    .sort((a, b) => a.held - b.held);
};

const mapFigure = (doc, bytes) => {
  const cells = cellsOf(bytes, doc.occupancy.columns);
  const idlest = idleRows(bytes, doc);
  return figure({
    id: 'occupancy-chart',
    title: 'Nodes by time',
    time: true,
    height: 90 + heightOf(doc.occupancy.rows.length, false),
    words: () =>
      `Least used: ${idlest
        .slice(0, 3)
        .map(({ row, held }) => `${rowName(row)} (${share(held)})`)
        .join(', ')}; most used: ${idlest
        .slice(-1)
        .map(({ row, held }) => `${rowName(row)} (${share(held)})`)
        .join('')}.`,
    table: () => ({
      columns: [{ title: 'Nodes' }, { title: 'allocated GPU time', number: true }],
      rows: idlest.map(({ row, held }) => [rowName(row), share(held)]),
    }),
    draw: option(doc, cells),
  });
};

export const occupancy = {
  id: 'occupancy',
  short: 'Nodes',
  title: () => 'Node occupancy over time',
  folded: true,
  has: (doc) => Boolean(doc.occupancy?.rows?.length),
  fill: (root, doc) => {
    root.append(
      el(
        'p',
        { class: 'lead' },
        'Each row is a node, or a few adjacent nodes in large clusters; each cell is the share of its GPUs that was allocated.',
      ),
    );
    block(doc.occupancy.block).then((buffer) => root.append(mapFigure(doc, new Uint8Array(buffer))));
  },
};
