// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the tests of the appearance and operation of the report page, in one process with one browser.
import './charts.mjs';
import './looks.mjs';
import './keyboard.mjs';
import './services.mjs';
