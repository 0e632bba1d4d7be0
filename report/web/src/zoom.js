// SPDX-License-Identifier: GPL-3.0-or-later
// The visible time range that all time charts share. If the user zooms one chart by brush, wheel or buttons, all charts
// are zoomed.
import { el } from './dom.js';

const range = { start: 0, end: 100 };
const charts = new Set();

export const shownRange = () => ({ ...range });

const apply = (from) => {
  for (const chart of charts)
    if (chart !== from && !chart.isDisposed()) chart.dispatchAction({ type: 'dataZoom', ...range });
};

const set = (start, end, from) => {
  const [low, high] = [Math.max(0, start), Math.min(100, end)];
  if (high - low < 0.05 || (Math.abs(low - range.start) < 1e-6 && Math.abs(high - range.end) < 1e-6)) return;
  Object.assign(range, { start: low, end: high });
  apply(from);
};

export const zoomOptions = (slider, look) => [
  {
    type: 'inside',
    xAxisIndex: 'all',
    ...range,
    zoomOnMouseWheel: 'ctrl',
    moveOnMouseMove: false,
    moveOnMouseWheel: false,
    preventDefaultMouseMove: false,
  },
  ...(slider
    ? [
        {
          type: 'slider',
          ...range,
          height: 26,
          bottom: 4,
          showDetail: false,
          brushSelect: true,
          borderColor: look.line,
          textStyle: { color: look.muted },
        },
      ]
    : []),
];

// `after` is called when the visible range of the chart has changed.
export const joinZoom = (chart, after) => {
  charts.add(chart);
  chart.on('datazoom', () => {
    const { start, end } = chart.getOption().dataZoom[0];
    set(start, end, chart);
    after();
  });
};

export const leaveZoom = (chart) => charts.delete(chart);

const button = (words, action) => el('button', { type: 'button', onclick: action }, words);

// Buttons that zoom and move the range, for users unable to drag.
export const zoomButtons = () => {
  const width = () => range.end - range.start;
  const middle = () => (range.end + range.start) / 2;
  const around = (factor) => () => set(middle() - (width() * factor) / 2, middle() + (width() * factor) / 2);
  const move = (part) => () => {
    const by = Math.max(-range.start, Math.min(100 - range.end, part * width()));
    set(range.start + by, range.end + by);
  };
  return el(
    'div',
    { class: 'controls', role: 'group', 'aria-label': 'Time range of all time charts' },
    button('Zoom in', around(0.5)),
    button('Zoom out', around(2)),
    button('Earlier', move(-0.5)),
    button('Later', move(0.5)),
    button('All time', () => set(0, 100)),
  );
};
