// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of how the report page looks and how it is operated, in one process with one browser.
import './charts.mjs';
import './looks.mjs';
import './keyboard.mjs';
import './services.mjs';
