/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of single fields: accepted spellings, lists, and bounds. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>

/* Returns the CSV text of a trace of one job whose column `column` contains `value`. The text is valid until the next
   call. */
static const char *text_with(const char *column, const char *value) {
  static char text[400];
  snprintf(text, sizeof text, "submit_s,duration_s,gpus,%s\n1,2,8,%s\n", column, value);
  return text;
}

static bool value_rejected(const char *column, const char *value, const char *part) {
  char start[100];
  snprintf(start, sizeof start, "jobs.csv:2: column '%s': ", column);
  return refused(text_with(column, value), NULL, start, part);
}

static bool class_is(const char *word, enum hr_job_class wanted) {
  struct hr_trace *trace = trace_of(text_with("class", word), NULL);
  bool as_expected = trace && (trace->class_ ? trace->class_[0] : HR_CLASS_UNKNOWN) == wanted;
  hr_trace_destroy(trace);
  return as_expected;
}

static bool outcome_is(const char *word, enum hr_outcome wanted) {
  struct hr_trace *trace = trace_of(text_with("status", word), NULL);
  bool as_expected = trace && (trace->outcome ? trace->outcome[0] : HR_OUTCOME_UNKNOWN) == wanted;
  hr_trace_destroy(trace);
  return as_expected;
}

static void spellings_of_classes(void) {
  for (int i = 0; i < HR_N_CLASSES; i++)
    CU_ASSERT(class_is(hr_job_class_name((enum hr_job_class)i), (enum hr_job_class)i));
  CU_ASSERT(class_is("finetune", HR_CLASS_FINE_TUNE));
  CU_ASSERT(class_is("Fine_Tune", HR_CLASS_FINE_TUNE));
  CU_ASSERT(class_is("TRAINING", HR_CLASS_TRAINING));
  CU_ASSERT(class_is("batch inference", HR_CLASS_BATCH_INFERENCE));
  CU_ASSERT(value_rejected("class", "trainingx", "not one of training, fine-tune"));
  CU_ASSERT(value_rejected("class", "-", "not one of training, fine-tune"));
}

static void spellings_of_outcomes(void) {
  for (int i = 0; i < HR_N_OUTCOMES; i++)
    CU_ASSERT(outcome_is(hr_outcome_name((enum hr_outcome)i), (enum hr_outcome)i));
  CU_ASSERT(outcome_is("Pass", HR_OUTCOME_COMPLETED));
  CU_ASSERT(outcome_is("Succeeded", HR_OUTCOME_COMPLETED));
  CU_ASSERT(outcome_is("COMPLETE", HR_OUTCOME_COMPLETED));
  CU_ASSERT(outcome_is("NODE_FAIL", HR_OUTCOME_FAILED));
  CU_ASSERT(outcome_is("CANCELED", HR_OUTCOME_CANCELLED));
  CU_ASSERT(outcome_is("Killed", HR_OUTCOME_CANCELLED));
  CU_ASSERT(value_rejected("status", "done", "not one of completed, failed, cancelled"));
}

static void values_out_of_bounds_are_rejected(void) {
  CU_ASSERT(value_rejected("tasks", "0", "'0' is not a whole number of at least 1"));
  CU_ASSERT(value_rejected("priority", "1.5", "not a whole number"));
  CU_ASSERT(value_rejected("priority", "--5", "not a whole number"));
  CU_ASSERT(value_rejected("priority", "2147483648", "from -2147483647 to 2147483647"));
  CU_ASSERT(value_rejected("fail_at", "1.1", "'1.1' is more than 1"));
  CU_ASSERT(value_rejected("gpu_milli", "0", "from 1 to 1000"));
  CU_ASSERT(value_rejected("gpu_milli", "1001", "more than 1000"));
  CU_ASSERT(value_rejected("mem_gb", "1e12", "more than 1048576 GiB"));
  CU_ASSERT(value_rejected("dedicated", "perhaps", "not one of true, false"));
  CU_ASSERT(value_rejected("within", "pool", "'pool' is not one of island, numa, node, rack, zone"));
  CU_ASSERT(value_rejected("within_wait_s", "-1", "not a number of seconds of at least 0"));
  CU_ASSERT(value_rejected("limit_s", "\"0,5\"", "'0,5' is not a number: write a decimal point"));
  CU_ASSERT(value_rejected("mem_gb", "\"1,024.5\"", "'1,024.5' is not a number: write a decimal point"));
  CU_ASSERT(value_rejected("limit_s", "\"5,\"", "'5,' is not a number of seconds"));
  CU_ASSERT(value_rejected("limit_s", "\"1,x\"", "'1,x' is not a number of seconds"));
  CU_ASSERT(value_rejected("gpu_type", "A100||H100", "separated by '|'"));
  CU_ASSERT(value_rejected("limit_s", "-1", "not a number of seconds of at least 0"));
}

