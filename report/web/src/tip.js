// SPDX-License-Identifier: GPL-3.0-or-later
// Tooltips: a title, and rows with a mark, a name and a value. They are built from elements, so that names are never
// parsed as markup.
import { el } from './dom.js';

const MAX_ROWS = 14;

// rows: [[colour or null, name, value text]]
export const tip = (title, rows) =>
  el(
    'div',
    { class: 'tip' },
    el('strong', {}, title),
    el(
      'table',
      {},
      rows.slice(0, MAX_ROWS).map(([colour, name, value]) => {
        const mark = el('span', { class: 'mark' });
        mark.style.background = colour ?? 'transparent';
        return el('tr', {}, el('td', {}, mark), el('td', {}, name), el('td', {}, value));
      }),
    ),
  );

// The tooltip of charts with an axis of times or of names. It lists the values of all series at the pointer. `write`
// formats a value.
export const axisTip = (title, write) => (found) => {
  const rows = found
    .map((f) => [f.color, f.seriesName, Array.isArray(f.value) ? f.value[1] : f.value])
    .filter(([, name, value]) => value !== null && value !== undefined && value !== '-' && name)
    .map(([colour, name, value]) => [colour, name, write(value, name)]);
  return tip(title(found[0]), rows);
};
