// SPDX-License-Identifier: GPL-3.0-or-later
// Folded sections. Only the title of such a section is shown until the reader opens the section. A link to a folded
// section opens it. While the page is printed, all sections are open.
import { el } from './dom.js';
import { isPrinting, onSettings } from './settings.js';

const folds = new Set();

// Adds a fold with a title to a section. Returns the box for the contents of the fold.
export const foldOf = (section, title) => {
  const box = el('div', { class: 'inside' });
  const fold = el('details', { class: 'fold' }, el('summary', {}, title), box);
  section.append(fold);
  folds.add(fold);
  return box;
};

// Opens the folded section that is, or contains, the element to which the fragment of the page's URL refers.
export const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.querySelector(':scope > .fold') ?? target?.closest('.fold');
  if (fold) fold.open = true;
};

const allOpen = () => [...folds].every((fold) => fold.open);

// Adds the button that opens and closes all folds.
export const startFolds = (place) => {
  let before = [];
  const button = el('button', { type: 'button', 'aria-pressed': 'false' }, 'All details');
  const tell = () => button.setAttribute('aria-pressed', String(allOpen()));
  button.addEventListener('click', () => {
    const open = !allOpen();
    for (const fold of folds) fold.open = open;
    tell();
  });
  document.addEventListener('toggle', tell, true);
  window.addEventListener('hashchange', openTarget);
  document.addEventListener('click', (event) => {
    if (event.target.closest?.('a[href^="#"]')?.hash === location.hash) openTarget();
  });
  onSettings(() => {
    if (isPrinting()) {
      before = [...folds].filter((fold) => !fold.open);
      for (const fold of before) fold.open = true;
    } else {
      for (const fold of before) fold.open = false;
      before = [];
    }
  });
  place.append(button);
};
