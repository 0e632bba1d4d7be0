// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the test of the time until a report page is painted, alone, because other tests would delay it.
import './paint.mjs';
