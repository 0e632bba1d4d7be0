// SPDX-License-Identifier: GPL-3.0-or-later
// A figure: title, choices, a sentence that describes the chart, the chart, and on demand a table of the same data.
// Charts in folded sections are created when they come near the viewport. All charts are redrawn when a setting of the
// page changes.
import { el, select, table } from './dom.js';
import { init } from './library.js';
import { isPrinting, isStill, look, onSettings, patterns } from './settings.js';
import { joinZoom, leaveZoom, zoomOptions } from './zoom.js';

const PRINT_WIDTH = 680; // pixels
const PRINT_HEIGHT = 0.72; // of the height on the screen

const NARROW = 520; // pixels; narrower charts have fewer labels

const fewerTicks = (axes) => {
  for (const axis of [axes].flat()) if (axis?.type === 'time') axis.splitNumber = 3;
};

const figures = new Set();

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) entry.target.show();
  },
  { rootMargin: '400px' },
);

const common = (colours) => ({
  animation: !isStill(),
  animationDuration: 250,
  useUTC: true,
  backgroundColor: 'transparent',
  textStyle: { color: colours.text, fontFamily: 'inherit' },
  aria: { enabled: patterns(), label: { enabled: false }, decal: { show: patterns() } },
  tooltip: {
    confine: true,
    backgroundColor: colours.panel,
    borderColor: colours.line,
    textStyle: { color: colours.text },
  },
});

export const legend = (colours, extra = {}) => ({
  type: 'scroll',
  top: 0,
  left: 0,
  textStyle: { color: colours.text },
  pageTextStyle: { color: colours.text },
  pageIconColor: colours.text,
  ...extra,
});

// The legend of a line chart shows the line of each series with its dashes; that of an area chart shows rectangles.
export const lineLegend = (colours) => legend(colours, { itemStyle: { opacity: 0 } });
export const areaLegend = (colours) => legend(colours, { icon: 'roundRect', itemWidth: 14, itemHeight: 10 });

export const valueAxis = (colours, name, write) => ({
  type: 'value',
  name,
  nameLocation: 'end',
  nameTextStyle: { color: colours.muted, align: 'left' },
  axisLabel: { color: colours.muted, formatter: write, hideOverlap: true },
  splitLine: { lineStyle: { color: colours.line } },
});

// The axis of durations from 0 to `most` seconds. Its steps are round durations, such as 10 minutes or 6 hours.
export const durationSteps = (most) => {
  const steps = [
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000,
    2592000, 8640000,
  ];
  const interval = steps.find((step) => most / step <= 5.5) ?? Math.max(most, 1) / 5;
  return { interval, min: 0, max: Math.ceil(most / interval) * interval || interval };
};

export const grid = (extra = {}) => ({
  left: 8,
  right: 16,
  top: 56,
  bottom: 8,
  outerBoundsMode: 'same',
  outerBoundsContain: 'axisLabel',
  ...extra,
});

// Charts are smaller in print, so that a page has space for more of them.
const widthOf = (place) => (isPrinting() ? PRINT_WIDTH : place.clientWidth);
const heightOf = (spec) => Math.round((spec.height ?? 320) * (isPrinting() ? PRINT_HEIGHT : 1));

class Figure {
  // The specification is described at the end of this file.
  constructor(spec) {
    this.spec = spec;
    this.state = Object.fromEntries((spec.choices ?? []).map((choice) => [choice.name, choice.value]));
    this.chart = null;
    this.place = el('div', { class: 'chart', role: 'img' });
    this.words = el('p', { class: 'chart-words' });
    this.tablePlace = el('div', { hidden: true });
    this.tableButton = spec.table ? this.makeTableButton() : null;
    const controls = [...this.makeChoices(), this.tableButton].filter(Boolean);
    this.element = el(
      'figure',
      { id: spec.id },
      el('figcaption', {}, el('h3', {}, spec.title), el('div', { class: 'controls' }, controls)),
      this.words,
      this.place,
      this.tablePlace,
    );
    this.tell();
    this.fit();
    this.place.show = () => this.show();
    near.observe(this.place);
    new ResizeObserver(
      () => this.chart && !isPrinting() && this.chart.resize({ width: this.place.clientWidth }),
    ).observe(this.place);
    figures.add(this);
  }

  makeChoices() {
    return (this.spec.choices ?? [])
      .filter((choice) => choice.options.length > 1)
      .map((choice) =>
        select(choice.label, choice.options, choice.value, (value) => {
          this.state[choice.name] = value;
          this.tell();
          this.draw();
          if (!this.tablePlace.hidden) this.fillTable();
        }),
      );
  }

