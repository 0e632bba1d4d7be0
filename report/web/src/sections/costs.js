// SPDX-License-Identifier: GPL-3.0-or-later
// Costs over time, by tenant and by market. Idle capacity is hatched in grey in every chart.
import { el, table } from '../dom.js';
import { areaLegend, figure, grid, legend, valueAxis } from '../chart.js';
import { amount, share, usd, usdColumn, usdShort } from '../format.js';
import { line, total } from '../lines.js';
import { hatched, hue } from '../palette.js';
import { bucketText, clockOf, timeAxis, widthOf } from '../time.js';
import { axisTip } from '../tip.js';

const idleStyle = (look) => ({ color: look.idle, decal: hatched(look) });

const listsOf = (cost, by) => {
  if (by === 'use')
    return [
      { name: 'used', usd: cost.used },
      { name: 'idle', usd: cost.idle },
      ...(cost.other ? [{ name: 'services', usd: cost.other }] : []),
    ];
  return (cost[by] ?? []).map((group) => ({ name: group.name || '(none)', usd: group.usd }));
};

// Returns one value for each bucket: the dollars per hour if the view is 'rate', otherwise the cumulative dollars at
// the end of the bucket.
const shaped = (doc, list, view) => {
  if (view === 'rate') return list.map((x, i) => (widthOf(doc, i) ? (x * 3600) / widthOf(doc, i) : 0));
  let sum = 0;
  return list.map((x) => (sum += x));
};

const isIdle = (name) => name === 'idle' || name === '(idle)';

const afterWords = ({ after_usd: after }) =>
  after ? `${usd(after)} more are due after the run, for reservations that last longer than the run. ` : '';

const overTime = (doc) => {
  const { cost } = doc.series;
  const clock = clockOf(doc);
  const by = [
    ['use', 'used and idle'],
    ['by_market', 'by market'],
    ['by_tenant', 'by tenant'],
  ].filter(([key]) => key === 'use' || cost[key]?.length);
  return figure({
    id: 'cost-chart',
    title: 'Cost over time',
    time: true,
    height: 320,
    choices: [
      { name: 'by', label: 'Show', options: by, value: 'use' },
      {
        name: 'view',
        label: 'As',
        options: [
          ['sum', 'cumulative cost'],
          ['rate', 'cost per hour'],
        ],
        value: 'sum',
      },
    ],
    words: ({ by: key }) =>
      afterWords(cost) +
      listsOf(cost, key)
        .slice(0, 5)
        .map(({ name, usd: list }) => `${name}: ${usd(total(list))}`)
        .join(', '),
    table: ({ by: key, view }) => {
      const lists = listsOf(cost, key)
        .map(({ name, usd: list }) => [name, shaped(doc, list, view)])
        .map(([name, list]) => [name, list, usdColumn(list)]);
      return {
        columns: [{ title: 'From' }, ...lists.map(([title]) => ({ title, number: true }))],
        rows: cost.used.map((_, i) => [bucketText(doc, i), ...lists.map(([, list, money]) => money(list[i]))]),
      };
    },
    draw: (look, { by: key, view }) => ({
      legend: areaLegend(look),
      grid: grid(),
      xAxis: timeAxis(doc, look),
      yAxis: valueAxis(look, view === 'rate' ? 'dollars per hour' : 'dollars', usdShort),
      tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), usd) },
      series: listsOf(cost, key).map(({ name, usd: list }, i) => {
        const idle = isIdle(name);
        return line(doc, name, shaped(doc, list, view), idle ? look.idle : hue(look, i, name), {
          area: 0.8,
          stack: 'all',
          width: 0.5,
          style: idle ? idleStyle(look) : null,
        });
      }),
    }),
  });
};

const sortedTenants = (cells) => {
  const sums = new Map();
  for (const cell of cells) sums.set(cell.tenant, (sums.get(cell.tenant) ?? 0) + cell.usd);
  return [...sums].sort((a, b) => b[1] - a[1]);
};

// Rows of the chart: tenants, most expensive first; then idle and shared costs.
const rowsOf = ({ cells, idle, shared_usd: shared }) => [
  ...sortedTenants(cells).map(([tenant, sum]) => ({
    name: tenant || '(no tenant)',
    sum,
    of: (market) => total(cells.filter((c) => c.tenant === tenant && c.market === market).map((c) => c.usd)),
  })),
  {
    name: 'idle',
    idle: true,
    sum: total(idle.map((c) => c.usd)),
    of: (market) => total(idle.filter((c) => c.market === market).map((c) => c.usd)),
  },
  ...(shared ? [{ name: 'shared', sum: shared, of: () => 0, shared }] : []),
];

