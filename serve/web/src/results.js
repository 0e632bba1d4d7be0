// SPDX-License-Identifier: GPL-3.0-or-later
// The result of the last run: sentences, charts, and a table that compares it with the present configuration.

import { el, table } from '../../../report/web/src/dom.js';
import { amount, count, duration, orDash, share, things, usd } from '../../../report/web/src/format.js';
import { lineChart } from './charts.js';
import { hasJobs, hasServices, serviceChart, serviceSentences, serviceTable } from './services.js';
import { HOW_TO_PRICE, isUnpriced, priceWords, unpricedPools } from './prices.js';
import { keepAsPresent, lacksTrace, NO_TRACE, state } from './state.js';

const JOB_METRICS = [
  ['Wait, 95 % of the jobs at most', (r) => r.wait_s?.p95, duration],
  ['Wait, mean', (r) => r.wait_s?.mean, duration],
  ['Time from submission to end, mean', (r) => r.jct_s?.mean, duration],
  ['Completed jobs', (r) => r.jobs?.completed, count],
  ['Rejected jobs', (r) => r.jobs?.rejected, count],
];
// Returns a text if the cost is unknown, and undefined if the run has no costs.
const costOf = (key) => (r) => (r.cost && isUnpriced(r) ? 'no price' : r.cost?.[key]);
const METRICS = [
  ['Use of the GPUs', (r) => r.utilization?.submit_window, share],
  ['GPUs', (r) => r.cluster?.gpus, count],
  ['Cost in this period', costOf('total_usd'), usd],
  ['Cost a month (730 hours)', costOf('monthly_usd'), usd],
  ['Cost of idle GPUs', costOf('idle_usd'), usd],
  ['GPU hours lost', (r) => r.goodput?.lost_gpu_hours, amount],
];

const OLD_FIGURES = 'The figures below are those before this change.';

const differs = (now, before) => typeof now === 'number' && typeof before === 'number' && Math.abs(now - before) > 1e-9 * Math.abs(before);
// Returns the change in words; an empty text if it would be written as 0.
const changeOf = (now, before, write) => {
  if (typeof now === 'string' || typeof before === 'string') return '';
  const words = differs(now, before) ? write(Math.abs(now - before)) : write(0);
  return words === write(0) ? '' : `${now > before ? '+' : '−'}${words}`;
};
const thanPresent = (now, before, write) => (differs(now, before) ? ` (present: ${write(before)})` : '');

const cellOf = (value, write) => (typeof value === 'string' ? value : orDash(write)(value));

const waitSentence = (now, before) => {
  const late = now.wait_s?.p95;
  if (typeof late !== 'number') return 'No job has started.';
  const unfinished = now.jobs.completed ? '' : ` No job was completed; ${things(now.jobs.unfinished, 'job')} had not ended at the end of the run.`;
  const rejected = now.jobs.rejected ? ` ${things(now.jobs.rejected, 'job')} cannot run on this capacity.` : '';
  return `95 % of the jobs${hasServices(now) ? ' and replicas' : ''} start within ${duration(late)}${thanPresent(late, before.wait_s?.p95, duration)}; the longest wait is ${duration(now.wait_s.max)}.${unfinished}${rejected}`;
};

const costSentence = (now, present) => {
  const unpriced = unpricedPools(now);
  if (isUnpriced(now)) return `The cost is unknown, because ${priceWords(unpriced)}. ${HOW_TO_PRICE}`;
  const before = isUnpriced(present) ? {} : present;
  const { monthly_usd: month, total_usd: total, idle_usd: idle, capacity_usd: capacity } = now.cost;
  const paid = typeof month === 'number' ? `${usd(month)} a month${thanPresent(month, before.cost?.monthly_usd, usd)}` : `${usd(total)} in this period${thanPresent(total, before.cost?.total_usd, usd)}`;
  return `The capacity costs ${paid}${capacity > 0 ? `; ${share(idle / capacity)} of the cost of GPUs is paid for idle GPUs` : ''}.${unpriced.length ? ` The costs do not contain all GPUs: ${priceWords(unpriced)}. ${HOW_TO_PRICE}` : ''}`;
};

