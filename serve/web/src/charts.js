// SPDX-License-Identifier: GPL-3.0-or-later
// Charts as SVG. A chart is drawn in a few milliseconds, so it can be redrawn while a slider moves. Each chart has a
// sentence for screen readers.

import { el } from '../../../report/web/src/dom.js';
import { durationShort } from '../../../report/web/src/format.js';

const SPACE = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 220, 56, 8, 10, 24];

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// Returns a round number that is at least `most`.
const roundUp = (most) => {
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * [1, 2, 2.5, 5, 10].find((step) => step * unit >= most);
};

const short = (value) => (value >= 1e6 ? `${Number((value / 1e6).toPrecision(3))}M` : value >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : String(Number(value.toPrecision(3))));

const frame = (most, most_x, write, writeX) => {
  const parts = [];
  for (let i = 0; i <= 4; i++) {
    const y = HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * i) / 4;
    parts.push(svg('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }), svg('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, write((most * i) / 4)));
    const x = LEFT + ((WIDTH - LEFT - RIGHT) * i) / 4;
    parts.push(svg('text', { x, y: HEIGHT - 6, 'text-anchor': i === 4 ? 'end' : i ? 'middle' : 'start' }, writeX((most_x * i) / 4)));
  }
  return parts;
};

const put = (figure, title, words, key, children) => {
  const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}. ${words}` }, ...children);
  figure.replaceChildren(el('figcaption', {}, el('h3', {}, title), el('p', { class: 'key' }, ...key)), picture, el('p', { class: 'chart-words' }, words));
};

// lines: [{ name, kind, values, seconds }]. `values` are the means of equal intervals of a period of `seconds`; null:
// the value is unknown. All periods begin at the left.
export const lineChart = (figure, title, words, lines, write = short) => {
  const longest = Math.max(...lines.map(({ seconds }) => seconds));
  const most = roundUp(Math.max(...lines.map(({ values }) => values.reduce((a, b) => Math.max(a, b), 0))));
  const [w, h] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  const path = ({ values, seconds }) => values.map((value, i) => value === null ? '' : `${i && values[i - 1] !== null ? 'L' : 'M'}${(LEFT + ((w * (i + 0.5)) / values.length) * (seconds / longest)).toFixed(1)} ${(HEIGHT - BOTTOM - (h * value) / most).toFixed(1)}`).join('');
  put(figure, title, words, lines.map(({ name, kind }) => el('span', { class: `key-${kind}` }, name)), [
    ...frame(most, longest, write, durationShort),
    ...lines.map((line) => svg('path', { class: `line ${line.kind}`, d: path(line) })),
  ]);
};

// points: [{ x, y, kind, title }]
export const scatterChart = (figure, title, words, points, key, writeX, writeY) => {
  const [most_x, most] = ['x', 'y'].map((axis) => roundUp(points.reduce((a, point) => Math.max(a, point[axis]), 0)));
  const [w, h] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  put(figure, title, words, key, [
    ...frame(most, most_x, writeY, writeX),
    ...points.map(({ x, y, kind, title: name }) => svg('circle', { class: kind, r: kind === 'choice' ? 6 : 3.5, cx: LEFT + (w * x) / most_x, cy: HEIGHT - BOTTOM - (h * y) / most }, svg('title', {}, name))),
  ]);
};
