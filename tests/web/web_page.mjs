// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of the page of a run in one process with one browser: the page opens and agrees with the other output.
import './opens.mjs';
import './numbers.mjs';
