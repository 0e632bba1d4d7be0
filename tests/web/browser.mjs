// SPDX-License-Identifier: GPL-3.0-or-later
// Starts Chromium for the tests and opens pages in it. web_page.sh sets environment variables: HEADROOM_PAGES is the
// folder of the pages and of the other output of the same runs, HEADROOM_NODE_MODULES is the folder of the npm
// packages, and HEADROOM_CHROMIUM is the browser.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after } from 'node:test';

const folder = process.env.HEADROOM_PAGES;
const { chromium } = createRequire(join(process.env.HEADROOM_NODE_MODULES, 'x.js'))('playwright-core');

const browser = await chromium.launch({
  executablePath: process.env.HEADROOM_CHROMIUM,
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
after(() => browser.close());

export const path = (name) => join(folder, name);
export const read = (name) => readFileSync(path(name), 'utf8');
export const json = (name) => JSON.parse(read(name));
export const has = (name) => existsSync(path(name));

export const csv = (name) => {
  const [head, ...rows] = read(name).trimEnd().split('\n');
  const names = head.split(',');
  return rows.map((row) => Object.fromEntries(row.split(',').map((cell, i) => [names[i], cell])));
};

// Opens a page. `page.faults` collects errors, warnings, and requests for URLs other than the page.
// Folded sections are opened, unless `folded` is set.
export const open = async (name, { width = 1280, height = 900, folded = false, ...settings } = {}) => {
  const context = await browser.newContext({ viewport: { width, height }, ...settings });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
  page.on(
    'console',
    (message) =>
      ['error', 'warning'].includes(message.type()) && page.faults.push(`${message.type()}: ${message.text()}`),
  );
  const url = pathToFileURL(path(name)).href;
  page.on(
    'request',
    (request) =>
      !request.url().startsWith(url) &&
      !/^(data|blob):/.test(request.url()) &&
      page.faults.push(`request: ${request.url()}`),
  );
  await page.goto(url);
  if (!folded)
    await page.evaluate(() => document.querySelectorAll('details.fold').forEach((fold) => (fold.open = true)));
  await page.waitForFunction(() => !document.querySelector('#jobs [aria-busy]'));
  return page;
};

// Opens a page, runs `check` on it, and closes it.
export const on = async (name, settings, check) => {
  const page = await open(name, settings);
  try {
    return await check(page);
  } finally {
    await page.context().close();
  }
};

// Scrolls to each figure, because charts are drawn when they become visible.
export const seeAll = async (page) => {
  await page.evaluate(async () => {
    for (const figure of document.querySelectorAll('figure')) {
      figure.scrollIntoView({ behavior: 'instant', block: 'center' });
      await new Promise((done) => setTimeout(done, 60));
    }
  });
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('canvas')),
  );
  await page.waitForTimeout(400);
};

// Number of pixels of a chart that are not grey. Axes and texts are grey, so an empty chart has none.
export const ink = (page, selector) =>
  page.locator(selector).evaluate((chart) => {
    let inked = 0;
    for (const canvas of chart.querySelectorAll('canvas')) {
      const { data } = canvas
        .getContext('2d', { willReadFrequently: true })
        .getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        const [low, high] = [Math.min(data[i], data[i + 1], data[i + 2]), Math.max(data[i], data[i + 1], data[i + 2])];
        if (data[i + 3] > 40 && high - low > 40) inked++;
      }
    }
    return inked;
  });

// Hash of the pixels of a chart.
export const picture = async (page, selector) => {
  const drawn = await page
    .locator(`${selector} .chart`)
    .evaluate((chart) => [...chart.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL()).join(' '));
  return createHash('sha256').update(drawn).digest('hex').slice(0, 16);
};

export const documentOf = (page) =>
  page.evaluate(() => JSON.parse(document.getElementById('headroom-data').textContent));

// Text of an element, with non-breaking spaces replaced by spaces.
export const words = async (locator) => (await locator.innerText()).replaceAll('\u00a0', ' ');
