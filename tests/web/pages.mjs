// SPDX-License-Identifier: GPL-3.0-or-later
// The names of the tested pages, which web_page.sh creates.
export const PAGES = ['agency', 'demo', 'long', 'edited', 'compare', 'plan', 'sweep'];
