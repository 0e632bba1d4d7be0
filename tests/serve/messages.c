/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of commands in the terms of the interface. */

#include "serve/messages.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *message, const char *plain) {
  const struct hr__message_folders folders = {"/tmp/headroom-serve-aB3/x", "/srv/plans", "/usr/share/headroom"};
  char *found = hr__message_plain(message, &folders);
  CU_ASSERT_STRING_EQUAL(found, plain);
  free(found);
}

static void options(void) {
  expect("a.json: names no trace; set one with --trace FILE, or in the file",
         "a.json: names no trace; set one with 'trace' or 'trace_file', or in the file");
  expect("--own 0x1xT4: expected NODES", "'own' 0x1xT4: expected NODES");
  expect("jobs.csv:1: name the column with --map submit=COLUMN",
         "jobs.csv:1: name the column with 'map' in the address submit=COLUMN");
  expect("--goal: wrong\nTry 'headroom help init'.", "'goals': wrong");
  expect("--trace-out x--set y --setting '--seed'", "--trace-out x--set y --setting ''seed''");
  expect("start the server with --allow-plugins", "start the server with --allow-plugins");
  expect("", "");
}

static void answers(void) {
  const struct hr__message_folders places = {"/tmp/headroom-serve-aB3", "/srv/plans", "/usr/share/headroom"};
  static const char *const texts[][2] = {
      {"{\"file\": \"/srv/plans/a.csv\", \"x\": \"/srv/plansb\"}", "{\"file\": \"a.csv\", \"x\": \"/srv/plansb\"}"},
      {"a\\n/usr/share/headroom/scenarios/demo.json\\u000a/srv/plans/b", "a\\nscenarios/demo.json\\u000ab"},
      {"run --output=/tmp/headroom-serve-aB3/job-x/report.html --trace=../srv/plans/a",
       "run --output=report.html --trace=../srv/plans/a"},
      {"/srv/plans/", ""},
      {"\\u00 /srv/plans/a\\", "\\u00 a\\"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char *text = strdup(texts[i][0]);
    size_t length = hr__answer_plain(text, strlen(text), &places);
    CU_ASSERT_STRING_EQUAL(text, texts[i][1]);
    CU_ASSERT_EQUAL(length, strlen(texts[i][1]));
    free(text);
  }
}

static void folders(void) {
  expect("/usr/share/headroom/scenarios/helios.json:3:1: wrong", "scenarios/helios.json:3:1: wrong");
  expect("--costs /tmp/headroom-serve-aB3/x/job-12/costs.csv: /srv/plans/a.json has no prices",
         "export as 'csv': costs.csv: a.json has no prices");
  expect("/tmp/headroom-serve-aB3/x/trace-7: wrong", "trace-7: wrong");
  expect("/usr/share/headroom-2/x and /srv/plans.json", "/usr/share/headroom-2/x and /srv/plans.json");
  expect("/srv/usr/share/headroom/x", "/srv/usr/share/headroom/x");
}

static void nothing_grows_beyond_its_memory(void) {
  char message[2048];
  for (size_t i = 0; i + 6 < sizeof message; i += 6) memcpy(message + i, "--csv ", 7);
  const struct hr__message_folders none = {0};
  char *found = hr__message_plain(message, &none);
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  CU_ASSERT(strncmp(found, "export as 'csv': export as 'csv': ", 34) == 0);
  free(found);
}

TEST_MAIN("serve: messages", TEST(options), TEST(folders), TEST(answers), TEST(nothing_grows_beyond_its_memory))