const barSeries = (look, rows, markets) => [
  ...markets.map((market, m) => ({
    name: market,
    type: 'bar',
    stack: 'all',
    color: hue(look, m, market),
    data: rows.map((row) => ({ value: row.of(market), itemStyle: row.idle ? idleStyle(look) : {} })),
  })),
  ...(rows.some((row) => row.shared)
    ? [{ name: 'shared', type: 'bar', stack: 'all', color: look.others, data: rows.map((row) => row.shared ?? 0) }]
    : []),
];

const byTenant = (costs) => {
  const rows = rowsOf(costs);
  const markets = [...new Set([...costs.cells, ...costs.idle].map((c) => c.market))];
  const all = total(rows.map((row) => row.sum));
  const idle = rows.find((row) => row.idle).sum;
  return figure({
    id: 'tenants-chart',
    title: 'By tenant and market',
    height: 90 + 30 * rows.length,
    words: () => `Of ${usd(all)}, ${usd(idle)} (${share(all ? idle / all : 0)}) paid for idle GPUs.`,
    draw: (look) => ({
      legend: legend(look),
      grid: grid({ top: 40 }),
      xAxis: valueAxis(look, '', usdShort),
      yAxis: {
        type: 'category',
        inverse: true,
        data: rows.map((row) => row.name),
        axisLabel: { color: look.text, width: 120, overflow: 'truncate' },
        axisLine: { lineStyle: { color: look.line } },
      },
      tooltip: {
        trigger: 'axis',
        axisPointer: { type: 'shadow' },
        formatter: axisTip(
          (f) => f.name,
          (x) => (x ? usd(x) : '–'),
        ),
      },
      series: barSeries(look, rows, markets),
    }),
  });
};

const costTable = (costs) => {
  const rows = rowsOf(costs);
  const markets = [...new Set([...costs.cells, ...costs.idle].map((c) => c.market))];
  const all = total(rows.map((row) => row.sum));
  const money = usdColumn([all]);
  const dash = (x) => (x ? money(x) : '–');
  return table(
    'Cost by tenant and market',
    [
      { title: 'Tenant' },
      ...markets.map((title) => ({ title, number: true })),
      { title: 'Total', number: true },
      { title: 'Share', number: true },
    ],
    [
      ...rows.map((row) => [
        row.name,
        ...markets.map((market) => dash(row.of(market))),
        money(row.sum),
        all ? share(row.sum / all) : '–',
      ]),
      ['all', ...markets.map((market) => money(total(rows.map((row) => row.of(market))))), money(all), ''],
    ],
    'whole stacked',
  );
};

const budgetTable = (budgets) => {
  const money = usdColumn(budgets.flatMap((b) => [b.budget_usd, b.spent_usd]));
  return table(
    'Budgets',
    [
      { title: 'Tenant' },
      { title: 'Month', number: true },
      { title: 'Budget', number: true },
      { title: 'Spent', number: true },
      { title: '' },
    ],
    budgets.map((b) => [
      b.tenant,
      String(b.month + 1),
      money(b.budget_usd),
      money(b.spent_usd),
      b.over ? el('span', { class: 'bad' }, `over by ${money(b.spent_usd - b.budget_usd)}`) : 'within budget',
    ]),
  );
};

const hours = (costs) => total(costs.idle.map((c) => c.gpu_hours));

export const costs = {
  id: 'costs',
  short: 'Costs',
  title: () => 'Costs',
  has: (doc) => Boolean(doc.series?.cost || doc.costs),
  fill: (root, doc) => {
    const { cost } = doc.run ?? {};
    if (cost)
      root.append(
        el(
          'p',
          { class: 'lead' },
          `${usd(cost.total_usd)} in total, of which ${usd(cost.idle_usd)} for idle GPUs${doc.costs ? ` (${amount(hours(doc.costs))} GPU hours)` : ''}${cost.shared_usd ? ` and ${usd(cost.shared_usd)} shared` : ''}.`,
        ),
      );
    if (doc.series?.cost) root.append(overTime(doc));
    if (doc.costs) root.append(byTenant(doc.costs), costTable(doc.costs));
    if (doc.run?.budgets?.length) root.append(el('h3', {}, 'Budgets'), budgetTable(doc.run.budgets));
  },
};
