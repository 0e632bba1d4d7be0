// SPDX-License-Identifier: GPL-3.0-or-later
// Several clusters: the jobs that each cluster ran, and the home clusters of these jobs.
import { figure, grid, legend, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { amount, count, duration, orDash, share } from '../format.js';
import { hue } from '../palette.js';
import { axisTip } from '../tip.js';

const NONE = '(no home)';

// The jobs of each cluster by home, in the order of the clusters; jobs without a home are last.
const flowsOf = (routing) => {
  const names = Object.keys(routing);
  const rows = names.map((to) => {
    const known = names.map((home) => routing[to].from[home] ?? 0);
    return [...known, routing[to].jobs - known.reduce((sum, n) => sum + n, 0)];
  });
  const homes = [...names, NONE].map((name, i) => ({ name, i })).filter(({ i }) => rows.some((row) => row[i] > 0));
  return { names, rows, homes };
};

const overview = (run) =>
  table(
    'Clusters',
    [
      { title: 'Cluster' },
      { title: 'Jobs', number: true },
      { title: 'From other homes', number: true },
      { title: 'To other clusters', number: true },
      { title: 'GPU hours', number: true },
      { title: 'Wait, p95', number: true },
    ],
    Object.entries(run.routing).map(([name, cluster]) => [
      name,
      count(cluster.jobs),
      count(cluster.spilled_in),
      count(cluster.spilled_out),
      orDash(amount)(run.by_cluster?.[name]?.gpu_hours ?? null),
      orDash(duration)(run.by_cluster?.[name]?.wait_s.p95 ?? null),
    ]),
    'stacked',
  );

const flows = ({ names, rows, homes }) =>
  figure({
    id: 'clusters-flows',
    title: 'Jobs by cluster and home',
    height: 90 + 36 * names.length,
    words: () =>
      names
        .map((name, k) => `${name}: ${homes.map(({ name: home, i }) => `${count(rows[k][i])} from ${home}`).join(', ')}`)
        .join('; '),
    table: () => ({
      columns: [{ title: 'Cluster' }, ...homes.map(({ name }) => ({ title: `from ${name}`, number: true }))],
      rows: names.map((name, k) => [name, ...homes.map(({ i }) => count(rows[k][i]))]),
    }),
    draw: (colours) => ({
      legend: legend(colours),
      grid: grid({ right: 30 }),
      xAxis: valueAxis(colours, '', count),
      yAxis: {
        type: 'category',
        inverse: true,
        data: names,
        axisLabel: { color: colours.text, width: 120, overflow: 'truncate' },
        axisLine: { lineStyle: { color: colours.muted } },
      },
      tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: axisTip((first) => first.name, count) },
      series: homes.map(({ name, i }) => ({
        name,
        type: 'bar',
        stack: 'all',
        color: name === NONE ? colours.others : hue(colours, i, name),
        data: rows.map((row) => row[i]),
      })),
    }),
  });

export const clusters = {
  id: 'clusters',
  short: 'Clusters',
  title: () => 'Clusters',
  has: (doc) => Object.keys(doc.run?.routing ?? {}).length > 1,
  fill: (root, doc) => {
    const { routing } = doc.run;
    const all = Object.values(routing);
    const moved = all.reduce((sum, cluster) => sum + cluster.spilled_in, 0);
    const jobs = all.reduce((sum, cluster) => sum + cluster.jobs, 0);
    root.append(
      el(
        'p',
        { class: 'lead' },
        `${count(moved)} of ${count(jobs)} jobs (${share(jobs ? moved / jobs : 0)}) were sent to a cluster other than their home.`,
      ),
      overview(doc.run),
    );
    if (jobs) root.append(flows(flowsOf(routing)));
  },
};
