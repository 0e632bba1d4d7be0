// SPDX-License-Identifier: GPL-3.0-or-later
// What is said beside the pointer: a title and rows of mark, name and value, made of elements, never of markup in names.
import { el } from './dom.js';

const MOST_ROWS = 14;

// rows: [[colour or null, name, value text]]
export const tip = (title, rows) =>
  el(
    'div',
    { class: 'tip' },
    el('strong', {}, title),
    el(
      'table',
      {},
      rows.slice(0, MOST_ROWS).map(([colour, name, value]) => {
        const mark = el('span', { class: 'mark' });
        mark.style.background = colour ?? 'transparent';
        return el('tr', {}, el('td', {}, mark), el('td', {}, name), el('td', {}, value));
      }),
    ),
  );

// For charts with an axis of time or of groups: all series at the pointer, by `write`.
export const axisTip = (title, write) => (found) => {
  const rows = found
    .map((f) => [f.color, f.seriesName, Array.isArray(f.value) ? f.value[1] : f.value])
    .filter(([, name, value]) => value !== null && value !== undefined && value !== '-' && name)
    .map(([colour, name, value]) => [colour, name, write(value, name)]);
  return tip(title(found[0]), rows);
};
