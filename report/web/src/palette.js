// SPDX-License-Identifier: GPL-3.0-or-later
// Colours of charts. The palette is that of Okabe and Ito (2008). Its colours also differ for people with the common
// kinds of colour blindness. In addition, lines have different dashes, marks have different shapes, and the reader can
// enable patterns.

const HUES = [
  '#0072B2',
  '#E69F00',
  '#009E73',
  '#CC79A7',
  '#56B4E9',
  '#D55E00',
  '#8C6D1F',
  '#7A5195',
  '#2F4B7C',
  '#9AA500',
  '#5F9EA0',
];
const OTHERS = '#8A929B';

const light = {
  name: 'light',
  text: '#1b1f24',
  muted: '#545d68',
  line: '#d5dae0',
  panel: '#ffffff',
  capacity: '#1b1f24',
  idle: '#A7AEB6',
  allocated: '#56B4E9',
  busy: '#0072B2',
  useful: '#007A5A',
  waiting: '#B35900',
  worst: '#A63C00',
  lost: '#D55E00',
  hues: HUES,
  others: OTHERS,
  ramp: ['#f1f3f5', '#bcd9ec', '#56B4E9', '#0072B2', '#06304d'],
};

const dark = {
  ...light,
  name: 'dark',
  text: '#e8ebef',
  muted: '#a9b3bf',
  line: '#37414c',
  panel: '#1b2128',
  capacity: '#e8ebef',
  idle: '#5b6570',
  allocated: '#2f86b8',
  busy: '#7cc7f2',
  useful: '#4fd0a5',
  waiting: '#f0a13c',
  worst: '#ff9a5c',
  hues: [
    '#4aa3d8',
    '#E69F00',
    '#2bbd93',
    '#dd9cc0',
    '#9bd3f5',
    '#f07f3c',
    '#c9a74e',
    '#b08fd0',
    '#7f9bd1',
    '#c9d43c',
    '#8cc7c9',
  ],
  ramp: ['#232b33', '#1f4d6b', '#2f86b8', '#7cc7f2', '#e6f5ff'],
};

export const looks = { light, dark };

export const hue = (look, i, name) => (name === '(others)' ? look.others : look.hues[i % look.hues.length]);

// Hatching for paid but unused capacity.
export const hatched = (look) => ({
  color: look.panel,
  dashArrayX: [1, 0],
  dashArrayY: [2, 4],
  rotation: -Math.PI / 4,
});
