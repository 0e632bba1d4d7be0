// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of what the report page says, in one process with one browser.
import './opens.mjs';
import './numbers.mjs';
import './jobs.mjs';
import './kinds.mjs';
import './certainty.mjs';
