/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pseudonyms, compared with the output of `openssl dgst -sha256 -hmac KEY` for the input "KIND\0NAME". */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "same_trace.h"
#include "trace_files.h"

#include <string.h>

static const char key[] = "key of sixteen b";

static struct hr_anonymise_spec with_key(void) {
  struct hr_anonymise_spec spec;
  hr_anonymise_spec_init(&spec);
  spec.key = key;
  spec.key_bytes = strlen(key);
  return spec;
}

static struct hr_trace *anonymised(const struct hr_trace *trace, const struct hr_anonymise_spec *spec) {
  struct hr_trace *made;
  struct hr_error error = {0};
  enum hr_status status = hr_transform_anonymise(trace, spec, &made, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return made;
}

static void pseudonyms_match_the_definition(void) {
  struct hr_anonymise_spec spec = with_key();
  struct hr_trace *trace =
      trace_of("submit_s,duration_s,gpus,user,tenant,model,gpu_type\n0,1,1,ann,ann,gpt,A100\n", NULL);
  struct hr_trace *made = anonymised(trace, &spec);
  char id[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(made, (hr_job){0}, id), "j-b7bddbcab637c25d");
  CU_ASSERT_STRING_EQUAL(made->users.text[0], "u-8a767142199a168a");
  CU_ASSERT_STRING_EQUAL(made->tenants.text[0], "t-f8b6d143d1c02e82");
  CU_ASSERT_STRING_EQUAL(made->models.text[0], "m-a4c955e0f78e1512");
  CU_ASSERT_STRING_EQUAL(made->gpu_type_lists.text[0], "A100");
  hr_trace_destroy(made);
  spec.digits = 64;
  made = anonymised(trace, &spec);
  CU_ASSERT_STRING_EQUAL(made->users.text[0], "u-8a767142199a168aae0b2d5c861b3151738326038f80d95e1bb7e51da5a170dd");
  hr_trace_destroy(made);
  spec.digits = 5;
  made = anonymised(trace, &spec);
  CU_ASSERT_STRING_EQUAL(made->users.text[0], "u-8a767");
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

/* Returns whether two conditions are met. Jobs have equal names in `b` if and only if they have equal names in `a`. A
   job has no name in `b` if and only if it has none in `a`. */
static bool same_partition(const uint32_t *a, const uint32_t *b, uint32_t n_jobs) {
  bool same = (a == NULL) == (b == NULL);
  for (uint32_t i = 0; same && a && i < n_jobs; i++)
    for (uint32_t j = 0; same && j < i; j++) same = (a[i] == a[j]) == (b[i] == b[j]);
  for (uint32_t i = 0; same && a && i < n_jobs; i++) same = (a[i] == HR_NONE) == (b[i] == HR_NONE);
  return same;
}

/* Returns whether `names` contains any name of `old`. */
static bool contains_old_name(const struct hr_names *names, const struct hr_names *old) {
  for (uint32_t i = 0; i < names->count; i++)
    for (uint32_t j = 0; j < old->count; j++)
      if (strcmp(names->text[i], old->text[j]) == 0) return true;
  return false;
}

static struct hr_trace without_names(const struct hr_trace *trace) {
  struct hr_trace view = *trace;
  view.user = view.tenant = view.model = NULL;
  return view;
}

static void only_names_change(void) {
  const struct hr_anonymise_spec spec = with_key();
  for (uint64_t seed = 0; seed < 200; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 30}), *made = anonymised(trace, &spec);
    struct hr_trace a = without_names(trace), b = without_names(made);
    CU_ASSERT_EQUAL_FATAL(made->n_jobs, trace->n_jobs);
    for (uint32_t job = 0; job < trace->n_jobs; job++) CU_ASSERT(same_job(&a, job, &b, job, 0));
    CU_ASSERT(same_partition(trace->user, made->user, trace->n_jobs));
    CU_ASSERT(same_partition(trace->tenant, made->tenant, trace->n_jobs));
    CU_ASSERT(same_partition(trace->model, made->model, trace->n_jobs));
    CU_ASSERT(!contains_old_name(&made->users, &trace->users) && !contains_old_name(&made->tenants, &trace->tenants) &&
              !contains_old_name(&made->models, &trace->models));
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
}

static void the_key_changes_the_pseudonyms(void) {
  struct hr_anonymise_spec spec = with_key();
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,user\n0,1,1,ann\n", NULL), *a = anonymised(trace, &spec);
  spec.key_bytes--;
  struct hr_trace *b = anonymised(trace, &spec);
  CU_ASSERT_STRING_NOT_EQUAL(a->users.text[0], b->users.text[0]);
  hr_trace_destroy(a);
  hr_trace_destroy(b);
  hr_trace_destroy(trace);
}

static void times_can_be_shifted_or_undated(void) {
  struct hr_anonymise_spec spec = with_key();
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,deadline_s,start_s\n"
                                    "2026-01-01T00:00:00Z,1,1,2026-01-01T00:00:09Z,2026-01-01T00:00:05Z\n"
                                    "2026-01-01T00:00:07Z,1,1,,\n",
                                    NULL);
  spec.shift_us = -HR_SECOND_US;
  struct hr_trace *made = anonymised(trace, &spec);
  CU_ASSERT_EQUAL(made->origin_us, trace->origin_us - HR_SECOND_US);
  CU_ASSERT_EQUAL(made->deadline_us[0], 9 * HR_SECOND_US);
  CU_ASSERT(made->dated);
  hr_trace_destroy(made);
  spec = with_key();
  spec.undated = true;
  made = anonymised(trace, &spec);
  CU_ASSERT_EQUAL(made->origin_us, 0);
  CU_ASSERT_EQUAL(made->submit_us[1], 7 * HR_SECOND_US);
  CU_ASSERT_EQUAL(made->recorded_start_us[0], 5 * HR_SECOND_US);
  CU_ASSERT(!made->dated);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

static void fields_can_be_removed(void) {
  struct hr_anonymise_spec spec = with_key();
  random_start(4);
  struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 60, .all_fields = true});
  CU_ASSERT_EQUAL(hr_fields_parse("job_id,user,model,deadline,within,dedicated,gpu_type", &spec.forget, NULL), HR_OK);
  struct hr_trace *made = anonymised(trace, &spec);
  CU_ASSERT(!made->id_text && !made->id_number && !made->user && !made->model && !made->deadline_us && !made->within &&
            !made->within_wait_us && !made->gpu_types);
  CU_ASSERT(made->tenant && made->regions && made->flags);
  for (uint32_t job = 0; job < made->n_jobs; job++)
    CU_ASSERT_EQUAL(made->flags[job], trace->flags[job] & HR_JOB_NOT_INTERRUPTIBLE);
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_fields_parse("user,modle", &spec.forget, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'modle' is not a job field; did you mean 'model'?"));
  CU_ASSERT_EQUAL(hr_fields_parse("gpus", &spec.forget, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'gpus' cannot be removed"));
  CU_ASSERT_EQUAL(hr_fields_parse("", &spec.forget, &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_fields_parse("user,", &spec.forget, &error), HR_BAD_INPUT);
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

static bool is_rejected(const struct hr_trace *trace, const struct hr_anonymise_spec *spec, const char *part) {
  struct hr_error error = {0};
  struct hr_trace *made;
  enum hr_status status = hr_transform_anonymise(trace, spec, &made, &error);
  if (status == HR_BAD_INPUT && !made && strstr(error.text, part) && !strstr(error.text, key)) return true;
  fprintf(stderr, "\n    %d: %s\n", status, error.text);
  return false;
}

/* Returns a trace of `n` jobs, each with its own user. */
static struct hr_trace *trace_of_users(uint32_t n) {
  struct hr_trace_builder *builder = hr_trace_builder_create("crowd", "memory");
  struct hr_trace *trace = NULL;
  for (uint32_t i = 0; i < n; i++) {
    char name[20];
    struct hr_job_record job;
    hr_job_record_init(&job);
    snprintf(name, sizeof name, "user%u", i);
    job.user = (struct hr_text){name, strlen(name)};
    CU_ASSERT_EQUAL(hr_trace_builder_add(builder, &job, i + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static void collisions_and_invalid_options_are_rejected(void) {
  struct hr_anonymise_spec spec = with_key();
  struct hr_trace *trace = trace_of_users(2000);
  spec.digits = HR_MIN_PSEUDONYM_DIGITS;
  CU_ASSERT(is_rejected(trace, &spec, "two users have the same pseudonym of 4 digits; use more digits or another key"));
  CU_ASSERT_EQUAL(hr_fields_parse("user", &spec.forget, NULL), HR_OK);
  hr_trace_destroy(trace);
  trace = trace_of("submit_s,duration_s,gpus\n10,1,1\n", NULL);
  spec.digits = 3;
  CU_ASSERT(is_rejected(trace, &spec, "pseudonyms of 3 digits; expected 4 to 64"));
  spec.digits = 65;
  CU_ASSERT(is_rejected(trace, &spec, "pseudonyms of 65 digits"));
  spec = with_key();
  spec.key_bytes = 0;
  CU_ASSERT(is_rejected(trace, &spec, "the key is empty"));
  spec = with_key();
  spec.shift_us = -11 * HR_SECOND_US;
  CU_ASSERT(is_rejected(trace, &spec, "a time shift of -11 s gives times before 0 s"));
  hr_trace_destroy(trace);
}

/* There are fewer users than jobs, so only pseudonyms of job ids collide, not those of users. */
static void colliding_ids_are_rejected(void) {
  struct hr_anonymise_spec spec = with_key();
  struct hr_generator generator;
  char path[200];
  hr_generator_init(&generator);
  generator.count = 2000;
  snprintf(path, sizeof path, "%s", file_path("ids.csv"));
  CU_ASSERT_EQUAL_FATAL(hr_generate(&generator, path, NULL), HR_OK);
  struct hr_trace *trace = trace_at(path, NULL);
  spec.digits = HR_MIN_PSEUDONYM_DIGITS;
  CU_ASSERT(is_rejected(trace, &spec, "two jobs have the same pseudonym of 4 digits"));
  hr_trace_destroy(trace);
}

TEST_MAIN("anonymised traces", TEST(pseudonyms_match_the_definition), TEST(only_names_change),
          TEST(the_key_changes_the_pseudonyms), TEST(times_can_be_shifted_or_undated), TEST(fields_can_be_removed),
          TEST(collisions_and_invalid_options_are_rejected), TEST(colliding_ids_are_rejected))
