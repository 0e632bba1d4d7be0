// SPDX-License-Identifier: GPL-3.0-or-later
// Where waiting time went: by the reason that held jobs back.
import { figure, grid, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { amount, share } from '../format.js';
import { total } from '../lines.js';
import { axisTip } from '../tip.js';

const sorted = (list) => [...list].sort((a, b) => b.hours - a.hours);

const reasons = (list) => {
  const rows = sorted(list);
  const all = total(rows.map((row) => row.hours));
  return figure({
    id: 'why-chart',
    title: 'Hours of waiting, by reason',
    height: 60 + 34 * rows.length,
    words: () => rows.slice(0, 3).map((row) => `${row.words}: ${share(all ? row.hours / all : 0)}`).join('; '),
    table: () => ({ columns: [{ title: 'Reason' }, { title: 'job hours', number: true }, { title: 'GPU hours', number: true }], rows: rows.map((row) => [row.words, amount(row.hours), amount(row.gpu_hours ?? 0)]) }),
    draw: (look, _, narrow) => ({
      grid: grid({ top: 10, right: 40 }),
      xAxis: valueAxis(look, '', amount),
      yAxis: { type: 'category', inverse: true, data: rows.map((row) => row.words), axisLabel: { color: look.text, width: narrow ? 130 : 320, overflow: 'break' } },
      tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: axisTip((f) => f.name, (x) => `${amount(x)} h`) },
      series: [{ name: 'waiting', type: 'bar', color: look.waiting, data: rows.map((row) => row.hours) }],
    }),
  });
};

const groupTable = (title, list) =>
  table(title, [{ title }, { title: 'job hours', number: true }, { title: 'mostly' }], list.map((row) => [row.name || '(none)', amount(row.hours), row.words ?? '']));

export const why = {
  id: 'why',
  short: 'Why',
  title: () => 'Why jobs waited',
  has: (doc) => Boolean(doc.why?.by_reason?.length),
  fill: (root, doc) => {
    root.append(reasons(doc.why.by_reason));
    const groups = [['Tenant', doc.why.by_tenant], ['GPUs asked for', doc.why.by_size]].filter(([, list]) => list?.length);
    root.append(el('div', { class: 'pair' }, groups.map(([title, list]) => groupTable(title, list))));
  },
};
