// SPDX-License-Identifier: GPL-3.0-or-later
// Creates elements from text that is never parsed as markup.

// el('p', { class: 'lead', onclick }, 'text', child, ...): null and undefined children are skipped.
export const el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

// A drop-down list of [value, text] pairs with a label.
export const select = (label, options, value, change) =>
  el(
    'label',
    {},
    label,
    el(
      'select',
      { 'aria-label': label, onchange: (event) => change(event.target.value) },
      options.map(([key, words]) => el('option', { value: key, selected: key === value }, words)),
    ),
  );

// A table that scrolls in its own box. columns: [{ title, number }]; rows: arrays of texts or elements. If kind is
// 'stacked', a narrow screen shows each row as a card with the titles next to the values.
export const table = (caption, columns, rows, kind = '') =>
  el(
    'div',
    { class: `box ${kind}`, tabindex: '0', role: 'region', 'aria-label': caption },
    el(
      'table',
      {},
      el('caption', { class: 'hidden' }, caption),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          columns.map((c) => el('th', { scope: 'col', class: c.number ? 'number' : null }, c.title)),
        ),
      ),
      el(
        'tbody',
        {},
        rows.map((row) =>
          el(
            'tr',
            {},
            row.map((cell, i) => el('td', { class: columns[i].number ? 'number' : null, 'data-title': columns[i].title }, cell)),
          ),
        ),
      ),
    ),
  );

// A button that copies a text.
export const copyButton = (text) => {
  const button = el('button', { type: 'button', class: 'screen-only' }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    button.textContent = done ? 'Copied' : 'Select and copy by hand';
  });
  return button;
};

// A list of [term, description] pairs.
export const facts = (pairs) =>
  el(
    'dl',
    { class: 'facts' },
    pairs
      .filter((pair) => pair[1] !== null && pair[1] !== undefined)
      .flatMap(([term, what]) => [el('dt', {}, term), el('dd', {}, what)]),
  );
