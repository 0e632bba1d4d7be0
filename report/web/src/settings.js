// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of the page: dark mode and patterns. They are lost when the page is closed. Local storage is not used,
// because all pages that are opened from a disk would share it.
import { el } from './dom.js';
import { looks } from './palette.js';

const wantsDark = window.matchMedia('(prefers-color-scheme: dark)');
const wantsStill = window.matchMedia('(prefers-reduced-motion: reduce)');

const settings = { theme: wantsDark.matches ? 'dark' : 'light', chosen: false, patterns: false, printing: false };
const listeners = new Set();

export const onSettings = (listener) => listeners.add(listener);

const tell = () => {
  document.documentElement.dataset.theme = settings.printing ? 'light' : settings.theme;
  for (const listener of listeners) listener();
};

export const look = () => looks[settings.printing ? 'light' : settings.theme];
export const patterns = () => settings.patterns || settings.printing;
export const isPrinting = () => settings.printing;
export const isStill = () => settings.printing || wantsStill.matches;

const setPrinting = (printing) => {
  if (settings.printing === printing) return;
  settings.printing = printing;
  tell();
};

const toggle = (words, pressed, change) => {
  const button = el('button', { type: 'button', 'aria-pressed': String(pressed()) }, words);
  button.addEventListener('click', () => {
    change();
    tell();
  });
  onSettings(() => button.setAttribute('aria-pressed', String(pressed())));
  return button;
};

export const startSettings = (place) => {
  wantsDark.addEventListener('change', () => {
    if (!settings.chosen) settings.theme = wantsDark.matches ? 'dark' : 'light';
    tell();
  });
  window.addEventListener('beforeprint', () => setPrinting(true));
  window.addEventListener('afterprint', () => setPrinting(false));
  place.append(
    toggle(
      'Dark',
      () => settings.theme === 'dark',
      () => {
        settings.theme = settings.theme === 'dark' ? 'light' : 'dark';
        settings.chosen = true;
      },
    ),
    toggle(
      'Patterns',
      () => settings.patterns,
      () => {
        settings.patterns = !settings.patterns;
      },
    ),
  );
  tell();
};
