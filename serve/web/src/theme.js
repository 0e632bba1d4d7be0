// SPDX-License-Identifier: GPL-3.0-or-later
// Dark or light colours: as the system is set, unless the user selects them with the switch. Prints are light.

import { el } from '../../../report/web/src/dom.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const paper = matchMedia('print');

export const startTheme = (place) => {
  let chosen = null;
  const button = el('button', { type: 'button', onclick: () => ((chosen = !isDark()), show()) }, 'Dark');
  const isDark = () => chosen ?? dark.matches;
  const show = () => {
    document.documentElement.dataset.theme = isDark() && !paper.matches ? 'dark' : 'light';
    button.setAttribute('aria-pressed', String(isDark()));
  };
  dark.addEventListener('change', show);
  paper.addEventListener('change', show);
  place.append(button);
  show();
};
