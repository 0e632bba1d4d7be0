/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace shuffle`: jobs of a trace that change places. */

#include "cli/cli.h"
#include "cli/transform.h"

#include <string.h>

struct shuffle_args {
  struct transform_args base;
  const char *what;
  uint64_t seed;
};

#define AT(field) offsetof(struct shuffle_args, field)
static const struct option options[] = {
    {.name = "what",
     .kind = OPTION_TEXT,
     .offset = AT(what),
     .value = "WHAT",
     .help = "arrivals, unless given: which job comes at which of the trace's submits; rows: the order of jobs of one "
             "instant; users: who submits which job"},
    {.name = "seed",
     .kind = OPTION_WHOLE,
     .offset = AT(seed),
     .value = "N",
     .help = "of the draw, 1 unless given; the same seed gives the same trace",
     .min = 0,
     .max = 0x1p64},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "All that a trace has is there afterwards, in other company: bursts of one user's\n"
                              "alike jobs are gone, say, and what they did to a policy. docs/reference/traces.md.\n\n"
                              "Example:\n"
                              "  headroom trace shuffle jobs.csv --what arrivals --seed 7 -o shuffled.csv\n";

static void set_defaults(void *args) {
  *(struct shuffle_args *)args = (struct shuffle_args){.what = "arrivals", .seed = 1};
}

static enum hr_status find_what(const char *name, enum hr_shuffling *what, struct hr_error *error) {
  static const char *const known[] = {
#define SHUFFLING_WORD(name, text) text,
      HR_SHUFFLING_TABLE(SHUFFLING_WORD)
#undef SHUFFLING_WORD
          NULL};
  for (int i = 0; i < HR_N_SHUFFLINGS; i++) {
    *what = (enum hr_shuffling)i;
    if (strcmp(known[i], name) == 0) return HR_OK;
  }
  return unknown_word("shuffle", name, known, error);
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct shuffle_args *shuffle = args;
  struct transform transform = {.args = &shuffle->base,
                                .paths = operands,
                                .action = "shuffle",
                                .method = shuffle->what,
                                .seed = shuffle->seed,
                                .seeded = true};
  enum hr_shuffling what;
  enum hr_status status = find_what(shuffle->what, &what, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  if (status == HR_OK) status = hr_transform_shuffle(transform.traces[0], what, shuffle->seed, &transform.made, error);
  if (status == HR_OK) status = transform_tell(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_shuffle = {.name = "trace shuffle",
                                        .operands = "TRACE",
                                        .least_operands = 1,
                                        .most_operands = 1,
                                        .summary = "let jobs of a trace change places",
                                        .details = details,
                                        .options = options,
                                        .args_bytes = sizeof(struct shuffle_args),
                                        .set_defaults = set_defaults,
                                        .run = run};
