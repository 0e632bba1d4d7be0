// SPDX-License-Identifier: GPL-3.0-or-later
// The trace: run times with the best fitting distribution, and arrivals.
import { figure, grid, lineLegend, valueAxis } from '../chart.js';
import { el, table } from '../dom.js';
import { count, duration, durationShort, fixed, share } from '../format.js';
import { hue } from '../palette.js';
import { axisTip, tip } from '../tip.js';

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const FAMILIES = { exponential: 'exponential', 'log-normal': 'log-normal', weibull: 'Weibull' };

const sizeName = ({ name }) => `${name} GPU${name === '1' ? '' : 's'}`;

// Abramowitz and Stegun, formula 7.1.26; the error is at most 1.5e-7.
const erf = (x) => {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const y =
    1 -
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-x * x);
  return x < 0 ? -y : y;
};

const cdf = {
  exponential: (fit) => (x) => 1 - Math.exp(-x / fit.mean),
  'log-normal': (fit) => (x) => (1 + erf((Math.log(x) - fit.mu) / (fit.sigma * Math.SQRT2))) / 2,
  weibull: (fit) => (x) => 1 - Math.exp(-((x / fit.scale) ** fit.shape)),
};

const best = (fits) => fits.find((fit) => fit.best) ?? null;

// Points of the cumulative distribution: [log10 of the run time, percent of jobs]. Run times of zero are omitted.
const curve = (quantiles) => quantiles.map((x, i) => [Math.log10(x), i]).filter(([, i]) => quantiles[i] > 0);

// Points of a fitted distribution. Distributions are fitted to run times above zero only.
const fitted = (fit, quantiles, jobs) => {
  const [low, high] = [Math.max(quantiles.find((x) => x > 0) ?? 1, 1e-3), quantiles.at(-1)];
  const [of, zeros] = [cdf[fit.family](fit), 1 - fit.count / jobs];
  return Array.from({ length: 121 }, (_, i) => {
    const x = low * (high / low) ** (i / 120);
    return [Math.log10(x), 100 * (zeros + (1 - zeros) * of(x))];
  });
};

const runSeries = (stats, look, of) => {
  if (of === 'size')
    return stats.by.size.map((row, i) => ({
      name: sizeName(row),
      type: 'line',
      color: hue(look, i, row.name),
      symbol: 'none',
      lineStyle: { width: 2, type: ['solid', 'dashed', 'dotted'][i % 3] },
      data: curve(row.run_quantiles_s),
    }));
  const fit = best(stats.run_fits);
  const own = { name: 'jobs', type: 'line', color: look.busy, symbol: 'none', data: curve(stats.run_quantiles_s) };
  if (!fit) return [own];
  return [
    own,
    {
      name: `${FAMILIES[fit.family]} fit`,
      type: 'line',
      color: look.waiting,
      symbol: 'none',
      lineStyle: { type: 'dashed' },
      data: fitted(fit, stats.run_quantiles_s, stats.trace.jobs),
    },
  ];
};

const fitWords = (fit) =>
  `${FAMILIES[fit.family]} fits best (${
    { exponential: () => `mean ${duration(fit.mean)}`, 'log-normal': () => `median ${duration(Math.exp(fit.mu))}, sigma ${fixed(fit.sigma, 2)}`, weibull: () => `shape ${fixed(fit.shape, 2)}, scale ${duration(fit.scale)}` }[fit.family]()
  }), Kolmogorov-Smirnov distance ${share(fit.ks)}`;

const runWords = (stats) => {
  const fit = best(stats.run_fits);
  return `Half of the jobs run at most ${duration(stats.run_s.p50)}, one in twenty longer than ${duration(stats.run_s.p95)}${fit ? `; ${fitWords(fit)}` : ''}.`;
};

// Durations of the axis marks, in seconds.
const MARKS = [0.01, 0.1, 1, 10, 60, 600, 3600, 21600, 86400, 864000, 8640000, 86400000, 864000000];

// Returns the marks from the last one at or below the shortest run time to the first one at or above the longest.
const marksOf = (quantiles) => {
  const [low, high] = [quantiles.find((x) => x > 0), quantiles.at(-1)];
  const first = Math.max(MARKS.findLastIndex((x) => x <= low), 0);
  const last = MARKS.findIndex((x) => x >= high);
  return MARKS.slice(first, (last < 0 ? MARKS.length : last) + 1).map(Math.log10);
};

const timeAxis = (look, marks) => ({
  type: 'value',
  name: 'run time',
  nameLocation: 'middle',
  nameGap: 26,
  nameTextStyle: { color: look.muted },
  min: marks[0],
  max: marks.at(-1),
  axisTick: { customValues: marks },
  axisLabel: {
    color: look.muted,
    customValues: marks,
    formatter: (x) => durationShort(Number((10 ** x).toPrecision(6))),
    hideOverlap: true,
  },
  axisLine: { lineStyle: { color: look.line } },
  splitLine: { show: false },
});

const STEPS = [1, 5, 10, 25, 50, 75, 90, 95, 99, 100];

