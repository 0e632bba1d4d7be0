/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PAGE_FACTS_H
#define HR_CLI_PAGE_FACTS_H

/* What the first lines of an HTML report need besides the run: the goals of the scenario, the prices of its pools with
   their sources, and the change that saves most. */

#include "cli/input.h"
#include "headroom/unstable/advise.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/plan.h"
#include "headroom/unstable/replay.h"

/* Traces with more jobs are not searched for savings, because the search runs the scenario about a hundred times. A
   limit on time would let the report depend on the speed of the machine. */
enum { PAGE_MAX_ADVISED_JOBS = 30000 };

/* Must be initialized to zero. `saving` and the members of struct hr_page refer to the other members. */
struct page_facts {
  struct hr_goal_result *results;
  size_t n_results;
  struct hr_page_goal *goals;   /* [n_results] */
  struct hr_page_price *prices; /* [n_prices] */
  size_t n_prices;
  struct hr_advice *advice; /* NULL: not searched */
  char *advise_command, *saving_command;
  struct hr_page_saving saving;
  struct hr_notes notes; /* why goals are not shown */
};

/* Collects the facts for the report of a replay. `input`: the input of the run, to search for savings; NULL: they are
   not searched. If the replay is of another scenario, which a plan has chosen, the command runs that one instead. The
   caller must call page_facts_finish, even after an error. */
enum hr_status page_facts_make(struct page_facts *facts, const struct input *input, const struct hr_replay *replay,
                               struct hr_error *error);
/* Adds the facts to a report. */
void page_facts_show(const struct page_facts *facts, struct hr_page *page);
void page_facts_finish(struct page_facts *facts);

/* Returns the words as a command line, with quotes where a shell needs them. The caller frees it. NULL when out of
   memory. */
char *shell_command(const char *const *words, size_t count);

#endif
