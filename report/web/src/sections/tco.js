// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of ownership: what a useful GPU hour costs in each option, costs by part and by year, and break-even points.
import { figure, grid, legend, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { count, duration, orDash, share, usd, usdColumn, usdShort } from '../format.js';
import { hue } from '../palette.js';
import { axisTip } from '../tip.js';

const partsOf = (tco) =>
  Object.keys(tco.options[0].total.parts).filter((part) => tco.options.some((option) => option.total.parts[part]));

const interval = (write, { mean, low, high }) => {
  const text = orDash(write)(mean);
  const [from, to] = [orDash(write)(low), orDash(write)(high)];
  return low === null || from === to ? text : `${text} (${from} to ${to})`;
};

const card = (option, first) =>
  el(
    'div',
    { class: `card ${first ? 'first' : ''}`, 'data-option': option.name, 'data-value': String(option.usd_per_useful_gpu_hour.mean) },
    el('dt', {}, option.name),
    el('dd', { class: 'value' }, orDash(usd)(option.usd_per_useful_gpu_hour.mean)),
    el('dd', { class: 'note' }, `a useful GPU hour; ${orDash(usd)(option.usd_per_gpu_hour.mean)} a GPU hour`),
    el('dd', { class: 'note muted' }, `${orDash(usdShort)(option.npv_usd.mean)} net present value`),
    option.serves === false ? el('dd', { class: 'note' }, 'does not serve the demand') : null,
  );

const optionTable = (tco) => {
  const money = usdColumn(tco.options.flatMap((option) => [option.total_usd.mean, option.npv_usd.mean]));
  return table(
    'Options',
    [
      { title: 'Option' },
      { title: 'Kind' },
      { title: 'Availability', number: true },
      { title: 'ETTR', number: true },
      { title: 'Utilization', number: true },
      { title: 'Wait, p95', number: true },
      { title: `Paid in ${tco.tco.years} years`, number: true },
      { title: 'Net present value', number: true },
    ],
    tco.options.map((option) => [
      option.name,
      option.kind,
      `${orDash(share)(option.availability.mean)}${option.knows_failures ? '' : ' (assumed)'}`,
      orDash(share)(option.ettr.mean),
      orDash(share)(option.utilization.mean),
      orDash(duration)(option.wait_p95_s.median),
      orDash(money)(option.total_usd.mean),
      orDash(money)(option.npv_usd.mean),
    ]),
    'stacked',
  );
};

const byPart = (tco) => {
  const parts = partsOf(tco);
  const money = usdColumn(tco.options.map((option) => option.total.usd));
  return figure({
    id: 'tco-parts',
    title: `Cost of ${tco.tco.years} years by part`,
    height: 90 + 36 * tco.options.length,
    words: () => tco.options.map((option) => `${option.name}: ${money(option.total.usd)}`).join('; '),
    table: () => ({
      columns: [
        { title: 'Option' },
        ...parts.map((part) => ({ title: part, number: true })),
        { title: 'Sum', number: true },
      ],
      rows: tco.options.map((option) => [
        option.name,
        ...parts.map((part) => money(option.total.parts[part])),
        money(option.total.usd),
      ]),
    }),
    draw: (look) => ({
      legend: legend(look),
      grid: grid({ left: 110, right: 30 }),
      xAxis: valueAxis(look, '', usdShort),
      yAxis: {
        type: 'category',
        inverse: true,
        data: tco.options.map((option) => option.name),
        axisLabel: { color: look.text, width: 100, overflow: 'truncate' },
        axisLine: { lineStyle: { color: look.muted } },
      },
      tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: axisTip((f) => f.name, usd) },
      series: parts.map((part, i) => ({
        name: part,
        type: 'bar',
        stack: 'all',
        color: hue(look, i, part),
        data: tco.options.map((option) => option.total.parts[part]),
      })),
    }),
  });
};

const byYear = (tco) => {
  const money = usdColumn(tco.options.flatMap((option) => option.by_year.map((year) => year.usd)));
  const years = tco.options[0].by_year.map(({ year }) => `year ${year}`);
  return figure({
    id: 'tco-years',
    title: 'Cost of each year',
    height: 300,
    words: () =>
      `With amortized purchases. In year ${years.length}: ${tco.options
        .map((option) => `${option.name} ${money(option.by_year.at(-1).usd)}`)
        .join(', ')}.`,
    table: () => ({
      columns: [{ title: 'Year' }, ...tco.options.map(({ name }) => ({ title: name, number: true }))],
      rows: years.map((year, i) => [year, ...tco.options.map((option) => money(option.by_year[i].usd))]),
    }),
    draw: (look) => ({
      legend: legend(look),
      grid: grid(),
      xAxis: {
        type: 'category',
        data: years,
        axisLabel: { color: look.text },
        axisLine: { lineStyle: { color: look.muted } },
      },
      yAxis: valueAxis(look, 'dollars', usdShort),
      tooltip: { trigger: 'axis', formatter: axisTip((f) => f.name, usd) },
      series: tco.options.map((option, i) => ({
        name: option.name,
        type: 'line',
        color: hue(look, i, option.name),
        lineStyle: { type: ['solid', 'dashed', 'dotted'][i % 3] },
        data: option.by_year.map((year) => year.usd),
      })),
    }),
  });
};

const breakEven = (tco) =>
  table(
    'Break-even points',
    [
      { title: 'Costs less' },
      { title: 'than' },
      { title: 'above utilization', number: true },
      { title: 'after hours', number: true },
    ],
    tco.break_even.map((pair) => [
      pair.option,
      pair.other,
      pair.utilization.mean === null ? 'never' : interval(share, pair.utilization),
      interval(count, pair.hours),
    ]),
  );

// The cheapest of the options that serve the demand.
const cheapest = (tco) =>
  tco.options.reduce((best, option) => {
    const value = option.usd_per_useful_gpu_hour.mean;
    return option.serves !== false && value !== null && (!best || value < best.usd_per_useful_gpu_hour.mean) ? option : best;
  }, null);

export const tco = {
  id: 'tco',
  short: 'Cost of ownership',
  title: () => 'Cost of a useful GPU hour',
  has: (doc) => Boolean(doc.tco?.options?.length),
  fill: (root, { tco: doc }) => {
    const best = cheapest(doc);
    root.append(
      el(
        'p',
        { class: 'lead' },
        'A useful GPU hour costs the amortized cost / (GPU hours x availability x utilization x ETTR).',
      ),
      el('dl', { class: 'cards' }, doc.options.map((option) => card(option, option === best))),
      optionTable(doc),
      byPart(doc),
      byYear(doc),
    );
    if (doc.break_even.length) root.append(breakEven(doc));
  },
};
