// SPDX-License-Identifier: GPL-3.0-or-later
// Opens the page of the planner in Chromium, for its tests. planner.sh sets the environment variables.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after } from 'node:test';

const { chromium } = createRequire(join(process.env.HEADROOM_NODE_MODULES, 'x.js'))('playwright-core');

const browser = await chromium.launch({
  executablePath: process.env.HEADROOM_CHROMIUM,
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
after(() => browser.close());

// Runs `check` on the page. Errors, warnings and requests to other hosts fail the test, unless `allowed` matches them.
export const onPlanner = async (settings, check) => {
  const { width = 1280, height = 900, allowed = null, ...more } = settings;
  const context = await browser.newContext({ viewport: { width, height }, acceptDownloads: true, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  const faults = [];
  const origin = new URL(process.env.HEADROOM_URL).origin;
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(`${message.type()}: ${message.text()}`));
  page.on('request', (request) => !request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()) && faults.push(`request: ${request.url()}`));
  try {
    await page.goto(process.env.HEADROOM_URL);
    await page.waitForSelector('#start');
    await check(page);
    const bad = faults.filter((fault) => !allowed?.test(fault));
    if (bad.length) throw new Error(bad.join('\n'));
  } finally {
    await context.close();
  }
};

export const painted = (page) => page.evaluate(() => Number(document.getElementById('results')?.dataset.painted ?? 0));
export const untilPainted = (page, before) =>
  page.waitForFunction((count) => Number(document.getElementById('results')?.dataset.painted ?? 0) > count, before);
