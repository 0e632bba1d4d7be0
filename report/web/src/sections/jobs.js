// SPDX-License-Identifier: GPL-3.0-or-later
// The job table: search, filters, sorting and pages. A click on a row shows the waits and attempts of the job. The
// columns are decoded when the browser is idle, or earlier if the table becomes visible.
import { jobIds, tableOf } from '../data.js';
import { el, select } from '../dom.js';
import { amount, count, duration, usd } from '../format.js';
import { jobLife } from '../job_life.js';
import { makeRows } from '../job_rows.js';
import { clockOf } from '../time.js';

const PAGE = 50;
const WAITS = [
  ['', 'any'],
  ['0', '> 0'],
  ['60', '> 1 min'],
  ['600', '> 10 min'],
  ['3600', '> 1 h'],
  ['21600', '> 6 h'],
  ['86400', '> 1 d'],
];

// Columns that are hidden on narrow screens; the details of a job show their values.
const SPARE = new Set(['tenant', 'user', 'class', 'submit_s', 'start_s', 'end_s', 'pool', 'attempts', 'lost_s', 'cost_usd']);
const classOf = (name, number) => [number && 'number', SPARE.has(name) && 'spare'].filter(Boolean).join(' ') || null;

const known = (write) => (value) => (value === null || value < 0 || Number.isNaN(value) ? '–' : write(value));

const columnsOf = (doc, rows) => {
  const clock = clockOf(doc);
  const text = (name, title) => ({ name, title, of: (row) => rows.textOf(name, row) });
  const number = (name, title, write) => ({
    name,
    title,
    number: true,
    of: (row) => known(write)(rows.number(name, row)),
  });
  return [
    text('tenant', 'Tenant'),
    text('user', 'User'),
    text('class', 'Class'),
    number('gpus', 'GPUs', amount),
    { name: 'submit_s', title: 'Submit', of: (row) => clock.text(rows.number('submit_s', row)) },
    number('wait_s', 'Wait', duration),
    { name: 'start_s', title: 'Start', of: (row) => known((s) => clock.text(s))(rows.number('start_s', row)) },
    { name: 'end_s', title: 'End', of: (row) => known((s) => clock.text(s))(rows.number('end_s', row)) },
    text('state', 'State'),
    text('pool', 'Pool'),
    number('attempts', 'Starts', count),
    number('lost_s', 'Lost', duration),
    number('cost_usd', 'Cost', usd),
  ].filter(
    (column) =>
      rows.has(column.name) &&
      (!doc.jobs.text[column.name] || doc.jobs.text[column.name].some((word) => word && word !== '(none)')),
  );
};

// Adds thousands separators to the sentence of the document that describes which jobs were selected.
const counted = (words) => words.replace(/\d{4,}/g, (digits) => count(Number(digits)));

class JobTable {
  constructor(doc, rows) {
    Object.assign(this, { doc, rows, columns: columnsOf(doc, rows), page: 0, sortBy: null, down: false, open: null });
    this.wanted = { search: '', class: '', tenant: '', state: '', wait: '' };
    this.found = rows.find(this.wanted);
    this.status = el('p', { role: 'status', class: 'muted' });
    this.head = el('tr');
    this.body = el('tbody');
    this.turner = el('div', { class: 'controls', role: 'group', 'aria-label': 'Pages of the job table' });
    const table = el('table', {}, el('caption', { class: 'hidden' }, 'Jobs'), el('thead', {}, this.head), this.body);
    this.element = el(
      'div',
      {},
      this.makeFilters(),
      this.status,
      el('div', { class: 'box whole jobs', tabindex: '0', role: 'region', 'aria-label': 'Jobs' }, table),
      this.turner,
    );
    this.draw();
  }

  makeFilters() {
    const { text } = this.doc.jobs;
    const change = (name) => (value) => this.filter({ [name]: value });
    let later = 0;
    const search = el('input', {
      type: 'search',
      id: 'job-search',
      placeholder: 'id, tenant or user',
      oninput: (event) => {
        clearTimeout(later);
        later = setTimeout(() => this.filter({ search: event.target.value }), 120);
      },
    });
    const choice = (name, label) => {
      const places = (text[name] ?? [])
        .map((word, i) => [String(i), word || '(none)'])
        .sort((a, b) => a[1].localeCompare(b[1]));
      return places.length > 1 ? select(label, [['', 'all'], ...places], '', change(name)) : null;
    };
    return el(
      'form',
      { class: 'controls', role: 'search', 'aria-label': 'Jobs', onsubmit: (event) => event.preventDefault() },
      el('label', {}, 'Search', search),
      choice('class', 'Class'),
      choice('tenant', 'Tenant'),
      choice('state', 'State'),
      select('Wait', WAITS, '', change('wait')),
    );
  }

  filter(change) {
    Object.assign(this.wanted, change);
    this.found = this.rows.find(this.wanted);
    if (this.sortBy) this.rows.sort(this.found, this.sortBy, this.down);
    this.page = 0;
    this.draw();
  }

