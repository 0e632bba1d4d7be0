// SPDX-License-Identifier: GPL-3.0-or-later
// A page's document made the slow way from what `headroom run` writes (--json, --jobs, --timeline, --costs): what the page
// must cope with before, and beside, the pages that the program writes itself.
import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';

const BUCKETS = 600;
const LARGEST = 11;

export const csv = (path) => {
  const [head, ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const names = head.split(',');
  return rows.map((row) => {
    const cells = row.split(',');
    return Object.fromEntries(names.map((name, i) => [name, cells[i]]));
  });
};

const round = (x) => (x === null ? null : Number(x.toPrecision(6)));

// Adds `value` per second over [begin, end) to the sums of the buckets that it covers.
const spread = (sums, step, begin, end, value) => {
  for (let i = Math.floor(begin / step); i < sums.length && i * step < end; i++)
    sums[i] += value * (Math.min(end, (i + 1) * step) - Math.max(begin, i * step));
};

const largest = (rows, key, sums, step) => {
  const groups = new Map();
  for (const job of rows) {
    const name = job[key] || '(none)';
    const group = groups.get(name) ?? groups.set(name, { name, allocated: sums(), total: 0 }).get(name);
    spread(group.allocated, step, job.begin, job.end, job.gpus);
    group.total += job.gpus * (job.end - job.begin);
  }
  const sorted = [...groups.values()].sort((a, b) => b.total - a.total);
  const others = { name: '(others)', allocated: sums() };
  for (const group of sorted.slice(LARGEST)) group.allocated.forEach((x, i) => (others.allocated[i] += x));
  const kept = sorted.length > LARGEST ? [...sorted.slice(0, LARGEST), others] : sorted;
  return kept.map(({ name, allocated }) => ({ name, allocated: allocated.map((x) => round(x / step)) }));
};

const seriesOf = (jobs, timeline, span) => {
  const step = span / BUCKETS;
  const zeros = () => new Array(BUCKETS).fill(0);
  const held = jobs.filter((job) => job.end > job.begin);
  const stats = (column) => {
    const [mean, max, min] = [zeros(), zeros(), new Array(BUCKETS).fill(Infinity)];
    timeline.forEach((row, i) => {
      const value = Number(row[column]);
      const begin = Number(row.time_s);
      const end = i + 1 < timeline.length ? Number(timeline[i + 1].time_s) : span;
      spread(mean, step, begin, end, value);
      for (let b = Math.floor(begin / step); b < BUCKETS && b * step < Math.max(end, begin + 1e-9); b++) {
        max[b] = Math.max(max[b], value);
        min[b] = Math.min(min[b], value);
      }
    });
    return { mean: mean.map((x) => round(x / step)), max, min: min.map((x) => (x === Infinity ? 0 : x)) };
  };
  const started = { mean: zeros(), max: zeros(), n: zeros() };
  for (const job of jobs.filter((j) => j.begin >= 0)) {
    const b = Math.min(BUCKETS - 1, Math.floor(job.begin / step));
    started.mean[b] += job.wait;
    started.max[b] = Math.max(started.max[b], job.wait);
    started.n[b]++;
  }
  const gpusWaiting = zeros();
  for (const job of jobs) if (job.begin >= 0) spread(gpusWaiting, step, job.submit, job.begin, job.gpus);
  const allocated = stats('gpus_allocated');
  return {
    begin_s: 0,
    step_s: step,
    n: BUCKETS,
    capacity: { mean: stats('gpus_total').mean },
    allocated,
    busy: { mean: allocated.mean.map((x) => round(x * 0.98)) },
    useful: { mean: allocated.mean.map((x) => round(x * 0.96)) },
    waiting: stats('waiting'),
    waiting_gpus: { mean: gpusWaiting.map((x) => round(x / step)), max: gpusWaiting.map((x) => round(x / step)) },
    running: stats('running'),
    wait_s: {
      mean: started.mean.map((x, i) => (started.n[i] ? round(x / started.n[i]) : null)),
      max: started.max.map((x, i) => (started.n[i] ? x : null)),
    },
    by: Object.fromEntries(['tenant', 'class', 'gpu', 'market', 'pool'].map((k) => [k, largest(held, k, zeros, step)])),
  };
};

const EDGES = [0, 1, 10, 30, 60, 180, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400, 1e6];

const quantile = (sorted, q) => {
  if (!sorted.length) return null;
  const h = q * (sorted.length - 1);
  const i = Math.floor(h);
  return sorted[i] + (h - i) * ((sorted[i + 1] ?? sorted[i]) - sorted[i]);
};

const counted = (jobs, name) => {
  const counts = new Array(EDGES.length - 1).fill(0);
  const waits = jobs.filter((j) => j.begin >= 0).map((j) => j.wait);
  for (const wait of waits) counts[wait <= 0 ? 0 : Math.max(0, EDGES.findIndex((edge) => wait < edge) - 1)]++;
  waits.sort((a, b) => a - b);
  return { name, counts, median_s: quantile(waits, 0.5), p95_s: quantile(waits, 0.95) };
};

const sizeOf = (gpus) => (gpus <= 1 ? '1' : gpus <= 4 ? '2-4' : gpus <= 8 ? '5-8' : gpus <= 16 ? '9-16' : '17+');

const split = (jobs, keyOf) => {
  const groups = new Map();
  for (const job of jobs) groups.set(keyOf(job), [...(groups.get(keyOf(job)) ?? []), job].slice(-1e6));
  return [...groups].map(([name, some]) => counted(some, name || '(none)'));
};

const distributionsOf = (jobs) => ({
  wait_s: {
    edges_s: EDGES,
    all: counted(jobs, 'all').counts,
    by_class: split(jobs.slice(0, 20000), (job) => job.class),
    by_size: split(jobs.slice(0, 20000), (job) => sizeOf(job.gpus)),
    by_tenant: split(jobs.slice(0, 20000), (job) => job.tenant),
  },
});

const ARRAYS = { i32: Int32Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array, f32: Float32Array, f64: Float64Array };

const block = (name, bytes) =>
  `<script type="application/x-headroom-block" id="block-${name}">${deflateSync(bytes).toString('base64')}</script>`;

// columns: [name, type, coding, values]; gives their description and the block's bytes.
const packed = (columns) => {
  let offset = 0;
  const parts = [];
  const described = columns.map(([name, type, coding, values]) => {
    const size = ARRAYS[type].BYTES_PER_ELEMENT;
    const array = new ARRAYS[type](values.length);
    values.forEach((x, i) => (array[i] = coding === 'delta' && i ? x - values[i - 1] : x));
    const bytes = Buffer.from(array.buffer);
    const pad = (8 - (bytes.length % 8)) % 8;
    parts.push(bytes, Buffer.alloc(pad));
    const entry = { name, type, coding, offset, length: values.length };
    offset += size * values.length + pad;
    return entry;
  });
  return { described, bytes: Buffer.concat(parts) };
};

const indexed = (jobs, key, fallback = '(none)') => {
  const names = [...new Set(jobs.map((job) => job[key] || fallback))];
  const places = new Map(names.map((name, i) => [name, i]));
  return { names, rows: jobs.map((job) => places.get(job[key] || fallback)) };
};

const tablesOf = (jobs) => {
  const text = Object.fromEntries(['tenant', 'user', 'class', 'state', 'pool'].map((key) => [key, indexed(jobs, key)]));
  const list = (key) => jobs.map((job) => job[key]);
  const table = packed([
    ...Object.entries(text).map(([name, { rows }]) => [name, 'u16', 'plain', rows]),
    ['gpus', 'f32', 'plain', list('gpus')],
    ['submit_s', 'i32', 'delta', list('submit').map(Math.round)],
    ['wait_s', 'i32', 'plain', list('wait').map(Math.round)],
    ['start_s', 'i32', 'plain', list('begin').map(Math.round)],
    ['end_s', 'i32', 'plain', list('end').map(Math.round)],
    ['node', 'i32', 'plain', list('node')],
    ['attempts', 'u16', 'plain', list('attempts')],
    ['lost_s', 'f32', 'plain', list('lost')],
    ...(jobs.some((job) => job.cost > 0) ? [['cost_usd', 'f32', 'plain', list('cost')]] : []),
  ]);
  const ran = jobs.map((job, row) => ({ ...job, row })).filter((job) => job.begin >= 0);
  const stays = packed([
    ['job', 'u32', 'delta', ran.map((job) => job.row)],
    ['begin_s', 'i32', 'plain', ran.map((job) => Math.round(job.begin))],
    ['end_s', 'i32', 'plain', ran.map((job) => Math.round(job.end))],
    ['pool', 'u16', 'plain', ran.map((job) => text.pool.rows[job.row])],
    ['node', 'i32', 'plain', ran.map((job) => job.node)],
    ['n_nodes', 'u16', 'plain', ran.map((job) => job.nodes)],
    ['end', 'u8', 'plain', ran.map(() => 0)],
    ['lost_s', 'f32', 'plain', ran.map((job) => job.lost)],
  ]);
  return {
    jobs: {
      count: jobs.length,
      shown: jobs.length,
      block: 'jobs',
      columns: table.described,
      text: Object.fromEntries(Object.entries(text).map(([name, { names }]) => [name, names])),
    },
    attempts: {
      count: ran.length,
      shown: ran.length,
      block: 'attempts',
      columns: stays.described,
      text: { end: ['completed', 'interrupted', 'preempted', 'running'], pool: text.pool.names },
    },
    blocks: [
      block('jobs', table.bytes),
      block('attempts', stays.bytes),
      block('job_ids', Buffer.from(jobs.map((job) => job.id).join('\n'))),
    ],
  };
};

const occupancyOf = (jobs, run, span) => {
  const nodes = jobs.reduce((most, job) => job.places.reduce((m, [node]) => Math.max(m, node + 1), most), 1);
  const per = Math.ceil(nodes / 128);
  const rows = Math.ceil(nodes / per);
  const columns = 300;
  const sums = Array.from({ length: rows }, () => new Array(columns).fill(0));
  const step = span / columns;
  const each = run.cluster.pools[0]?.gpus_per_node ?? 8;
  for (const job of jobs)
    if (job.end > job.begin)
      for (const [node, gpus] of job.places) spread(sums[Math.floor(node / per)], step, job.begin, job.end, gpus);
  const bytes = Buffer.from(sums.flatMap((row) => row.map((x) => Math.min(255, Math.round((255 * x) / step / each / per)))));
  const described = Array.from({ length: rows }, (_, i) => ({ pool: run.cluster.pools[0].name, first_node: i * per, nodes: per }));
  return { occupancy: { rows: described, columns, begin_s: 0, step_s: step, block: 'occupancy' }, block: block('occupancy', bytes) };
};

const jobOf = (row) => ({
  id: row.job_id,
  submit: Number(row.submit_s),
  begin: row.start_s === '' ? -1 : Number(row.start_s),
  end: row.end_s === '' ? -1 : Number(row.end_s),
  wait: row.wait_s === '' ? -1 : Number(row.wait_s),
  gpus: Number(row.gpus),
  nodes: Number(row.nodes) || 0,
  state: row.state,
  tenant: row.tenant,
  user: row.user,
  class: row.class,
  pool: row.pool,
  gpu: row.pool,
  market: row.pool,
  node: row.placement ? Number(row.placement.split(':')[0]) : -1,
  places: row.placement ? row.placement.split(' ').map((part) => part.split(':').map(Number)) : [],
  attempts: Number(row.attempts ?? 1) || 1,
  lost: Number(row.lost_s ?? 0),
  cost: Number(row.cost_usd ?? 0),
});

const costsOf = (path, run) => {
  if (!run.cost) return null;
  const rows = csv(path).map((row) => ({ tenant: row.tenant, market: row.market, gpu_hours: Number(row.gpu_hours), usd: Number(row.cost_usd) }));
  const idle = (row) => row.tenant === '(idle)';
  return {
    cells: rows.filter((row) => !idle(row) && !row.tenant.startsWith('(')),
    idle: rows.filter(idle).map(({ market, gpu_hours, usd }) => ({ market, gpu_hours, usd })),
    shared_usd: run.cost.shared_usd ?? 0,
  };
};

const costSeries = (series, run) => {
  if (!run.cost || !run.cost.capacity_usd) return;
  const used = run.cost.capacity_usd - run.cost.idle_usd;
  const share = (list, total) => {
    const sum = list.reduce((a, b) => a + b, 0) || 1;
    return list.map((x) => round((total * x) / sum));
  };
  const idle = series.capacity.mean.map((x, i) => Math.max(0, x - series.allocated.mean[i]));
  series.cost = { used: share(series.allocated.mean, used), idle: share(idle, run.cost.idle_usd), by_market: [], by_tenant: [] };
};

const spotSeries = (series, run) => {
  if (!run.spot || !run.spot.gpu_hours) return;
  const flat = (value) => new Array(series.n).fill(value);
  series.spot = run.cluster.pools
    .filter((pool) => pool.name.includes('spot'))
    .map((pool, p) => ({
      pool: pool.name,
      offered: flat(0).map((_, i) => Math.max(0, Math.round(pool.nodes * (0.7 + 0.3 * Math.sin(i / 20 + p))))),
      up: flat(0).map((_, i) => Math.max(0, Math.round(pool.nodes * (0.4 + 0.3 * Math.sin(i / 20 + p))))),
      reclaims: flat(0).map((_, i) => (i % 37 === p ? 2 : 0)),
      interrupted: flat(0).map((_, i) => (i % 37 === p ? 1 : 0)),
    }));
  series.lost_gpu_hours = flat(0).map((_, i) => (i % 37 === 1 ? 1.5 : 0));
};

// stem: path to which .json, .jobs.csv, .tl.csv and .costs.csv are added. Gives { doc, blocks }.
export const documentOf = (stem, extra = {}) => {
  const run = JSON.parse(readFileSync(`${stem}.json`, 'utf8'));
  const jobs = csv(`${stem}.jobs.csv`).map(jobOf);
  const span = jobs.reduce((most, job) => Math.max(most, job.end, job.submit), 1);
  const series = seriesOf(jobs, csv(`${stem}.tl.csv`), span);
  costSeries(series, run);
  spotSeries(series, run);
  const { blocks, ...tables } = tablesOf(jobs);
  const map = occupancyOf(jobs, run, span);
  const doc = {
    format: 1,
    kind: 'run',
    version: run.headroom,
    title: run.scenario,
    command: `headroom report scenarios/${run.scenario}.json`,
    run,
    baseline: null,
    clock: { dated: false },
    spans: { begin_s: 0, end_s: span },
    series,
    distributions: distributionsOf(jobs),
    ...(run.cost ? { costs: costsOf(`${stem}.costs.csv`, run) } : {}),
    occupancy: map.occupancy,
    ...tables,
    alerts: [],
    notes: run.notes,
    assumptions: [],
    ...extra,
  };
  return { doc, blocks: [...blocks, map.block] };
};

// The template with the data in its place, as the program writes it.
export const pageOf = (template, { doc, blocks }) => {
  const json = JSON.stringify(doc).replaceAll('<', '\\u003c');
  const data = [`<script type="application/json" id="headroom-data">${json}</script>`, ...blocks].join('\n');
  const title = doc.title.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return template
    .replace('<!--headroom:data-->', () => data)
    .replace('<title>Headroom</title>', () => `<title>${title}: Headroom</title>`);
};
