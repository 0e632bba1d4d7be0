// SPDX-License-Identifier: GPL-3.0-or-later
// The contents of the trace: findings of `trace check` and some figures of `trace stats`.

import { el, facts, table } from '../../../report/web/src/dom.js';
import { amount, count, duration, things } from '../../../report/web/src/format.js';

export const fillTrace = (section, trace) => {
  section.hidden = !trace;
  if (!trace) return;
  const { check, stats } = trace;
  const { errors, warnings, notes, findings } = check;
  const words = findings.map((finding) => finding.advice ?? finding.meaning ?? '');
  section.replaceChildren(
    el('h2', { id: 'trace-title' }, `Trace ${trace.name}`),
    facts([
      ['Jobs', count(stats.trace.jobs)],
      ['Time', duration(stats.trace.span_s)],
      ['GPU hours', amount(stats.trace.gpu_hours)],
      ['Run time', `median ${duration(stats.run_s.p50)}, 95 % at most ${duration(stats.run_s.p95)}`],
      ['Check', `${things(errors, 'error')}, ${things(warnings, 'warning')}, ${things(notes, 'note')}`],
    ]),
    el(
      'details',
      { open: errors + warnings > 0 },
      el('summary', {}, 'Findings'),
      table('Findings of the check', [{ title: 'Kind' }, { title: 'Finding' }, { title: 'What to do' }],
        findings.map((finding, i) => [finding.severity, finding.text, words[i]]), 'stacked'),
      words.some((text) => /(^|\s)--\w/.test(text)) ? el('p', { class: 'what' }, 'Words that begin with -- are options of the command line; on this page, the scenario below has these settings.') : '',
    ),
  );
};
