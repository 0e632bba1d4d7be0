// SPDX-License-Identifier: GPL-3.0-or-later
// Assembles the page, most important sections first. Sections without data are omitted. Technical sections are folded.
import { readDocument } from './data.js';
import { el } from './dom.js';
import { drawVisible } from './chart.js';
import { foldOf, openTarget, startFolds } from './folds.js';
import { startSettings } from './settings.js';
import { about } from './sections/about.js';
import { alerts } from './sections/alerts.js';
import { clusters } from './sections/clusters.js';
import { compare } from './sections/compare.js';
import { costs } from './sections/costs.js';
import { energy } from './sections/energy.js';
import { fragmentation } from './sections/fragmentation.js';
import { gpus } from './sections/gpus.js';
import { depth, headline } from './sections/headline.js';
import { jobs } from './sections/jobs.js';
import { occupancy } from './sections/occupancy.js';
import { plan } from './sections/plan.js';
import { queue } from './sections/queue.js';
import { services } from './sections/services.js';
import { storedData } from './sections/stored_data.js';
import { spot } from './sections/spot.js';
import { sweep } from './sections/sweep.js';
import { tco } from './sections/tco.js';
import { waits } from './sections/waits.js';
import { why } from './sections/why.js';
import { workload } from './sections/workload.js';

// Sections on alternatives come before those on a single run.
const ORDER = [
  headline,
  plan,
  compare,
  sweep,
  tco,
  depth,
  services,
  costs,
  alerts,
  gpus,
  clusters,
  storedData,
  queue,
  waits,
  why,
  spot,
  energy,
  fragmentation,
  occupancy,
  workload,
  jobs,
  about,
];

// Sections about jobs are empty if a run has services and no jobs.
const OF_JOBS = [clusters, costs, gpus, queue, waits, occupancy, jobs];
const isEmpty = (section, doc) =>
  OF_JOBS.includes(section) && doc.run?.services?.length > 0 && doc.run.jobs?.submitted === 0;

const show = (section, doc) => {
  const heading = `${section.id}-title`;
  const place = el('section', { id: section.id, 'aria-labelledby': heading });
  const title = el(section.id === 'headline' ? 'h1' : 'h2', { id: heading }, section.title(doc));
  const root = section.folded ? foldOf(place, title) : place;
  if (root === place) place.append(title);
  try {
    section.fill(root, doc);
  } catch (error) {
    console.error(error);
    root.append(el('p', { class: 'bad', role: 'alert' }, `This section could not be drawn: ${error.message}`));
  }
  return place;
};

const start = () => {
  const doc = readDocument();
  const present = ORDER.filter((section) => section.has(doc) && !isEmpty(section, doc));
  startFolds(document.getElementById('switches'));
  startSettings(document.getElementById('switches'));
  document.getElementById('contents').append(
    el(
      'ul',
      {},
      present.map((section) => el('li', {}, el('a', { href: `#${section.id}` }, section.short))),
    ),
  );
  document.getElementById('content').append(...present.map((section) => show(section, doc)));
  openTarget();
  // The browser paints the numbers before the charts are drawn.
  requestAnimationFrame(() => setTimeout(drawVisible));
  document
    .getElementById('foot')
    .append(
      `Made by Headroom ${doc.version}. This file is self-contained: it loads nothing and sends nothing over the network.`,
    );
};

start();
