// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the test of the time until a report page is painted. It runs alone, because other tests would delay the page.
import './paint.mjs';
