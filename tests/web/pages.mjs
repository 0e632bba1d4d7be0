// SPDX-License-Identifier: GPL-3.0-or-later
// The names of the tested pages; web_page.sh creates those that its part needs.
export const PAGES = ['agency', 'demo', 'long', 'edited', 'compare', 'plan', 'sweep'];