  makeTableButton() {
    return el(
      'button',
      {
        type: 'button',
        'aria-expanded': 'false',
        'aria-label': `${this.spec.title}: as a table`,
        onclick: () => this.toggleTable(),
      },
      'Table',
    );
  }

  toggleTable() {
    this.tablePlace.hidden = !this.tablePlace.hidden;
    this.tableButton.setAttribute('aria-expanded', String(!this.tablePlace.hidden));
    if (!this.tablePlace.hidden) this.fillTable();
  }

  fillTable() {
    const { columns, rows } = this.spec.table(this.state);
    this.tablePlace.replaceChildren(table(this.spec.title, columns, rows));
  }

  tell() {
    const words = this.spec.words ? this.spec.words(this.state) : '';
    this.words.textContent = words;
    this.place.setAttribute(
      'aria-label',
      `${this.spec.title}. ${words}${this.spec.table ? ' The button Table shows the numbers.' : ''}`,
    );
  }

  fit() {
    this.place.style.height = `${heightOf(this.spec)}px`;
  }

  show(animated = true) {
    if (this.chart) return;
    this.still = !animated;
    near.unobserve(this.place);
    this.chart = init(this.place, null, { width: widthOf(this.place), height: heightOf(this.spec) });
    if (this.spec.time) joinZoom(this.chart, () => this.placeTicks());
    if (this.spec.ready) this.spec.ready(this.chart);
    this.draw();
    this.still = false;
  }

  draw() {
    if (!this.chart) return;
    const colours = look();
    const zoom = this.spec.time ? { dataZoom: zoomOptions(this.spec.slider && !isPrinting(), colours) } : {};
    const option = this.spec.draw(colours, this.state, widthOf(this.place) < NARROW);
    const base = { ...common(colours), ...(this.still ? { animation: false } : {}) };
    this.placed ||= [option.xAxis].flat().some((axis) => axis?.axisLabel?.customValues);
    if (widthOf(this.place) < NARROW) fewerTicks(option.xAxis);
    this.fit();
    this.chart.resize({ width: widthOf(this.place), height: heightOf(this.spec), animation: { duration: 0 } });
    this.chart.setOption(
      { ...base, ...zoom, ...option, tooltip: { ...base.tooltip, ...option.tooltip } },
      { notMerge: true },
    );
    this.chart.getZr().flush();
    this.drawForPrint();
  }

  // Recomputes the ticks for the visible time range, if dayTicks() rather than the chart library places them.
  placeTicks() {
    if (!this.placed || this.placing) return;
    this.placing = true;
    requestAnimationFrame(() => {
      this.placing = false;
      const axes = [this.spec.draw(look(), this.state, false).xAxis].flat();
      const ticks = ({ axisLabel, axisTick }) => ({
        axisLabel: { customValues: axisLabel?.customValues },
        axisTick: { customValues: axisTick?.customValues },
      });
      if (!this.chart.isDisposed())
        this.chart.setOption({ xAxis: axes.map((axis) => (axis.type === 'time' ? ticks(axis) : {})) });
    });
  }

  // Renders all layers of the chart into one canvas for printing, because browsers do not print all canvas layers.
  drawForPrint() {
    this.place.querySelector(':scope > .printed')?.remove();
    if (!isPrinting()) return;
    const picture = this.chart.renderToCanvas({ pixelRatio: 2 });
    picture.className = 'printed';
    this.place.append(picture);
  }

  close() {
    near.unobserve(this.place);
    figures.delete(this);
    if (!this.chart) return;
    leaveZoom(this.chart);
    this.chart.dispose();
  }
}

// Draws all charts that are not in folded sections, without animation. The page is then complete when it has loaded,
// and a screenshot of the whole page has no empty charts.
export const drawVisible = () => {
  for (const figure of figures) if (figure.place.clientWidth > 0) figure.show(false);
};

onSettings(() => {
  for (const figure of figures) {
    if (isPrinting()) figure.show();
    figure.draw();
  }
});

// spec: { id, title,
//         draw(look, state, narrow): returns the option of the chart library,
//         words(state): returns the sentence, table(state): returns { columns, rows },
//         choices: [{ name, label, options: [[value, words]], value }]; state: { name: chosen value },
//         height in pixels, time: whether the chart has a time axis and is zoomed with the other time charts,
//         slider: whether it has a zoom slider, ready(chart): called when the chart has been created }
export const makeFigure = (spec) => new Figure(spec);
export const figure = (spec) => makeFigure(spec).element;
