// SPDX-License-Identifier: GPL-3.0-or-later
// Where waiting time went: by the reason that held jobs back. `doc.why` is what `why --json` writes of all jobs.
import { figure, grid, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { amount, count, share } from '../format.js';
import { total } from '../lines.js';
import { axisTip } from '../tip.js';

// As include/headroom/policy.h words them: a job waits ...
const WORDS = {
  policy: 'for a reason that the policy does not tell',
  capacity: 'for free GPUs',
  fragments: 'for a place: enough GPUs were free, but scattered',
  'node-resources': 'for CPU or memory of nodes that had free GPUs',
  topology: 'for a place near together',
  order: 'behind others in the queue that nobody may pass',
  reservation: 'behind the reservations of others in the queue',
  quota: 'for room in a quota',
  preemption: 'for jobs that were told to leave',
  booting: 'for nodes that were booting',
  market: 'for the market rule to ask for nodes',
  turn: 'for a turn',
};

const wordsOf = (reason) => WORDS[reason] ?? reason;
const hours = (row) => row.wait_s / 3600;

const reasons = (list) => {
  const rows = [...list].sort((a, b) => b.wait_s - a.wait_s);
  const all = total(rows.map(hours));
  return figure({
    id: 'why-chart',
    title: 'Hours of waiting, by reason',
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
        { title: 'GPU hours asked for', number: true },
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

const mostly = (row) => {
  const [first] = [...(row.reasons ?? [])].sort((a, b) => b.wait_s - a.wait_s);
  return first ? `${wordsOf(first.reason)} (${share(row.wait_s ? first.wait_s / row.wait_s : 0)})` : '';
};

const groupTable = (title, key, list) =>
  table(
    `Waiting by ${title.toLowerCase()}`,
    [{ title }, { title: 'jobs', number: true }, { title: 'job hours', number: true }, { title: 'mostly' }],
    list.map((row) => [row[key] || '(none)', count(row.jobs ?? 0), amount(hours(row)), mostly(row)]),
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
      ['GPUs asked for', 'gpus', doc.why.by_size],
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
