// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of the page of a run: it opens, and says what the other output says. In one process with one browser.
import './opens.mjs';
import './numbers.mjs';