const runFigure = (stats) =>
  figure({
    id: 'run-times-chart',
    title: 'Run times',
    height: 320,
    choices:
      stats.by.size.length > 1
        ? [
            {
              name: 'of',
              label: 'Of',
              options: [
                ['all', 'all jobs, with the best fit'],
                ['size', 'by GPUs requested'],
              ],
              value: 'all',
            },
          ]
        : [],
    words: () => runWords(stats),
    table: () => ({
      columns: [{ title: 'share of jobs' }, { title: 'all', number: true }, ...stats.by.size.map((row) => ({ title: sizeName(row), number: true }))],
      rows: STEPS.map((step) => [
        `${step} %`,
        duration(stats.run_quantiles_s[step]),
        ...stats.by.size.map((row) => duration(row.run_quantiles_s[step])),
      ]),
    }),
    draw: (look, { of = 'all' }) => ({
      legend: lineLegend(look),
      grid: grid({ top: 56, bottom: 28 }),
      xAxis: timeAxis(look, marksOf(stats.run_quantiles_s)),
      yAxis: { ...valueAxis(look, 'share of jobs', (x) => `${x} %`), min: 0, max: 100 },
      tooltip: {
        trigger: 'axis',
        formatter: (lines) =>
          tip(
            `about ${duration(10 ** lines[0].value[0])}`,
            lines.map(({ color, seriesName, value }) => [color, seriesName, `${fixed(value[1], 1)} %`]),
          ),
      },
      series: runSeries(stats, look, of),
    }),
  });

const arrivalBins = ({ arrivals }, by) =>
  by === 'hour'
    ? arrivals.by_hour.map((n, i) => [`${i}:00`, n])
    : arrivals.by_weekday.map((n, i) => [arrivals.dated ? WEEKDAYS[i] : `day ${i} of 7`, n]);

const arrivalWords = ({ arrivals }) => {
  if (arrivals.dispersion_by_hour === null) return 'The trace is too short to measure burstiness.';
  const times = fixed(arrivals.dispersion_by_hour, arrivals.dispersion_by_hour < 10 ? 1 : 0);
  return `${fixed(arrivals.per_hour, 1)} jobs per hour on average, ${count(arrivals.busiest_hour)} in the busiest hour; the variance per hour is ${times} times that of Poisson arrivals.`;
};

const arrivalFigure = (stats) =>
  figure({
    id: 'arrivals-chart',
    title: 'Arrivals',
    height: 260,
    choices: [
      {
        name: 'by',
        label: 'By',
        options: [
          ['hour', 'hour of the day'],
          ['weekday', stats.arrivals.dated ? 'weekday' : 'day of a 7-day week'],
        ],
        value: 'hour',
      },
    ],
    words: () => arrivalWords(stats),
    table: ({ by }) => ({
      columns: [{ title: by === 'hour' ? 'hour' : 'day' }, { title: 'jobs', number: true }],
      rows: arrivalBins(stats, by).map(([name, n]) => [name, count(n)]),
    }),
    draw: (look, { by }) => ({
      grid: grid({ top: 28 }),
      xAxis: {
        type: 'category',
        data: arrivalBins(stats, by).map(([name]) => name),
        axisLabel: { color: look.muted, hideOverlap: true },
        axisLine: { lineStyle: { color: look.line } },
      },
      yAxis: valueAxis(look, 'jobs', count),
      tooltip: { trigger: 'axis', formatter: axisTip((f) => f.axisValue, count) },
      series: [{ name: 'jobs submitted', type: 'bar', color: look.busy, data: arrivalBins(stats, by).map(([, n]) => n) }],
    }),
  });

const SHARED = {
  jobs_by_user: ['users', 'jobs'],
  gpu_hours_by_user: ['users', 'GPU hours'],
  gpu_hours_by_tenant: ['tenants', 'GPU hours'],
  gpu_hours_by_job: ['jobs', 'GPU hours'],
};

const sharesTable = ({ concentration }) => {
  const known = Object.entries(SHARED).filter(([key]) => concentration[key]?.parties > 1);
  if (!known.length) return '';
  return el(
    'div',
    {},
    el('h3', {}, 'Concentration'),
    table(
      'Concentration of jobs and GPU hours',
      [
        { title: 'Of' },
        { title: 'Among', number: true },
        { title: 'Share of the largest', number: true },
        { title: 'Share of the largest 10 %', number: true },
        { title: 'Gini', number: true },
      ],
      known.map(([key, [parties, what]]) => {
        const of = concentration[key];
        return [what, `${count(of.parties)} ${parties}`, share(of.first_share), share(of.first_tenth_share), fixed(of.gini, 2)];
      }),
      'stacked',
    ),
  );
};

export const workload = {
  id: 'workload',
  short: 'Trace',
  title: () => 'Workload',
  folded: true,
  has: (doc) => Boolean(doc.workload?.trace.jobs > 1),
  fill: (root, doc) => {
    const stats = doc.workload;
    const ran = stats.run_quantiles_s.some((x) => x > 0);
    root.append(ran ? runFigure(stats) : el('p', { class: 'lead' }, 'All run times are zero.'), arrivalFigure(stats), sharesTable(stats));
  },
};
