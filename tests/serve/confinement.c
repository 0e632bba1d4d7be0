/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A confined process can read only files in the allowed folders, and the files of aliases that were not chosen by a
   user. Scenarios and traces elsewhere are rejected. Policies in shared objects are not allowed. */

#include "base/process.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "headroom/trace_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENARIOS PROJECT_DIR "/scenarios"
#define TRACES PROJECT_DIR "/traces"

static void paths(void) {
  char *scenarios = realpath(SCENARIOS, NULL);
  const char *folders[] = {scenarios};
  const struct hr__alias aliases[] = {{"mine.json", "/etc/hostname", false},
                                      {"theirs.json", "/etc/hostname", true},
                                      {"demo", SCENARIOS "/demo.json", true}};
  const struct hr__confinement rules = {.folders = folders, .n_folders = 1, .aliases = aliases, .n_aliases = 3};
  CU_ASSERT_STRING_EQUAL(hr__input_path("/etc/passwd"), "/etc/passwd");
  CU_ASSERT(hr__allows_plugins());
  hr__confine(&rules);
  CU_ASSERT_STRING_EQUAL(hr__input_path("mine.json"), "/etc/hostname");
  CU_ASSERT(!hr__input_path("theirs.json") && errno == EACCES);
  CU_ASSERT_STRING_EQUAL(hr__input_path("demo"), SCENARIOS "/demo.json");
  CU_ASSERT_STRING_EQUAL(hr__output_name("/tmp/x/y.csv"), "y.csv");
  CU_ASSERT_STRING_EQUAL(hr__input_path(SCENARIOS "/demo.json"), SCENARIOS "/demo.json");
  CU_ASSERT(!hr__input_path("/etc/hostname") && errno == EACCES);
  CU_ASSERT(!hr__input_path(SCENARIOS "/../README.md") && errno == EACCES);
  CU_ASSERT(!hr__input_path("/etc/no-such-file") && errno == EACCES);
  CU_ASSERT(!hr__input_path(SCENARIOS "/no-such-file") && errno == ENOENT);
  CU_ASSERT(!hr__allows_plugins());
  hr__confine(NULL);
  free(scenarios);
}

static int make_link(const char *path) {
  return symlink("/etc/no-such-file", path);
}

static int make_pipe(const char *path) {
  return mkfifo(path, 0600);
}

/* `make` creates an entry in an allowed folder. This entry is rejected. */
static void is_refused(int make(const char *path)) {
  char folder[] = "/tmp/headroom-entry-XXXXXX", path[sizeof folder + 8];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/entry", folder);
  CU_ASSERT_EQUAL_FATAL(make(path), 0);
  const char *folders[] = {folder};
  const struct hr__confinement rules = {.folders = folders, .n_folders = 1};
  hr__confine(&rules);
  CU_ASSERT(!hr__input_path(path) && errno == EACCES);
  hr__confine(NULL);
  unlink(path);
  rmdir(folder);
}

/* The error does not reveal whether the target of a link exists. */
static void links(void) {
  is_refused(make_link);
}

/* Reading a named pipe would wait for a writer. */
static void pipes(void) {
  is_refused(make_pipe);
}

static void below(void) {
  CU_ASSERT(hr__is_below("/a/b", "/a"));
  CU_ASSERT(hr__is_below("/a", "/a"));
  CU_ASSERT(hr__is_below("/a/b", "/a/"));
  CU_ASSERT(hr__is_below("/a", "/"));
  CU_ASSERT(!hr__is_below("/ab", "/a"));
  CU_ASSERT(!hr__is_below("/", "/a"));
}

/* The readers of the library respect the confinement: the scenario is read, but its trace and a policy are not. */
static void readers(void) {
  char *scenarios = realpath(SCENARIOS, NULL), *traces = realpath(TRACES, NULL);
  const char *folders[] = {scenarios, traces};
  struct hr__confinement rules = {.folders = folders, .n_folders = 1};
  struct hr_scenario *scenario = NULL;
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  hr__confine(&rules);
  CU_ASSERT_EQUAL(hr_scenario_load(SCENARIOS "/demo.json", NULL, 0, &scenario, &error), HR_OK);
  CU_ASSERT_FATAL(scenario != NULL);
  const struct hr_trace_options options = {.format = "auto"};
  CU_ASSERT_EQUAL(hr_trace_read(scenario->trace_file, &options, &trace, &error), HR_BAD_INPUT);
  CU_ASSERT(strstr(error.text, "Permission denied") != NULL);
  rules.n_folders = 2;
  CU_ASSERT_EQUAL(hr_trace_read(scenario->trace_file, &options, &trace, &error), HR_OK);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
  struct hr_policy_choice choice = {0};
  CU_ASSERT_EQUAL(hr_policy_choice_init(&choice, "./policy.so", &error), HR_BAD_INPUT);
  CU_ASSERT(strstr(error.text, "policies in shared objects are not allowed here") != NULL);
  hr_policy_choice_finish(&choice);
  CU_ASSERT_EQUAL(hr_scenario_load("/etc/hostname", NULL, 0, &scenario, &error), HR_BAD_INPUT);
  hr__confine(NULL);
  free(scenarios);
  free(traces);
}

TEST_MAIN("serve: confinement", TEST(paths), TEST(links), TEST(pipes), TEST(below), TEST(readers))
