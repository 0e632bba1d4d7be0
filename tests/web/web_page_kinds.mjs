// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of all kinds of pages and of the job table, in one process with one browser.
import './opens.mjs';
import './jobs.mjs';
import './kinds.mjs';
import './certainty.mjs';