const useSentence = (now, before) => {
  const used = now.utilization?.submit_window;
  const waited = hasJobs(now) ? `; at most ${things(now.queue?.max ?? 0, 'job')} waited at the same time` : '';
  return `${!hasServices(now) ? 'Jobs' : hasJobs(now) ? 'Jobs and replicas' : 'Replicas'} use ${orDash(share)(used)} of ${things(now.cluster.gpus, 'GPU')}${thanPresent(used, before.utilization?.submit_window, share)}${waited}.`;
};

export const resultsSection = () => {
  const status = el('p', { class: 'status', role: 'status', 'aria-live': 'polite' });
  const sentences = el('div', { id: 'sentences', 'aria-live': 'polite' });
  const [queue, gpus] = [el('figure', { id: 'queue-chart' }), el('figure', { id: 'gpus-chart' })];
  const [services, numbers] = [el('div', { id: 'services' }), el('div')];
  const keep = el('button', { type: 'button', class: 'screen-only', onclick: keepAsPresent }, 'Take as the present configuration');
  const body = el('div', {}, sentences, el('div', { class: 'pair' }, queue, gpus), services, numbers, keep);
  const section = el('section', { id: 'results', 'aria-labelledby': 'results-title', hidden: true }, el('h2', { id: 'results-title', tabindex: -1 }, 'Result'), status, body);

  const drawCharts = (now, before) => {
    const { series } = now;
    const was = before === now ? null : before.series;
    const line = (of, key, kind, name) => ({ name, kind, values: of[key], seconds: of.end_s - of.begin_s });
    const two = (key, kind, name) => [line(series, key, kind, name), ...(was ? [line(was, key, 'was', `${name}, present`)] : [])];
    const served = hasServices(now) && serviceChart(state.ran, before === now ? state.ran : state.present);
    if (served) lineChart(queue, served.title, served.words, served.lines, share);
    else lineChart(queue, 'Waiting jobs', `At most ${count(now.queue?.max ?? 0)}, ${amount(now.queue?.mean ?? 0)} on average.`, two('waiting', 'now', 'waiting'));
    lineChart(gpus, 'GPUs in use', `${orDash(share)(now.utilization?.submit_window)} of ${count(now.cluster.gpus)} GPUs.`, [...two('gpus_allocated', 'now', 'in use'), line(series, 'gpus_total', 'limit', 'present GPUs')]);
  };

  const fillTable = (now, before) =>
    numbers.replaceChildren(
      table(
        'Figures',
        [{ title: 'Metric' }, { title: 'Present', number: true }, { title: 'Now', number: true }, { title: 'Change', number: true }],
        [...(hasJobs(now) ? JOB_METRICS : []), ...METRICS].filter(([, of]) => of(now) !== undefined || of(before) !== undefined).map(([name, of, write]) => [name, cellOf(of(before), write), cellOf(of(now), write), changeOf(of(now), of(before), write)]),
      ),
      el('p', { class: 'what' }, 'Digest of the run: ', el('code', { id: 'digest' }, now.digest)),
      state.scenario.replications ? el('p', { class: 'what', id: 'replications' }, 'The figures are those of the first replication.') : '',
    );

  const fill = () => {
    section.hidden = !state.scenario;
    const { error, result: now, present } = state;
    status.className = error ? 'status bad' : 'status';
    status.textContent = error ? `${error.message}${now ? `\n${OLD_FIGURES}` : ''}` : lacksTrace() ? NO_TRACE : '';
    // If another scenario was opened, the figures of the previous one are hidden. Their space remains empty until the
    // run ends.
    body.hidden = !now && Boolean(error || lacksTrace());
    body.classList.toggle('pending', !now);
    if (!now) return;
    const before = present?.result ?? now;
    const about = [...(hasJobs(now) ? [waitSentence] : []), costSentence, useSentence];
    const served = hasServices(now);
    sentences.replaceChildren(
      ...(served ? serviceSentences(state.ran, present ?? state.ran) : []),
      ...about.map((sentence) => el('p', { class: 'first-line' }, sentence(now, before))),
    );
    services.replaceChildren(...(served ? [serviceTable(state.ran, present ?? state.ran)] : []));
    drawCharts(now, before);
    fillTable(now, before);
    section.dataset.painted = String(Number(section.dataset.painted ?? 0) + 1);
  };
  return { section, fill };
};
