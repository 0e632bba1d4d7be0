// SPDX-License-Identifier: GPL-3.0-or-later
// The job table: its search, filters, order and pages agree with the CSV of jobs; a row opens to the job's life.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv, on, words } from './browser.mjs';

const status = (page) => page.locator('#jobs [role="status"]');
const says = async (page, count, of) => {
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

test('search finds a job by its id, and tenants', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    const wanted = jobs[Math.floor(jobs.length / 2)];
    await page.locator('#job-search').fill(wanted.job_id.toUpperCase());
    await says(page, jobs.filter((job) => job.job_id.includes(wanted.job_id)).length, jobs.length);
    assert.ok((await page.locator('#jobs tr.job td:first-child').allInnerTexts()).includes(wanted.job_id));
    await page.locator('#job-search').fill('media');
    await says(
      page,
      jobs.filter((job) => `${job.job_id} ${job.tenant} ${job.user}`.includes('media')).length,
      jobs.length,
    );
    await page.locator('#job-search').fill('no such job');
    await page.waitForFunction(
      () => document.querySelector('#jobs [role="status"]').textContent === 'No matching job.',
    );
  }));

test('filters keep what the CSV has', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    await filter(page, 'Class', { label: 'training' });
    await says(page, jobs.filter((job) => job.class === 'training').length, jobs.length);
    await filter(page, 'Wait', { label: '> 1 min' });
    await says(page, jobs.filter((job) => job.class === 'training' && Number(job.wait_s) > 60).length, jobs.length);
    await filter(page, 'Tenant', { label: 'health' });
    await says(
      page,
      jobs.filter((job) => job.class === 'training' && Number(job.wait_s) > 60 && job.tenant === 'health').length,
      jobs.length,
    );
    await filter(page, 'Class', { label: 'all' });
    await filter(page, 'Tenant', { label: 'all' });
    await filter(page, 'Wait', { label: 'any' });
    await says(page, jobs.length, jobs.length);
  }));

test('the longest wait comes first when asked for, then the shortest', () =>
  on('demo.html', {}, async (page) => {
    const waits = csv('demo.jobs.csv').map((job) => Number(job.wait_s));
    const button = page.locator('#jobs th button[data-sort="wait_s"]');
    await button.click();
    const place = (await page.locator('#jobs th').allInnerTexts()).findIndex((text) => text.startsWith('Wait'));
    assert.equal(
      waits.reduce((a, b) => Math.max(a, b)),
      51970.205,
    );
    assert.equal((await firstCells(page))[place], '14 h 26 min');
    assert.equal(await page.locator('#jobs th').nth(place).getAttribute('aria-sort'), 'descending');
    await button.click();
    assert.equal((await firstCells(page))[place], '0 s');
  }));

test('pages turn', () =>
  on('demo.html', {}, async (page) => {
    const jobs = csv('demo.jobs.csv');
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    assert.equal((await firstCells(page))[0], jobs[50].job_id);
    await page.getByRole('button', { name: 'Last', exact: true }).click();
    assert.equal(await page.locator('#jobs tr.job td:first-child').last().innerText(), jobs[jobs.length - 1].job_id);
  }));

test('Enter opens a job: its waits and stays', () =>
  on('agency.html', {}, async (page) => {
    const jobs = csv('agency.jobs.csv');
    const job = jobs.find((row) => Number(row.attempts) === 3);
    await page.locator('#job-search').fill(job.job_id);
    await says(page, jobs.filter((row) => row.job_id.includes(job.job_id)).length, jobs.length);
    const button = page.locator('#jobs tr.job').filter({ hasText: job.job_id }).first().locator('button');
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('#job-life canvas').first().waitFor();
    const story = await words(page.locator('#jobs .detail ol'));
    assert.equal(story.match(/starts on/g).length, 3, story);
    assert.match(story, /submitted/);
    assert.match(await words(page.locator('#jobs .detail dl')), new RegExp(`Tenant\\s+${job.tenant}`));
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#jobs .detail').count(), 0);
  }));