  sort(name) {
    this.down = this.sortBy === name ? !this.down : ['wait_s', 'gpus', 'lost_s', 'cost_usd', 'attempts'].includes(name);
    this.sortBy = name;
    this.rows.sort(this.found, name, this.down);
    this.page = 0;
    this.draw();
    this.head.querySelector('[data-sort="' + name + '"]').focus();
  }

  draw() {
    this.close();
    const { count: all, shown: shownOf } = this.doc.jobs;
    const first = this.page * PAGE;
    const shown = this.found.subarray(first, first + PAGE);
    this.status.textContent = this.found.length
      ? `${count(this.found.length)} of ${count(all)} jobs; rows ${count(first + 1)} to ${count(first + shown.length)}`
      : `No matching job.${shownOf < all ? ` ${count(all - shownOf)} jobs are not in this file.` : ''}`;
    const header = (name, title, number) =>
      el(
        'th',
        {
          scope: 'col',
          class: classOf(name, number),
          'aria-sort': this.sortBy === name ? (this.down ? 'descending' : 'ascending') : 'none',
        },
        el(
          'button',
          { type: 'button', 'data-sort': name, onclick: () => this.sort(name) },
          `${title}${this.sortBy === name ? (this.down ? ' ▼' : ' ▲') : ''}`,
        ),
      );
    this.head.replaceChildren(header('id', 'Job'), ...this.columns.map((c) => header(c.name, c.title, c.number)));
    this.body.replaceChildren(...Array.from(shown, (row) => this.line(row)));
    this.drawTurner();
  }

  line(row) {
    const button = el('button', { type: 'button', 'aria-expanded': 'false' }, this.rows.id(row));
    const line = el(
      'tr',
      { class: 'job', 'data-row': String(row), 'aria-expanded': null },
      el('td', {}, button),
      this.columns.map((c) => el('td', { class: classOf(c.name, c.number) }, c.of(row))),
    );
    line.addEventListener('click', () => this.toggle(line, button, row));
    return line;
  }

  async toggle(line, button, row) {
    const again = this.open?.row === row;
    this.close();
    if (again) return;
    const cell = el('td', { colspan: String(this.columns.length + 1) });
    const detail = el('tr', { class: 'detail' }, cell);
    this.open = { row, button, line, detail, close: () => {} };
    button.setAttribute('aria-expanded', 'true');
    line.after(detail);
    const life = await jobLife(this.doc, this.rows, row);
    if (this.open?.detail !== detail) return;
    this.open.close = life.close;
    cell.append(life.element);
  }

  close() {
    if (!this.open) return;
    this.open.close();
    this.open.detail.remove();
    this.open.button.setAttribute('aria-expanded', 'false');
    this.open = null;
  }

  drawTurner() {
    const last = Math.max(0, Math.ceil(this.found.length / PAGE) - 1);
    const turn = (words, page) =>
      el(
        'button',
        {
          type: 'button',
          disabled: page < 0 || page > last || page === this.page,
          onclick: () => {
            this.page = page;
            this.draw();
            (
              this.turner.querySelector(`[data-turn="${words}"]:not(:disabled)`) ??
              this.turner.querySelector('button:not(:disabled)')
            )?.focus();
          },
          'data-turn': words,
        },
        words,
      );
    this.turner.replaceChildren(
      turn('First', 0),
      turn('Previous', this.page - 1),
      el('span', {}, `page ${count(this.page + 1)} of ${count(last + 1)}`),
      turn('Next', this.page + 1),
      turn('Last', last),
    );
  }
}

const fillTable = async (doc, place) => {
  const [columns, ids] = [await tableOf(doc.jobs), await jobIds()];
  place.replaceChildren(new JobTable(doc, makeRows(columns, doc.jobs.text, ids, doc.jobs.shown)).element);
};

export const jobs = {
  id: 'jobs',
  short: 'Jobs',
  title: () => 'Jobs',
  folded: true,
  has: (doc) => Boolean(doc.jobs?.shown),
  fill: (root, doc) => {
    const { count: all, shown, why_not_all: why } = doc.jobs;
    const place = el('div', { 'aria-busy': 'true' }, el('p', { class: 'muted' }, 'Reading the jobs …'));
    root.append(
      el(
        'p',
        { class: 'lead' },
        `Open a row to see the waits and attempts of the job.${shown < all ? ` This file contains ${counted(why)}.` : ''}`,
      ),
      place,
      el('p', { class: 'print-only' }, 'Only the first 20 rows of the job table are printed.'),
    );
    let begun = false;
    const begin = () => {
      if (begun) return;
      begun = true;
      fillTable(doc, place).then(() => place.removeAttribute('aria-busy'));
    };
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        begin();
      },
      { rootMargin: '600px' },
    ).observe(place);
    (window.requestIdleCallback ?? ((task) => setTimeout(task, 500)))(begin, { timeout: 3000 });
  },
};
