/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of requests: the commands for valid bodies, and the errors for invalid ones. */

#include "harness.h"
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/shipped/demo.json", demo[] = "demo", description[] = "words";
static const struct hr_scenario_entry shipped[] = {{path, demo, description}};

/* The commands that `make` got for a body, one per line, with words separated by '|'. */
static char words[4096];

static enum hr_status make(enum hr__route_id id, const char *body, struct hr_error *error) {
  struct hr__uploads uploads = {0};
  struct hr__job job = {0};
  CU_ASSERT_FATAL(hr__upload_add(&uploads, "7", "jobs.csv", "/tmp/packed.hrt", NULL) != NULL);
  const struct hr__request_world world = {.scratch = ".",
                                          .folder = "/srv/plans",
                                          .shipped_folder = "scenarios",
                                          .uploads = &uploads,
                                          .shipped = shipped,
                                          .n_shipped = 1,
                                          .threads = 3};
  const struct hr__route *route = NULL;
  for (size_t i = 0; i < hr__n_routes; i++)
    if (hr__routes[i].id == id) route = &hr__routes[i];
  enum hr_status status = hr__request_job(&world, route, body, strlen(body), &job, error);
  words[0] = '\0';
  for (uint32_t i = 0; i < job.n_steps; i++)
    for (int k = 0; k < job.steps[i].n_words; k++) {
      strcat(words, k ? "|" : words[0] ? "\n" : "");
      const char *word = job.steps[i].words[k];
      /* the folder of a job has a random name */
      if (strstr(word, "/scaled.hrt")) word = "--output=SCALED";
      strncat(words, word, 200);
    }
  hr__job_finish(&job);
  hr__uploads_finish(&uploads);
  return status;
}

static void expect(enum hr__route_id id, const char *body, const char *command) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(make(id, body, &error), HR_OK);
  if (error.text[0]) printf("\n  %s\n", error.text);
  CU_ASSERT_STRING_EQUAL(words, command);
}

static void refuse(enum hr__route_id id, const char *body, const char *message) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(make(id, body, &error), HR_BAD_INPUT);
  if (!strstr(error.text, message)) printf("\n  '%s' does not say '%s'\n", error.text, message);
  CU_ASSERT(strstr(error.text, message) != NULL);
}

static void commands(void) {
  expect(HR__ROUTE_RUN, "{\"shipped\":\"demo\"}", "headroom|run|--quiet|--json=-|--|scenarios/demo.json");
  expect(HR__ROUTE_RUN, "{\"file\":\"a.json\",\"trace\":\"7\",\"seed\":9007199254740991}",
         "headroom|run|--quiet|--json=-|--seed=9007199254740991|--trace=jobs.csv|--format=auto|--|a.json");
  expect(HR__ROUTE_RUN,
         "{\"scenario\":{\"a\":1},\"set\":{\"cluster.pools.0.nodes\":56,\"name\":\"x\"},\"replications\":3}",
         "headroom|run|--quiet|--json=-|--replications=3|--set=cluster.pools.0.nodes=56|--set=name=\"x\"|--|"
         "scenario.json");
  expect(HR__ROUTE_COMPARE, "{\"file\":\"a.json\",\"policies\":\"fifo,sjf\"}",
         "headroom|compare|--quiet|--json=-|--policies=fifo,sjf|--threads=3|--|a.json");
  expect(HR__ROUTE_COMPARE, "{\"scenario\":\"{}\",\"baseline\":\"{}\"}",
         "headroom|diff|--json=-|--threads=3|--|baseline of the body|scenario.json");
  /* The baseline is in the folder of the scenario, so relative paths in both refer to the same files. */
  expect(HR__ROUTE_COMPARE, "{\"shipped\":\"demo\",\"baseline\":\"{}\"}",
         "headroom|diff|--json=-|--threads=3|--|scenarios/baseline of the body|scenarios/demo.json");
  expect(HR__ROUTE_COMPARE, "{\"file\":\"b/a.json\",\"baseline\":\"{}\"}",
         "headroom|diff|--json=-|--threads=3|--|b/baseline of the body|b/a.json");
  /* Numbers are passed with all their digits. */
  expect(HR__ROUTE_RUN, "{\"file\":\"a\",\"set\":{\"x\": 9007199254740993 ,\"y\":1e3,\"z\":[\"a}\\\"\"]}}",
         "headroom|run|--quiet|--json=-|--set=x=9007199254740993 |--set=y=1e3|--set=z=[\"a}\\\"\"]|--|a");
  expect(HR__ROUTE_PLAN, "{\"file\":\"a.json\",\"brief\":true,\"forecast\":6}",
         "headroom|plan|--quiet|--json=-|--events=/dev/fd/3|--brief|--forecast=6|--threads=3|--|a.json");
}

