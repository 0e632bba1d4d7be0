// SPDX-License-Identifier: GPL-3.0-or-later
// Runs all tests of the report page in one process with one browser.
import './opens.mjs';
import './numbers.mjs';
import './charts.mjs';
import './jobs.mjs';
import './looks.mjs';
import './keyboard.mjs';
import './kinds.mjs';
import './certainty.mjs';
import './services.mjs';
import './paint.mjs';
