// SPDX-License-Identifier: GPL-3.0-or-later
// Alerts grouped by cause. Each cause has a sentence that states for which share of the run the alerts lasted. The
// reader can open the table by rule and subject, the list of all alerts, and the notes of the run.
import { el, table } from '../dom.js';
import { count, duration, share } from '../format.js';
import { total } from '../lines.js';
import { clockOf } from '../time.js';

const FEW = 4;
const MAX_ROWS = 1000;

const times = (n) => (n === 1 ? 'once' : `${count(n)} times`);

// The causes, most important first. `rules`: for each rule of the cause, a function that describes one subject.
const CAUSES = [
  {
    title: 'Budgets are exceeded',
    rules: { 'over-budget': ({ subject, times: n }) => `${subject} in ${n === 1 ? 'one month' : `${count(n)} months`}` },
  },
  {
    title: 'Jobs wait long',
    rules: { 'queue-time': ({ subject, times: n, part }) => `${subject} ${part} of the time (${times(n)})` },
  },
  {
    title: 'Capacity is short at times',
    rules: { 'gpus-saturated': ({ subject, part }) => `${subject} is full ${part} of the time` },
  },
  {
    title: 'Paid capacity is idle at times',
    rules: { 'gpus-underused': ({ subject, part }) => `${subject} is nearly empty ${part} of the time` },
  },
  {
    title: 'Spot nodes are interrupted often',
    rules: { 'spot-reclaims': ({ subject, part }) => `${subject} ${part} of the time` },
  },
  {
    title: 'GPUs are too hot',
    rules: { 'gpus-hot': ({ subject, part }) => `${subject} ${part} of the time` },
  },
  {
    title: 'Work could be lost',
    rules: { 'no-checkpoint': ({ subject, times: n }) => `${subject} ran long without a checkpoint ${times(n)}` },
  },
];
const MAX_SUBJECTS = 6;

const causeItem = (title, parts) =>
  el(
    'li',
    {},
    el('b', {}, `${title}: `),
    `${parts.slice(0, MAX_SUBJECTS).join(', ')}${parts.length > MAX_SUBJECTS ? `, and ${count(parts.length - MAX_SUBJECTS)} more` : ''}.`,
  );

// Rules that are not in CAUSES are shown under their own names.
const causes = (groups, seconds) => {
  const said = groups.map((group) => ({ ...group, subject: group.subject ?? 'all', part: share(Math.min(1, group.seconds / seconds)) }));
  const known = new Set(CAUSES.flatMap(({ rules }) => Object.keys(rules)));
  const others = [...new Set(said.map(({ rule }) => rule))].filter((rule) => !known.has(rule));
  return [
    ...CAUSES.map(({ title, rules }) => [title, said.filter(({ rule }) => rules[rule]).map((group) => rules[group.rule](group))]),
    ...others.map((rule) => [
      ruleWords(rule),
      said.filter((group) => group.rule === rule).map(({ subject, times: n }) => `${subject} ${times(n)}`),
    ]),
  ].filter(([, parts]) => parts.length);
};

const GROUPS = [
  { title: 'Alert' },
  { title: 'Subject' },
  { title: 'Count', number: true },
  { title: 'Total', number: true },
  { title: 'Longest began' },
  { title: 'Detail of the longest' },
];
const EACH = [
  { title: 'Alert' },
  { title: 'Subject' },
  { title: 'Begin' },
  { title: 'Duration', number: true },
  { title: 'Detail' },
];

const grouped = (doc) => [...doc.alert_groups].sort((a, b) => b.seconds - a.seconds);

const ruleWords = (rule) => rule.replaceAll('-', ' ');

const groupRow =
  (clock) =>
  ({ rule, subject, times, seconds, from_s: from, words }) => [
    ruleWords(rule),
    subject ?? '',
    count(times),
    duration(seconds),
    clock.text(from),
    words ?? '',
  ];

const eachRow = (clock) => (alert) => [
  ruleWords(alert.rule),
  alert.subject ?? '',
  clock.text(alert.begin_s),
  duration(alert.seconds),
  alert.words ?? '',
];

// The list of all alerts; its rows are created when the reader opens it. `alerts`: the alerts in the report, which
// contains only the first ones if there are many. `all`: the number of alerts of the run.
const eachOf = (alerts, all, clock) => {
  const details = el(
    'details',
    { class: 'screen-only' },
    el(
      'summary',
      {},
      alerts.length < all
        ? `The first ${count(alerts.length)} of ${count(all)} alerts`
        : `Each of the ${count(all)} alerts`,
    ),
  );
  const fill = () =>
    details.append(
      table('Each alert', EACH, alerts.slice(0, MAX_ROWS).map(eachRow(clock)), 'stacked'),
      alerts.length > MAX_ROWS ? el('p', { class: 'note' }, `The first ${count(MAX_ROWS)} of ${count(all)} are shown.`) : '',
    );
  details.addEventListener('toggle', fill, { once: true });
  return details;
};

// If there are many notes, they are collapsed, so that the charts remain near the top of the page.
const notesOf = (notes) => {
  const list = el(
    'ul',
    { class: 'words' },
    notes.map((note) => el('li', {}, note)),
  );
  return notes.length > FEW ? el('details', {}, el('summary', {}, `${notes.length} notes`), list) : list;
};

const fillAlerts = (root, doc) => {
  const clock = clockOf(doc);
  const groups = grouped(doc);
  const all = total(groups.map((group) => group.times));
  root.classList.add('warn');
  root.append(
    el(
      'ul',
      { class: 'words', id: 'causes' },
      causes(groups, doc.spans.end_s).map(([title, parts]) => causeItem(title, parts)),
    ),
    el(
      'details',
      {},
      el('summary', {}, `${count(all)} alert${all === 1 ? '' : 's'} by rule and subject`),
      table(`Alerts by rule and subject: ${groups.length}`, GROUPS, groups.map(groupRow(clock)), 'stacked'),
    ),
  );
  if (all > groups.length) root.append(eachOf(doc.alerts, all, clock));
};

export const alerts = {
  id: 'alerts',
  short: 'Alerts',
  title: (doc) => (doc.alerts?.length ? 'Alerts and notes' : 'Notes'),
  has: (doc) => Boolean(doc.alerts?.length || doc.notes?.length),
  fill: (root, doc) => {
    if (doc.alerts?.length) fillAlerts(root, doc);
    if (doc.notes?.length) root.append(notesOf(doc.notes));
  },
};
