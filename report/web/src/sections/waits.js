// SPDX-License-Identifier: GPL-3.0-or-later
// Distribution of waits, of all jobs or by size, class or tenant, and its tail.
import { figure, grid, legend, valueAxis } from '../chart.js';
import { count, duration, durationShort, orDash, share } from '../format.js';
import { hue } from '../palette.js';
import { axisTip } from '../tip.js';
import { el, table } from '../dom.js';

const MAX_GROUPS = 8;
const WORDS = { by_size: 'by GPUs requested', by_class: 'by class', by_tenant: 'by tenant' };

const sum = (list) => list.reduce((a, b) => a + b, 0);

// Removes the bins after the longest wait.
const trimmed = (dist) => {
  const last = dist.all.findLastIndex((n) => n > 0);
  const cut = (group) => ({ ...group, counts: group.counts.slice(0, last + 1) });
  const lists = ['by_size', 'by_class', 'by_tenant'].map((key) => [key, dist[key]?.map(cut)]);
  return { ...dist, all: dist.all.slice(0, last + 1), ...Object.fromEntries(lists) };
};

const groupsOf = (dist, by) => {
  if (by === 'all') return [{ name: 'all jobs', counts: dist.all }];
  return [...dist[by]]
    .sort((a, b) => sum(b.counts) - sum(a.counts))
    .slice(0, MAX_GROUPS)
    .map((group) => ({ ...group, name: group.name || '(none)' }));
};

const bins = ({ edges_s: edges, all }) =>
  all.map((_, i) =>
    i === 0
      ? 'no wait'
      : `${durationShort(edges[i])} – ${edges[i + 1] === undefined ? 'more' : durationShort(edges[i + 1])}`,
  );

// For each bin, the share of jobs with waits in this bin or a later one. This curve shows the tail of the distribution.
const atLeast = (counts) => {
  const total = sum(counts) || 1;
  let left = total;
  return counts.map((n) => {
    const part = left / total;
    left -= n;
    return part;
  });
};

// Returns the bins of all started jobs, or only of the jobs that waited. The first bin has the jobs that did not wait.
const inView = (list, view) => (view === 'waited' ? list.slice(1) : list);
const shares = (counts, view) => {
  const of = inView(counts, view);
  const total = sum(of) || 1;
  return of.map((n) => n / total);
};

const series = (dist, look, by, view) =>
  groupsOf(dist, by).map((group, i) => {
    const tail = view === 'tail';
    return {
      name: group.name,
      type: tail ? 'line' : 'bar',
      color: hue(look, i, group.name),
      data: tail ? atLeast(group.counts).map((x) => (x > 0 ? x : null)) : shares(group.counts, view),
      ...(tail
        ? {
            symbol: ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin', 'arrow', 'emptyCircle'][i % 8],
            symbolSize: 6,
          }
        : { barGap: 0 }),
      emphasis: { focus: 'series' },
    };
  });

const partAbove = (dist, seconds) => {
  const first = dist.edges_s.findIndex((edge) => edge >= seconds);
  return first < 0 ? 0 : sum(dist.all.slice(first)) / (sum(dist.all) || 1);
};

const partWords = (part) => (part === 0 ? 'none' : part < 0.0005 ? 'less than 0.1 %' : share(part));

const wordsOf = (dist) => {
  const hour = dist.edges_s.find((edge) => edge >= 3600);
  const none = dist.all[0] / (sum(dist.all) || 1);
  return `${share(none)} of the jobs that started did not wait${hour ? `; ${partWords(partAbove(dist, 3600))} waited longer than ${duration(hour)}` : ''}.`;
};

// Returns a note on how many groups of the summary are omitted from the report.
const leftOut = (doc, key, shown) => {
  const all = Object.keys(doc.run?.[key] ?? {}).length;
  return all > shown ? el('p', { class: 'note muted' }, `and ${count(all - shown)} more`) : null;
};

// Maximum number of labels of bins in a narrow chart; these labels are long.
const NARROW_LABELS = 8;

const quantileTable = (dist, by) =>
  table(
    `Waits ${WORDS[by]}`,
    [
      { title: WORDS[by].replace('by ', '') },
      { title: 'jobs', number: true },
      { title: 'median wait', number: true },
      { title: 'p95 wait', number: true },
    ],
    dist[by].map((group) => [
      group.name || '(none)',
      count(sum(group.counts)),
      orDash(duration)(group.median_s),
      orDash(duration)(group.p95_s),
    ]),
  );

export const waits = {
  id: 'waits',
  short: 'Waits',
  title: () => 'Distribution of waits',
  folded: true,
  has: (doc) => Boolean(doc.distributions?.wait_s && sum(doc.distributions.wait_s.all)),
  fill: (root, doc) => {
    const dist = trimmed(doc.distributions.wait_s);
    const by = ['by_size', 'by_class', 'by_tenant'].filter(
      (key) => dist[key]?.length > 1 || (dist[key]?.length === 1 && !['', '(none)'].includes(dist[key][0].name)),
    );
    const labels = bins(dist);
    if (sum(dist.all) === dist.all[0]) {
      root.append(el('p', { class: 'lead' }, 'No job waited.'));
      return;
    }
    root.append(
      figure({
        id: 'waits-chart',
        title: 'Waits',
        height: 340,
        choices: [
          {
            name: 'by',
            label: 'Of',
            options: [['all', 'all jobs'], ...by.map((key) => [key, WORDS[key]])],
            value: 'all',
          },
          {
            name: 'view',
            label: 'As',
            options: [
              ['bars', 'share in each bin'],
              ['waited', 'share of waiting jobs'],
              ['tail', 'share with at least this wait (log)'],
            ],
            value: dist.all[0] > 0.9 * sum(dist.all) ? 'waited' : 'bars',
          },
        ],
        words: () => wordsOf(dist),
        table: ({ by: key }) => ({
          columns: [{ title: 'wait' }, ...groupsOf(dist, key).map((group) => ({ title: group.name, number: true }))],
          rows: labels.map((label, i) => [label, ...groupsOf(dist, key).map((group) => count(group.counts[i]))]),
        }),
        draw: (look, { by: key, view }, narrow) => ({
          legend: legend(look, { show: key !== 'all' }),
          grid: grid({ top: key === 'all' ? 28 : 56 }),
          xAxis: {
            type: 'category',
            data: inView(labels, view),
            axisLabel: {
              color: look.muted,
              rotate: 40,
              interval: narrow ? Math.ceil(labels.length / NARROW_LABELS) - 1 : 0,
            },
            axisLine: { lineStyle: { color: look.line } },
          },
          yAxis: {
            ...valueAxis(look, 'jobs', (x) =>
              view === 'tail' && x < 0.01 ? `${Number((x * 100).toPrecision(2))} %` : `${Math.round(x * 100)} %`,
            ),
            ...(view === 'tail' ? { type: 'log' } : {}),
          },
          tooltip: {
            trigger: 'axis',
            formatter: axisTip(
              (f) => f.axisValue,
              (x) => (x < 0.001 ? `${(x * 100).toPrecision(2)} %` : share(x)),
            ),
          },
          series: series(dist, look, key, view),
        }),
      }),
      el(
        'div',
        { class: 'pair' },
        by.map((key) => el('div', {}, el('h3', {}, WORDS[key].replace('by', 'By')), quantileTable(dist, key), leftOut(doc, key, dist[key].length))),
      ),
    );
  },
};
