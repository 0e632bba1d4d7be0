/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phrases of the command line in messages, and those of the interface. They are replaced in the formats of messages
   before values are inserted (hr_fail), so the text of users is never changed. */

#include "serve/phrases.h"

#include "headroom/unstable/serve.h"

const struct hr__phrase hr__serve_phrases[] = {
    {"give a scenario, and this file with --trace; 'headroom init --from' drafts a scenario from it",
     "name it in 'trace_file', or draft a scenario from it (/api/draft)"},
    {"; 'headroom list scenarios' shows those that ship", "; /api/scenarios lists those that ship"},
    {"; 'headroom list placements' shows them", "; docs/reference/rules.md describes them"},
    {"; 'headroom sweep' reads it", "; 'headroom sweep' on the command line reads it"},
    {"; 'headroom check' reads it", "; 'headroom check' on the command line reads it"},
    {" (see 'headroom help plan')", ""},
    {"\nTry 'headroom help %s'.", "%.0s"},
    /* Outputs are in a temporary folder, or have a name that the browser chooses. */
    {"--%s %s: cannot be written: %s is not a folder", "'%s'%.0s: cannot be written%.0s"},
    {"--%s %s: cannot be written: folder %s: %s", "'%s'%.0s: cannot be written:%.0s %s"},
    {"--%s %s: cannot be written: %s", "'%s'%.0s: cannot be written: %s"},
    {"--costs %s:", "export as 'csv':%.0s"},
    {"--trace FILE", "'trace' or 'trace_file'"},
    {"--map %.200s:", "'map' in the address, %.200s:"},
    {"--map", "'map' in the address:"},
    {"--format", "'format' in the address"},
    {"--lenient", "'lenient' in the address"},
    {"--trace", "'trace'"},
    {"--set", "'set'"},
    {"--policy", "'policy'"},
    {"--policies", "'policies'"},
    {"--seed", "'seed'"},
    {"--replications", "'replications'"},
    {"--averages", "'series'"},
    {"--intervals", "'series'"},
    {"--own", "'own'"},
    {"--cloud", "'cloud'"},
    {"--goal", "'goals'"},
    {"--forecast", "'forecast'"},
    {"--brief", "'brief'"},
    {"--load", "'load'"},
    {"--from", "'trace'"},
    {"--costs", "export as 'csv'"},
    {"--jobs", "export as 'jobs'"},
    {"--timeline", "export as 'timeline'"},
    {"--md", "export as 'markdown'"},
    {"--csv", "export as 'csv'"},
    {"--report", "export as 'page'"},
    {"--json", "the answer"},
    {"--output", "the answer"},
    {"--%s", "'%s'"},
};
const size_t hr__n_serve_phrases = sizeof hr__serve_phrases / sizeof *hr__serve_phrases;

const char *hr_serve_phrase(const char *text) {
  return hr__phrase(text);
}