static void loads_and_drafts(void) {
  expect(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace\":\"7\",\"load\":1.5,\"seed\":2}",
         "headroom|trace|scale|--quiet|--by=compress|--load=1.5|--output=SCALED|--|jobs.csv\n"
         "headroom|run|--quiet|--json=-|--seed=2|--trace=jobs.csv, load x 1.5|--format=auto|--|a");
  /* A scenario and a trace with the same name are different files. */
  expect(HR__ROUTE_RUN, "{\"scenario\":{},\"name\":\"jobs.csv\",\"trace\":\"7\"}",
         "headroom|run|--quiet|--json=-|--trace=jobs.csv (trace)|--format=auto|--|jobs.csv");
  expect(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace_file\":\"b.csv\",\"load\":1}",
         "headroom|run|--quiet|--json=-|--trace=b.csv|--|a");
  expect(HR__ROUTE_DRAFT,
         "{\"trace\":\"7\",\"own\":[\"4x8xA100-80\",\"1x2xT4\"],\"cloud\":\"aws\",\"goals\":[\"wait_s.p95 <= 1 h\"]}",
         "headroom|init|--from=jobs.csv|--output=-|--own=4x8xA100-80|--own=1x2xT4|--cloud=aws|"
         "--goal=wait_s.p95 <= 1 h");
}

/* Nothing that a body contains becomes an option. */
static void words_are_not_options(void) {
  expect(HR__ROUTE_RUN, "{\"file\":\"--json=/tmp/x\"}", "headroom|run|--quiet|--json=-|--|--json=/tmp/x");
  expect(HR__ROUTE_RUN, "{\"file\":\"a\",\"policy\":\"--json=x\",\"trace_file\":\"--seed=1\"}",
         "headroom|run|--quiet|--json=-|--policy=--json=x|--trace=--seed=1|--|a");
  /* "-" is standard input. */
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace_file\":\"-\"}",
         "'trace_file' in the body: expected the name of a file");
  refuse(HR__ROUTE_RUN, "{\"file\":\"-\"}", "'file' in the body: expected the name of a file");
  refuse(HR__ROUTE_DRAFT, "{\"trace_file\":\"-\"}", "'trace_file' in the body: expected the name of a file");
  expect(HR__ROUTE_RUN, "{\"scenario\":{},\"name\":\"../--json=x\"}", "headroom|run|--quiet|--json=-|--|json=x");
}

/* A member of the body that would be ignored is an error. */
static void ignored_members(void) {
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"shipped\":\"demo\"}", "both 'shipped' and 'file'");
  refuse(HR__ROUTE_RUN, "{\"scenario\":{},\"name\":\"a\",\"shipped\":\"demo\"}", "both 'shipped' and 'name'");
  refuse(HR__ROUTE_RUN, "{\"scenario\":{},\"name\":\"a\",\"file\":\"b\"}", "both 'file' and 'name'");
  refuse(HR__ROUTE_RUN, "{\"name\":\"a\"}", "'name' in the body has no effect without 'scenario'");
  refuse(HR__ROUTE_COMPARE, "{\"file\":\"a\",\"baseline\":\"{}\",\"policies\":\"fifo\"}", "both 'baseline' and");
  refuse(HR__ROUTE_COMPARE, "{\"file\":\"a\",\"baseline\":\"{}\",\"replications\":2}", "both 'baseline' and");
  refuse(HR__ROUTE_COMPARE, "{\"file\":\"a\",\"policy\":\"sjf\",\"policies\":\"fifo\"}",
         "both 'policy' and 'policies'");
  refuse(HR__ROUTE_EXPORT, "{\"file\":\"a\",\"policies\":\"fifo\"}", "'policies' in the body has no effect");
  refuse(HR__ROUTE_EXPORT, "{\"file\":\"a\",\"brief\":true}", "'brief' in the body has no effect");
  refuse(HR__ROUTE_EXPORT, "{\"file\":\"a\",\"as\":\"page\",\"replications\":2}", "has no effect");
  refuse(HR__ROUTE_EXPORT, "{\"file\":\"a\",\"of\":\"plan\",\"replications\":2}", "has no effect");
  refuse(HR__ROUTE_PLAN, "{\"file\":\"a\",\"brief\":1}", "'brief' in the body: expected true or false");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"set\":{\"seed=1,x\":1}}", "'seed=1,x' is not the path of a key");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"set\":{\"\":1}}", "'' is not the path of a key");
}