static void inconsistent_fields_are_rejected(void) {
  CU_ASSERT(refused(text_with("tasks", "3"), NULL, "jobs.csv:2: ", "not a multiple of 'tasks'"));
  CU_ASSERT(refused(text_with("min_gpus", "9"), NULL, "jobs.csv:2: ", "'min_gpus' is more than 'gpus'"));
  CU_ASSERT(refused(text_with("max_gpus", "7"), NULL, "jobs.csv:2: ", "'max_gpus' is less than 'gpus'"));
  CU_ASSERT(refused(text_with("within_wait_s", "5"), NULL, "jobs.csv:2: ", "has no effect without 'within'"));
  CU_ASSERT(refused(text_with("deadline_s", "0.5"), NULL, "jobs.csv:2: ", "deadline is before the submit"));
  CU_ASSERT(refused(text_with("start_s", "0.5"), NULL, "jobs.csv:2: ", "recorded start is before the submit"));
}

static void mixed_kinds_of_times_are_rejected(void) {
  const char *mixed = "not of the same kind as the previous times";
  CU_ASSERT(refused("submit_s,duration_s,gpus\n1,2,3\n2026-11-21,2,3\n", NULL, "jobs.csv:3: ", mixed));
  CU_ASSERT(refused("submit_s,duration_s,gpus\n2026-11-21,2,3\n1,2,3\n", NULL, "jobs.csv:3: ", mixed));
  CU_ASSERT(refused("submit_s,duration_s,gpus\n2026-11-21,2,3\n2026-11-21T00:00Z,2,3\n", NULL, "jobs.csv:3: ", mixed));
}

static void control_characters_in_messages_are_escaped(void) {
  CU_ASSERT(value_rejected("priority", "a\x1B[31mb\xFF", "'a\\x1B[31mb\\xFF' is"));
  char value[201] = {0};
  memset(value, 'y', 200);
  CU_ASSERT(value_rejected("priority", value, "yyy...' is"));
  CU_ASSERT(strlen(trace_error()) < 200);
}

static void spellings_of_flags(void) {
  static const char *const yes[] = {"true", "TRUE", "1", "yes"}, *const no[] = {"false", "0", "No"};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    struct hr_trace *trace = trace_of(text_with("dedicated", yes[i]), NULL);
    CU_ASSERT(trace && trace->flags && trace->flags[0] == HR_JOB_DEDICATED);
    hr_trace_destroy(trace);
    trace = trace_of(text_with("interruptible", yes[i]), NULL);
    CU_ASSERT(trace && !trace->flags);
    hr_trace_destroy(trace);
  }
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    struct hr_trace *trace = trace_of(text_with("interruptible", no[i]), NULL);
    CU_ASSERT(trace && trace->flags && trace->flags[0] == HR_JOB_NOT_INTERRUPTIBLE);
    hr_trace_destroy(trace);
  }
}

TEST_MAIN("values", TEST(spellings_of_classes), TEST(spellings_of_outcomes), TEST(values_out_of_bounds_are_rejected),
          TEST(inconsistent_fields_are_rejected), TEST(mixed_kinds_of_times_are_rejected),
          TEST(control_characters_in_messages_are_escaped), TEST(spellings_of_flags))
