// SPDX-License-Identifier: GPL-3.0-or-later
// Waiting time by reason. `doc.why` is the output of `why --json` for all jobs; `doc.wait_reasons` has the words of
// each reason, which complete the sentence "a job waits ...".
import { figure, grid, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { amount, count, share } from '../format.js';
import { total } from '../lines.js';
import { axisTip } from '../tip.js';

const hours = (row) => row.wait_s / 3600;

const reasons = (list, wordsOf) => {
  const rows = [...list].sort((a, b) => b.wait_s - a.wait_s);
  const all = total(rows.map(hours));
  return figure({
    id: 'why-chart',
    title: 'Waiting hours by reason',
    height: 60 + 44 * rows.length,
    words: () =>
      `Of the waiting time, ${rows
        .slice(0, 3)
        .map((row) => `${share(all ? hours(row) / all : 0)} was ${wordsOf(row.reason)}`)
        .join('; ')}.`,
    table: () => ({
      columns: [
        { title: 'Jobs waited' },
        { title: 'jobs', number: true },
        { title: 'job hours', number: true },
        { title: 'GPU hours requested', number: true },
      ],
      rows: rows.map((row) => [
        wordsOf(row.reason),
        count(row.jobs ?? 0),
        amount(hours(row)),
        amount(row.gpu_hours ?? 0),
      ]),
    }),
    draw: (look, _, narrow) => ({
      grid: grid({ top: 10, right: 40 }),
      xAxis: valueAxis(look, '', amount),
      yAxis: {
        type: 'category',
        inverse: true,
        data: rows.map((row) => wordsOf(row.reason)),
        axisLabel: { color: look.text, width: narrow ? 130 : 320, overflow: 'break', lineHeight: 14 },
      },
      tooltip: {
        trigger: 'axis',
        axisPointer: { type: 'shadow' },
        formatter: axisTip(
          (f) => f.name,
          (x) => `${amount(x)} h`,
        ),
      },
      series: [{ name: 'waiting', type: 'bar', color: look.waiting, data: rows.map(hours), barMaxWidth: 24 }],
    }),
  });
};

const mainReason = (row, wordsOf) => {
  const [first] = [...(row.reasons ?? [])].sort((a, b) => b.wait_s - a.wait_s);
  return first ? `${wordsOf(first.reason)} (${share(row.wait_s ? first.wait_s / row.wait_s : 0)})` : '';
};

const groupTable = (title, key, list, wordsOf) =>
  table(
    `Waiting by ${key === 'gpus' ? 'GPUs requested' : key}`,
    [{ title }, { title: 'jobs', number: true }, { title: 'job hours', number: true }, { title: 'main reason' }],
    list.map((row) => [row[key] || '(none)', count(row.jobs ?? 0), amount(hours(row)), mainReason(row, wordsOf)]),
  );

export const why = {
  id: 'why',
  short: 'Why',
  title: () => 'Why jobs waited',
  folded: true,
  has: (doc) => Boolean(doc.why?.waited?.reasons?.length),
  fill: (root, doc) => {
    const wordsOf = (reason) => doc.wait_reasons?.[reason] ?? reason;
    root.append(reasons(doc.why.waited.reasons, wordsOf));
    const groups = [
      ['Tenant', 'tenant', doc.why.by_tenant],
      ['GPUs requested', 'gpus', doc.why.by_size],
    ].filter(([, , list]) => list?.length);
    root.append(
      el(
        'div',
        { class: 'pair' },
        groups.map((group) => groupTable(...group, wordsOf)),
      ),
    );
  },
};