static void refusals(void) {
  refuse(HR__ROUTE_RUN, "", "body:1:1: unexpected end");
  refuse(HR__ROUTE_RUN, "[]", "not a JSON object");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\"", "body:1:12: expected ',' or '}'");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\"}\nx", "body:2:1: unexpected text after the JSON value");
  refuse(HR__ROUTE_RUN, "\xef\xbb\xbf{\"file\":\"a\"}", "body:1:1: ");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\\u0000b\"}", "body:1:11: \\u0000 is not allowed");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"file\":\"b\"}", "body:1:13: duplicate key 'file'");
  refuse(HR__ROUTE_RUN, "{\"scenario\":{\"seed\":1,\"seed\":2}}", "body:1:23: duplicate key 'seed'");
  refuse(HR__ROUTE_RUN, "{}", "names no scenario");
  refuse(HR__ROUTE_RUN, "{\"sceanrio\":{}}", "'sceanrio' in the body: unknown");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"policies\":\"fifo\"}", "'policies' in the body: unknown");
  refuse(HR__ROUTE_RUN, "{\"file\":7}", "'file' in the body: expected a string");
  refuse(HR__ROUTE_RUN, "{\"file\":\"\"}", "'file' in the body: expected the name of a file");
  refuse(HR__ROUTE_RUN, "{\"scenario\":7}", "expected an object, or its text");
  refuse(HR__ROUTE_RUN, "{\"shipped\":\"nobody\"}", "no scenario 'nobody' ships");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace\":\"8\"}", "no trace '8' was uploaded");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace\":\"7\",\"trace_file\":\"b\"}", "both 'trace' and 'trace_file'");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"set\":[1]}", "'set' in the body: expected an object");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"seed\":1.5}", "'seed' in the body: expected a whole number");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"seed\":-1}", "'seed' in the body: expected a whole number");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"series\":2001}", "'series' in the body: expected a whole number from 0 to");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"load\":2}", "'load' in the body needs 'trace', an upload");
  /* A load needs an upload: the scaled copy of another file would be read without the scenario's options for columns
     and format. */
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"load\":2,\"trace_file\":\"b.csv\"}",
         "'load' in the body needs 'trace', an upload");
  refuse(HR__ROUTE_RUN, "{\"file\":\"a\",\"trace\":\"7\",\"load\":0}",
         "'load' in the body: expected a number from 0.01");
  refuse(HR__ROUTE_DRAFT, "{}", "names no trace");
  refuse(HR__ROUTE_DRAFT, "{\"trace\":\"7\",\"own\":\"x\"}", "'own' in the body: expected a list of strings");
  refuse(HR__ROUTE_COMPARE, "{\"file\":\"a\"}", "nothing to compare with");
  refuse(HR__ROUTE_EXPORT, "{\"file\":\"a\",\"as\":\"exe\"}", "'of' and 'as'");
}

/* A message begins with the place of the error. */
static void expect_error(const char *message, const char *json) {
  char *text = hr__error_json(message, 422);
  CU_ASSERT_STRING_EQUAL(text, json);
  free(text);
}

static void errors(void) {
  expect_error("s.json:3:14: wrong",
               "{\"error\":{\"message\":\"s.json:3:14: wrong\",\"code\":422,\"file\":\"s.json\",\"line\":3,"
               "\"column\":14}}");
  expect_error("jobs.csv:7: wrong",
               "{\"error\":{\"message\":\"jobs.csv:7: wrong\",\"code\":422,\"file\":\"jobs.csv\",\"line\":7}}");
  expect_error("wrong: 3:4", "{\"error\":{\"message\":\"wrong: 3:4\",\"code\":422}}");
  expect_error("\"</script>", "{\"error\":{\"message\":\"\\\"</script>\",\"code\":422}}");
  expect_error("", "{\"error\":{\"message\":\"\",\"code\":422}}");
}

TEST_MAIN("serve: bodies of requests", TEST(commands), TEST(loads_and_drafts), TEST(words_are_not_options),
          TEST(ignored_members), TEST(refusals), TEST(errors))
