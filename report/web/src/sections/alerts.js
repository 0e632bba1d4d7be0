// SPDX-License-Identifier: GPL-3.0-or-later
// Alerts grouped by rule and subject, longest first, with a list of all alerts that can be opened; and the notes of the
// run.
import { el, table } from '../dom.js';
import { count, duration } from '../format.js';
import { total } from '../lines.js';
import { clockOf } from '../time.js';

const FEW = 4;
const MAX_ROWS = 1000;

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

// The rows are created when the list is opened. all: the number of alerts of the run. If there are many, the report
// contains only the first ones.
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
  const all = total(groups.map(({ times }) => times));
  root.classList.add('warn');
  root.append(table(`Alerts by rule and subject: ${groups.length}`, GROUPS, groups.map(groupRow(clock)), 'stacked'));
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
