// SPDX-License-Identifier: GPL-3.0-or-later
// The pages that are looked at; web_page.sh makes them.
export const PAGES = ['agency', 'demo', 'long', 'edited', 'compare', 'plan', 'sweep'];
