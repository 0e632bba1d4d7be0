// SPDX-License-Identifier: GPL-3.0-or-later
// Number formats, equal to those of the terminal output (base/text.c).

// The no-break space that separates a number from its unit.
const GAP = '\u00a0';

const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');

// Rounds after a multiplication, as the C code does. For example, 1.115 becomes 1.12, although its binary value is less
// than 1.115.
export const fixed = (value, decimals) => {
  const unit = 10 ** decimals;
  const [whole, part] = (Math.round(Math.abs(value) * unit) / unit).toFixed(decimals).split('.');
  const text = part ? `${grouped(whole)}.${part}` : grouped(whole);
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
};

export const count = (value) => fixed(value, 0);

// A count with its noun, such as "1 node" or "2 nodes".
export const things = (value, one) => `${count(value)} ${one}${value === 1 ? '' : 's'}`;

// A number without decimals if it is an integer or at least 1,000, with one decimal from 100, otherwise with two:
// 8,123; 812.3; 8.12.
export const amount = (value) => {
  const size = Math.abs(value);
  return Number.isInteger(value) || size >= 1000 ? count(value) : fixed(value, size >= 100 ? 1 : 2);
};

export const share = (value) => `${fixed(value * 100, 1)}${GAP}%`;

// The cents of an amount of dollars, without its sign. Amounts are whole micro-dollars; half cents are rounded up.
const centsOf = (value) => Math.floor((Math.round(Math.abs(value) * 1e6) + 5000) / 10000);

export const usd = (value) => {
  const cents = centsOf(value);
  const text = cents >= 999950 ? count(Math.round(cents / 100)) : fixed(cents / 100, 2);
  return `${value < 0 && cents ? '-' : ''}$${text}`;
};

// The format of a column of dollars: whole dollars if any value is large, so that a column does not mix the two.
export const usdColumn = (values) => {
  const large = values.some((value) => centsOf(value ?? 0) >= 999950);
  return large ? (value) => `${value < 0 && Math.round(value) ? '-' : ''}$${count(Math.abs(value))}` : usd;
};

// Short format for axes, such as $1.2k or $3M.
export const usdShort = (value) => {
  const size = Math.abs(value);
  const [unit, sign] = size >= 1e6 ? [1e6, 'M'] : size >= 1e3 ? [1e3, 'k'] : [1, ''];
  return `${value < 0 ? '-' : ''}$${Number((size / unit).toPrecision(3))}${sign}`;
};

const twoParts = (large, unit, small, smallUnit) =>
  `${grouped(String(large))}${GAP}${unit}${small ? ` ${small}${GAP}${smallUnit}` : ''}`;

// A duration in its two largest units, such as "2 h 52 min".
export const duration = (seconds) => {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds === 0) return `0${GAP}s`;
  if (seconds < 0.005) return `<${GAP}0.01${GAP}s`;
  if (seconds < 59.95) return `${fixed(seconds, seconds < 9.995 ? 2 : 1)}${GAP}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return twoParts(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.floor((whole + 30) / 60);
  if (minutes < 1440) return twoParts(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.floor((whole + 1800) / 3600);
  return twoParts(Math.floor(hours / 24), 'd', hours < 24000 ? hours % 24 : 0, 'h');
};

// Short format of durations for axes: the largest unit, rounded to three digits.
export const durationShort = (seconds) => {
  if (seconds === 0) return '0';
  const [unit, sign] =
    seconds >= 86400 ? [86400, 'd'] : seconds >= 3600 ? [3600, 'h'] : seconds >= 60 ? [60, 'min'] : [1, 's'];
  return `${Number((seconds / unit).toPrecision(3))} ${sign}`;
};

export const orDash = (write) => (value) => (value === null || value === undefined ? '–' : write(value));
