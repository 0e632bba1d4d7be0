// SPDX-License-Identifier: GPL-3.0-or-later
// The waits and attempts of one job, as a bar and as a list.
import { durationSteps, grid, legend, makeFigure } from './chart.js';
import { tableOf } from './data.js';
import { el, facts } from './dom.js';
import { amount, duration, durationShort, usd } from './format.js';
import { hatched } from './palette.js';
import { clockOf } from './time.js';
import { tip } from './tip.js';

const placeWords = (pool, node, nodes) =>
  [pool, node >= 0 ? `node ${node}${nodes > 1 ? ` and ${nodes - 1} more` : ''}` : null].filter(Boolean).join(', ');

// Returns a list with the attempt of a job that started once, which the row of the job describes; empty if the job
// never started. If the page lacks the attempts of a job that started more than once, the list has one entry from its
// first start to its end.
const onlyStay = (doc, rows, row) => {
  const [begin, end] = [rows.number('start_s', row), rows.number('end_s', row)];
  if (begin === null || begin < 0) return [];
  const where = placeWords(rows.textOf('pool', row), rows.number('node', row) ?? -1, rows.number('nodes', row) ?? 0);
  const lost = Math.max(0, rows.number('lost_s', row) ?? 0);
  return [
    {
      begin,
      end: end < 0 ? doc.spans.end_s : end,
      lost,
      ended: end < 0 ? 'still running when the run ended' : rows.textOf('state', row),
      where,
    },
  ];
};

// Returns the attempts of a job in order: [{ begin, end, lost, ended, where }], with times in seconds.
export const staysOf = async (doc, rows, row) => {
  if (!doc.attempts) return onlyStay(doc, rows, row);
  const columns = await tableOf(doc.attempts);
  const { text } = doc.attempts;
  const stays = [];
  for (let i = 0; i < columns.job.length; i++) {
    if (columns.job[i] !== row) continue;
    const where = placeWords(text.pool?.[columns.pool?.[i]] ?? '', columns.node?.[i] ?? -1, columns.n_nodes?.[i] ?? 0);
    stays.push({
      begin: columns.begin_s[i],
      end: columns.end_s[i],
      lost: columns.lost_s?.[i] ?? 0,
      ended: text.end?.[columns.end[i]] ?? '',
      where,
    });
  }
  return stays.length ? stays.sort((a, b) => a.begin - b.begin) : onlyStay(doc, rows, row);
};

// Returns the waits and attempts of a job as consecutive parts: [{ kind, begin, end, words }].
const partsOf = (submit, stays) => {
  const parts = [];
  let at = submit;
  stays.forEach((stay, i) => {
    if (stay.begin > at) parts.push({ kind: 'waits', begin: at, end: stay.begin, words: i ? 'waits again' : 'waits' });
    const kept = Math.max(stay.begin, stay.end - stay.lost);
    if (kept > stay.begin) parts.push({ kind: 'runs', begin: stay.begin, end: kept, words: `runs on ${stay.where}` });
    if (stay.end > kept) parts.push({ kind: 'lost', begin: kept, end: stay.end, words: 'runs; the work is lost' });
    at = stay.end;
  });
  return parts;
};

const styleOf = (look) => ({
  waits: { color: look.idle, decal: hatched(look) },
  runs: { color: look.busy },
  lost: { color: look.lost },
});

const NAMES = { waits: 'waits', runs: 'runs', lost: 'lost work' };

// A stacked bar. Each part is a series with one value. Series of the same kind have the same name, so the legend lists
// each kind once.
const option = (doc, submit, parts) => (look) => {
  const clock = clockOf(doc);
  const styles = styleOf(look);
  const span = Math.max(1, parts[parts.length - 1].end - submit);
  const kinds = [...new Set(parts.map((part) => part.kind))];
  return {
    legend: legend(look, { data: kinds.map((kind) => NAMES[kind]) }),
    grid: grid({ top: 36 }),
    xAxis: {
      type: 'value',
      ...durationSteps(span),
      max: span,
      axisLabel: {
        color: look.muted,
        hideOverlap: true,
        formatter: (s) => (s ? `+${durationShort(s)}` : clock.text(submit)),
        showMaxLabel: false,
        alignMinLabel: 'left',
      },
      splitLine: { show: false },
    },
    yAxis: { type: 'category', data: [''], axisLine: { show: false }, axisTick: { show: false } },
    tooltip: {
      trigger: 'item',
      formatter: ({ seriesIndex, color }) => {
        const part = parts[seriesIndex];
        return tip(part.words, [
          [
            typeof color === 'string' ? color : null,
            `${clock.text(part.begin)} to ${clock.text(part.end)}`,
            duration(part.end - part.begin),
          ],
        ]);
      },
    },
    series: parts.map((part) => ({
      name: NAMES[part.kind],
      type: 'bar',
      stack: 'life',
      barWidth: 26,
      data: [part.end - part.begin],
      itemStyle: styles[part.kind],
      emphasis: { focus: 'none' },
    })),
  };
};

const story = (doc, submit, stays, state) => {
  const clock = clockOf(doc);
  const lines = [`${clock.text(submit)}: submitted`];
  let at = submit;
  for (const stay of stays) {
    if (stay.begin > at) lines.push(`waits ${duration(stay.begin - at)}`);
    lines.push(
      `${clock.text(stay.begin)}: starts on ${stay.where || 'the cluster'}, holds GPUs for ${duration(stay.end - stay.begin)}, ${stay.ended}${stay.lost ? `; ${duration(stay.lost)} of work lost` : ''}`,
    );
    at = stay.end;
  }
  if (!stays.length) lines.push(`never started: ${state}`);
  return el(
    'ol',
    { class: 'words' },
    lines.map((line) => el('li', {}, line)),
  );
};

const named = (text) => (text && text !== '(none)' ? text : null);

const factsOf = (rows, row) =>
  facts([
    ['Tenant', named(rows.textOf('tenant', row))],
    ['User', named(rows.textOf('user', row))],
    ['Class', named(rows.textOf('class', row))],
    ['GPUs', amount(rows.number('gpus', row))],
    ['Cost', rows.has('cost_usd') ? usd(rows.number('cost_usd', row)) : null],
  ]);

// Returns { element, close() }; call close() when the element is removed.
export const jobLife = async (doc, rows, row) => {
  const submit = rows.number('submit_s', row);
  const stays = await staysOf(doc, rows, row);
  const parts = partsOf(submit, stays);
  const chart = parts.length
    ? makeFigure({
        id: 'job-life',
        title: `Job ${rows.id(row)}`,
        height: 130,
        draw: option(doc, submit, parts),
        words: () =>
          parts
            .map((part) => `${part.words} for ${duration(part.end - part.begin)}`)
            .slice(0, 6)
            .join(', '),
      })
    : null;
  const element = el(
    'div',
    { class: 'life' },
    chart ? chart.element : el('h3', {}, `Job ${rows.id(row)}`),
    story(doc, submit, stays, rows.textOf('state', row)),
    factsOf(rows, row),
  );
  return { element, close: () => chart?.close() };
};
