// SPDX-License-Identifier: GPL-3.0-or-later
// Functions for time charts: a line or an area of the buckets of a series.
import { points } from './time.js';

// extra: { area: opacity, stack: name, style: itemStyle, width, type, z }
export const line = (doc, name, list, colour, extra = {}) => ({
  name,
  type: 'line',
  data: points(doc, list),
  symbol: 'none',
  color: colour,
  lineStyle: { width: extra.width ?? 1.5, type: extra.type ?? 'solid', color: colour },
  ...(extra.area ? { areaStyle: { color: colour, opacity: extra.area } } : {}),
  ...(extra.stack ? { stack: extra.stack } : {}),
  ...(extra.style ? { itemStyle: extra.style } : {}),
  emphasis: { disabled: true },
  z: extra.z ?? 2,
});

export const highest = (list) => list.reduce((most, x) => Math.max(most, x ?? 0), 0);
export const total = (list) => list.reduce((sum, x) => sum + (x ?? 0), 0);
export const mean = (list) => total(list) / (list.length || 1);
