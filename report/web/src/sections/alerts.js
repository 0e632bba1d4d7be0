// SPDX-License-Identifier: GPL-3.0-or-later
// What needs attention: rules that were broken, when and for how long, and what the run had to note.
import { el, table } from '../dom.js';
import { duration } from '../format.js';
import { clockOf } from '../time.js';

const FEW = 4;

const COLUMNS = [{ title: 'Alert' }, { title: 'Where' }, { title: 'From' }, { title: 'For', number: true }, { title: 'What' }];

const row = (clock) => (alert) => [alert.rule, alert.subject ?? '', clock.text(alert.begin_s), duration(alert.seconds), alert.words ?? ''];

// Many notes fold, so that the charts stay near.
const notesOf = (notes) => {
  const list = el('ul', { class: 'words' }, notes.map((note) => el('li', {}, note)));
  return notes.length > FEW ? el('details', {}, el('summary', {}, `${notes.length} notes`), list) : list;
};

export const alerts = {
  id: 'alerts',
  short: 'Alerts',
  title: (doc) => (doc.alerts?.length ? `Alerts and notes` : 'Notes'),
  has: (doc) => Boolean(doc.alerts?.length || doc.notes?.length),
  fill: (root, doc) => {
    root.classList.toggle('warn', Boolean(doc.alerts?.length));
    if (doc.alerts?.length) root.append(table(`Alerts: ${doc.alerts.length}`, COLUMNS, doc.alerts.map(row(clockOf(doc)))));
    if (doc.notes?.length) root.append(notesOf(doc.notes));
  },
};
