// SPDX-License-Identifier: GPL-3.0-or-later
// The job table. Search, filters, order and pages agree with the CSV file of jobs. A click on a row shows the history
// of its job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv, on, words } from './browser.mjs';

const status = (page) => page.locator('#jobs [role="status"]');
const expectCount = async (page, count, of) => {
  await page
    .waitForFunction(
      (text) => document.querySelector('#jobs [role="status"]').textContent.startsWith(text),
      `${count.toLocaleString('en')} of ${of.toLocaleString('en')} jobs`,
      { timeout: 10000 },
    )
    .catch(async () => {
      throw new Error(`${await status(page).innerText()}, not ${count} of ${of}`);
    });
};

const filter = (page, label, option) => page.locator('#jobs').getByLabel(label, { exact: true }).selectOption(option);
const firstCells = async (page) =>
  (await page.locator('#jobs tr.job').first().locator('td').allInnerTexts()).map((text) =>
    text.replaceAll('\u00a0', ' '),
  );

test('search finds jobs by id and by tenant', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    const wanted = jobs[Math.floor(jobs.length / 2)];
    await page.locator('#job-search').fill(wanted.job_id.toUpperCase());
    await expectCount(page, jobs.filter((job) => job.job_id.includes(wanted.job_id)).length, jobs.length);
    assert.ok((await page.locator('#jobs tr.job td:first-child').allInnerTexts()).includes(wanted.job_id));
    await page.locator('#job-search').fill('media');
    await expectCount(
      page,
      jobs.filter((job) => `${job.job_id} ${job.tenant} ${job.user}`.includes('media')).length,
      jobs.length,
    );
    await page.locator('#job-search').fill('no such job');
    await page.waitForFunction(
      () => document.querySelector('#jobs [role="status"]').textContent === 'No matching job.',
    );
  }));

test('filters show the matching jobs of the CSV file', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    await filter(page, 'Class', { label: 'training' });
    await expectCount(page, jobs.filter((job) => job.class === 'training').length, jobs.length);
    await filter(page, 'Wait', { label: '> 1 min' });
    await expectCount(page, jobs.filter((job) => job.class === 'training' && Number(job.wait_s) > 60).length, jobs.length);
    await filter(page, 'Tenant', { label: 'health' });
    await expectCount(
      page,
      jobs.filter((job) => job.class === 'training' && Number(job.wait_s) > 60 && job.tenant === 'health').length,
      jobs.length,
    );
    await filter(page, 'Class', { label: 'all' });
    await filter(page, 'Tenant', { label: 'all' });
    await filter(page, 'Wait', { label: 'any' });
    await expectCount(page, jobs.length, jobs.length);
  }));

test('clicking the header sorts by wait, first descending, then ascending', () =>
  on('demo.html', {}, async (page) => {
    const waits = csv('demo.jobs.csv').map((job) => Number(job.wait_s));
    const button = page.locator('#jobs th button[data-sort="wait_s"]');
    await button.click();
    const column = (await page.locator('#jobs th').allInnerTexts()).findIndex((text) => text.startsWith('Wait'));
    assert.equal(
      waits.reduce((a, b) => Math.max(a, b)),
      51970.205,
    );
    assert.equal((await firstCells(page))[column], '14 h 26 min');
    assert.equal(await page.locator('#jobs th').nth(column).getAttribute('aria-sort'), 'descending');
    await button.click();
    assert.equal((await firstCells(page))[column], '0 s');
  }));

test('the buttons for the next and the last page', () =>
  on('demo.html', {}, async (page) => {
    const jobs = csv('demo.jobs.csv');
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    assert.equal((await firstCells(page))[0], jobs[50].job_id);
    await page.getByRole('button', { name: 'Last', exact: true }).click();
    assert.equal(await page.locator('#jobs tr.job td:first-child').last().innerText(), jobs[jobs.length - 1].job_id);
  }));

test('Enter expands a job to its history', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    const job = jobs.find((row) => Number(row.attempts) === 3);
    await page.locator('#job-search').fill(job.job_id);
    await expectCount(page, jobs.filter((row) => row.job_id.includes(job.job_id)).length, jobs.length);
    const button = page.locator('#jobs tr.job').filter({ hasText: job.job_id }).first().locator('button');
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('#job-life canvas').first().waitFor();
    const history = await words(page.locator('#jobs .detail ol'));
    assert.equal(history.match(/starts on/g).length, 3, history);
    assert.match(history, /submitted/);
    assert.match(await words(page.locator('#jobs .detail dl')), new RegExp(`Tenant\\s+${job.tenant}`));
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#jobs .detail').count(), 0);
  }));
