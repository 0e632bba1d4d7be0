// SPDX-License-Identifier: GPL-3.0-or-later
// Energy and carbon: the uses of the energy, the energy of each pool, and the power over time.
import { areaLegend, figure, grid, valueAxis } from '../chart.js';
import { el, facts, table } from '../dom.js';
import { amount, count, duration, orDash, share, usd } from '../format.js';
import { highest, line } from '../lines.js';
import { bucketText, clockOf, timeAxis } from '../time.js';
import { axisTip } from '../tip.js';

const USES = [
  ['jobs_kwh', 'jobs'],
  ['idle_kwh', 'idle GPUs'],
  ['transition_kwh', 'nodes that boot, wake or go to sleep'],
  ['down_kwh', 'nodes that sleep or are down'],
  ['other_kwh', 'other equipment'],
];

const kwh = (value) => `${amount(value)}\u00a0kWh`;
const kw = (value) => `${amount(value)}\u00a0kW`;
const known = (value, write) => (value === null || value === undefined ? null : write(value));

const useWords = (energy) =>
  USES.filter(([key]) => energy[key] > 0)
    .map(([key, words]) => `${share(energy[key] / energy.it_kwh)} ${words}`)
    .join(', ');

const budgetWords = (energy) =>
  known(energy.budget_kw, (budget) => `${kw(budget)}; jobs waited for it for ${duration(energy.budget_s ?? 0)}`);

const batteryWords = (battery) =>
  `charged ${kwh(battery.charged_kwh)}, discharged ${kwh(battery.discharged_kwh)}; ${kwh(battery.grid_kwh)} from the grid`;

const figuresOf = ({ energy, carbon, battery }) =>
  facts([
    ['Machines', `${kwh(energy.it_kwh)}: ${useWords(energy)}`],
    ['With cooling', `${kwh(energy.site_kwh)}${known(energy.pue, (pue) => `, PUE ${amount(pue)}`) ?? ''}`],
    ['Peak', kw(energy.peak_kw)],
    ['Power budget', budgetWords(energy)],
    ['Batteries', known(battery, batteryWords)],
    ['Suspended nodes', known(energy.sleeps, (n) => `${count(n)} times; woken ${count(energy.wakes ?? 0)} times`)],
    ['Carbon of the electricity', known(carbon?.operational_kg, (kg) => `${amount(kg)}\u00a0kg CO2e`)],
    ['Carbon of the hardware', known(carbon?.embodied_kg, (kg) => `${amount(kg)}\u00a0kg CO2e`)],
    ['Cost of the energy', known(carbon?.energy_usd, usd)],
    ['Water', known(carbon?.water_l, (litres) => `${amount(litres)}\u00a0l`)],
  ]);

const powerChart = (doc) => {
  const lists = [
    ['machines', doc.series.power_kw.mean, 'used', { area: 0.3 }],
    ['with cooling', doc.series.site_kw.mean, 'waiting', { type: 'dashed' }],
  ];
  const clock = clockOf(doc);
  return figure({
    id: 'energy-power',
    title: 'Power',
    time: true,
    height: 300,
    words: () => `Highest mean power of a time step: ${kw(highest(lists[0][1]))} for the machines, ${kw(highest(lists[1][1]))} with cooling.`,
    table: () => ({
      columns: [{ title: 'From' }, ...lists.map(([title]) => ({ title: `${title}, kW`, number: true }))],
      rows: lists[0][1].map((_, i) => [bucketText(doc, i), ...lists.map(([, list]) => amount(list[i] ?? 0))]),
    }),
    draw: (look) => ({
      legend: areaLegend(look),
      grid: grid(),
      xAxis: timeAxis(doc, look),
      yAxis: valueAxis(look, 'kW', amount),
      tooltip: { trigger: 'axis', formatter: axisTip((f) => clock.textAt(f.axisValue), kw) },
      series: lists.map(([name, list, , extra], i) => line(doc, name, list, look.hues[i], extra)),
    }),
  });
};

const poolTable = ({ energy, carbon }) => {
  const carbonOf = new Map((carbon?.by_pool ?? []).map((pool) => [pool.name, pool.operational_kg]));
  return table(
    'Energy by pool',
    [{ title: 'Pool' }, ...['kWh', 'with cooling', 'of jobs', 'peak kW', 'kg CO2e'].map((title) => ({ title, number: true }))],
    energy.by_pool.map((pool) => [
      pool.name,
      amount(pool.it_kwh),
      amount(pool.site_kwh),
      amount(pool.jobs_kwh),
      amount(pool.peak_kw),
      orDash(amount)(carbonOf.get(pool.name)),
    ]),
  );
};

export const energy = {
  id: 'energy',
  short: 'Energy',
  title: () => 'Energy and carbon',
  folded: true,
  has: (doc) => Boolean(doc.run?.energy),
  fill: (root, doc) => {
    root.append(el('p', { class: 'lead' }, `The machines used ${kwh(doc.run.energy.it_kwh)}, at most ${kw(doc.run.energy.peak_kw)} at once.`));
    root.append(figuresOf(doc.run));
    if (doc.series?.power_kw) root.append(powerChart(doc));
    if (doc.run.energy.by_pool?.length) root.append(poolTable(doc.run));
  },
};
