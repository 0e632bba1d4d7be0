// SPDX-License-Identifier: GPL-3.0-or-later
// Waiting time by reason. `doc.why` is the output of `why --json` for all jobs.
import { figure, grid, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { amount, count, share } from '../format.js';
import { total } from '../lines.js';
import { axisTip } from '../tip.js';

// As worded in include/headroom/wait_reason.h: a job waits ...
const WORDS = {
  policy: 'for a reason that the policy does not report',
  capacity: 'for free GPUs',
  fragments: 'for unfragmented GPUs: enough were free, but scattered',
  'node-resources': 'for CPU or memory on nodes with free GPUs',
  topology: 'for nodes close to each other',
  order: 'behind jobs in the queue that may not be overtaken',
  reservation: 'behind reservations of jobs in the queue',
  quota: 'for a quota',
  preemption: 'for preempted jobs to vacate their GPUs',
  booting: 'for nodes to boot',
  market: 'for the market rule to acquire nodes',
  turn: 'for its turn',
};

const wordsOf = (reason) => WORDS[reason] ?? reason;
const hours = (row) => row.wait_s / 3600;

const reasons = (list) => {
  const rows = [...list].sort((a, b) => b.wait_s - a.wait_s);
  const all = total(rows.map(hours));
  return figure({
    id: 'why-chart',
    title: 'Waiting hours by reason',
    height: 60 + 34 * rows.length,
    words: () =>
      `Jobs waited ${rows
        .slice(0, 3)
        .map((row) => `${wordsOf(row.reason)}: ${share(all ? hours(row) / all : 0)}`)
        .join('; ')} of the time.`,
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
        axisLabel: { color: look.text, width: narrow ? 130 : 320, overflow: 'break' },
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

const mainReason = (row) => {
  const [first] = [...(row.reasons ?? [])].sort((a, b) => b.wait_s - a.wait_s);
  return first ? `${wordsOf(first.reason)} (${share(row.wait_s ? first.wait_s / row.wait_s : 0)})` : '';
};

const groupTable = (title, key, list) =>
  table(
    `Waiting by ${title.toLowerCase()}`,
    [{ title }, { title: 'jobs', number: true }, { title: 'job hours', number: true }, { title: 'main reason' }],
    list.map((row) => [row[key] || '(none)', count(row.jobs ?? 0), amount(hours(row)), mainReason(row)]),
  );

export const why = {
  id: 'why',
  short: 'Why',
  title: () => 'Why jobs waited',
  has: (doc) => Boolean(doc.why?.waited?.reasons?.length),
  fill: (root, doc) => {
    root.append(reasons(doc.why.waited.reasons));
    const groups = [
      ['Tenant', 'tenant', doc.why.by_tenant],
      ['GPUs requested', 'gpus', doc.why.by_size],
    ].filter(([, , list]) => list?.length);
    root.append(
      el(
        'div',
        { class: 'pair' },
        groups.map((group) => groupTable(...group)),
      ),
    );
  },
};
