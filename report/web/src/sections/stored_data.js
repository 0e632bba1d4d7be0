// SPDX-License-Identifier: GPL-3.0-or-later
// Data with a location: the time that jobs waited for data, and the data that storage systems and links transferred.
import { el, facts, table } from '../dom.js';
import { amount, orDash, share, usd } from '../format.js';

const gb = (value) => `${amount(value)} GB`;

// If the utilization is 0, nothing was transferred or the bandwidth has no limit; the table shows a dash.
const rows = (lines) =>
  lines.map((line) => [
    line.name,
    gb(line.sent_gb),
    gb(line.received_gb),
    orDash(share)(line.utilization || null),
    usd(line.usd),
  ]);

const linesOf = (title, lines) =>
  lines.length
    ? [
        table(
          title,
          [
            { title },
            { title: 'Sent', number: true },
            { title: 'Received', number: true },
            { title: 'Bandwidth in use', number: true },
            { title: 'Cost', number: true },
          ],
          rows(lines),
          'stacked',
        ),
      ]
    : [];

export const storedData = {
  id: 'data',
  short: 'Data',
  title: () => 'Data',
  has: (doc) => Boolean(doc.run?.data),
  fill: (root, doc) => {
    const { data } = doc.run;
    root.append(
      el(
        'p',
        { class: 'lead' },
        `Jobs waited for data in ${share(data.waiting_share)} of their GPU time: ${amount(data.waiting_gpu_hours)} GPU hours.`,
      ),
      facts([
        ['Read by jobs', `${gb(data.read_gb)}, ${share(data.cached_share)} from caches`],
        ['Over links', gb(data.moved_gb)],
        ['Copies', gb(data.copied_gb)],
        ['Checkpoints', gb(data.saved_gb)],
      ]),
      ...linesOf('Storage', data.by_storage),
      ...linesOf('Link', data.by_link),
    );
  },
};
