/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of failures: published values of Los Alamos and Grid'5000, generated intervals, a log computed by hand, and
   malformed logs. */

#include "harness.h"

#include "headroom/unstable/exports.h"

#include <cjson/cJSON.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELIABILITY PROJECT_DIR "/../shared/reliability"
#define LANL RELIABILITY "/data/failures/lanl_1996_2005.csv.gz"

/* Returns the fits of a log as JSON, which the caller frees; NULL and the error if the log cannot be read. */
static cJSON *fits_of(const char *path, const char *system, struct hr_error *error) {
  struct hr_failure_log log;
  char name[] = "/tmp/headroom-fits-XXXXXX", text[1 << 18];
  if (hr_failure_log_read(path, &log, error) != HR_OK) return NULL;
  int file = mkstemp(name);
  CU_ASSERT_FATAL(file >= 0);
  CU_ASSERT_EQUAL_FATAL(hr_failure_fits_write_json(name, path, &log, system, error), HR_OK);
  hr_failure_log_finish(&log);
  close(file);
  FILE *in = fopen(name, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(in);
  text[fread(text, 1, sizeof text - 1, in)] = '\0';
  fclose(in);
  CU_ASSERT_EQUAL(unlink(name), 0);
  return cJSON_Parse(text);
}

/* Returns the number at a path of keys of the first system; NaN if it is missing. */
static double figure(const cJSON *fits, const char *kind, const char *distribution, const char *key) {
  const cJSON *at = cJSON_GetArrayItem(cJSON_GetObjectItem(fits, "systems"), 0);
  if (kind) at = cJSON_GetObjectItem(at, kind);
  if (distribution) at = cJSON_GetObjectItem(at, distribution);
  at = cJSON_GetObjectItem(at, key);
  return cJSON_IsNumber(at) ? at->valuedouble : (double)NAN;
}

static bool within(const char *what, double found, double expected, double share) {
  if (fabs(found - expected) <= share * fabs(expected)) return true;
  fprintf(stderr, "\n    %s: %g, expected %g", what, found, expected);
  return false;
}

/* ---- Published figures ------------------------------------------------------------------------------- */

/* Compares the columns of a row of lanl_system_stats.csv with the fits of the system. */
static void compare_system(char *row) {
  static const struct {
    int column;
    const char *kind, *distribution, *key;
  } figures[] = {{1, NULL, NULL, "nodes"},
                 {2, NULL, NULL, "failures"},
                 {3, NULL, NULL, "span_days"},
                 {4, NULL, NULL, "per_1000_node_days"},
                 {5, "system_gap_h", NULL, "mean"},
                 {6, "system_gap_h", "weibull", "shape"},
                 {7, "system_gap_h", "weibull", "scale"},
                 {9, "node_gap_h", "exponential", "mean"},
                 {10, "node_gap_h", "weibull", "shape"},
                 {11, "node_gap_h", "weibull", "scale"},
                 {12, "repair_h", NULL, "mean"},
                 {13, "repair_h", NULL, "median"},
                 {15, "repair_h", "log_normal", "sigma"},
                 {16, NULL, NULL, "top_5_percent_share"}};
  char *fields[20] = {0}, *rest;
  struct hr_error error;
  for (int i = 0; i < 20; i++) fields[i] = strtok_r(i ? NULL : row, ",", &rest);
  cJSON *fits = fits_of(LANL, fields[0], &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    double found = figure(fits, figures[i].kind, figures[i].distribution, figures[i].key);
    CU_ASSERT(within(figures[i].key, found, strtod(fields[figures[i].column], NULL), 0.01));
  }
  CU_ASSERT(fabs(figure(fits, "repair_h", "log_normal", "mu") - strtod(fields[14], NULL)) < 0.01);
  CU_ASSERT(fabs(figure(fits, "system_gap_h", NULL, "zero_share") - strtod(fields[8], NULL)) < 0.0005);
  cJSON_Delete(fits);
}

static void los_alamos_by_system(void) {
  char row[1024];
  unsigned n_systems = 0;
  if (real_trace_missing(LANL)) return;
  FILE *in = fopen(RELIABILITY "/csv/lanl_system_stats.csv", "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(in);
  CU_ASSERT_PTR_NOT_NULL(fgets(row, sizeof row, in));
  for (; fgets(row, sizeof row, in); n_systems++) compare_system(row);
  fclose(in);
  CU_ASSERT_EQUAL(n_systems, 7);
}

/* The fits of the Failure Trace Archive (Javadi et al., JPDC 2013), with all systems together. */
static void los_alamos_together(void) {
  struct hr_error error;
  if (real_trace_missing(LANL)) return;
  cJSON *fits = fits_of(LANL, "all", &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT(within("mean", figure(fits, "repair_h", NULL, "mean"), 5.92, 0.01));
  CU_ASSERT(within("shape", figure(fits, "repair_h", "weibull", "shape"), 0.58, 0.01));
  CU_ASSERT(within("scale", figure(fits, "repair_h", "weibull", "scale"), 2.18, 0.01));
  CU_ASSERT(within("mu", figure(fits, "repair_h", "log_normal", "mu"), 0.05, 0.01));
  CU_ASSERT(within("sigma", figure(fits, "repair_h", "log_normal", "sigma"), 1.42, 0.01));
  cJSON_Delete(fits);
}

/* The fits of the same paper for Grid'5000. The file of intervals was made from quantiles of the real ones. Quantiles
   do not determine the mean, because the longest interval contributes a large part of it, so the mean is not
   compared. */
static void grid_5000(void) {
  static const char path[] = RELIABILITY "/data/failures/g5k06_all_nodes_quantiles.csv.gz";
  struct hr_error error;
  if (real_trace_missing(path)) return;
  cJSON *fits = fits_of(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT(within("up", figure(fits, "up_time_h", "weibull", "shape"), 0.48, 0.01));
  CU_ASSERT(within("up", figure(fits, "up_time_h", "weibull", "scale"), 14.37, 0.01));
  CU_ASSERT(within("up", figure(fits, "up_time_h", "log_normal", "mu"), 1.51, 0.01));
  CU_ASSERT(within("up", figure(fits, "up_time_h", "log_normal", "sigma"), 2.42, 0.01));
  CU_ASSERT(within("down", figure(fits, "repair_h", "weibull", "shape"), 0.35, 0.01));
  CU_ASSERT(within("down", figure(fits, "repair_h", "weibull", "scale"), 0.47, 0.01));
  CU_ASSERT(within("down", figure(fits, "repair_h", "log_normal", "mu"), -2, 0.01));
  CU_ASSERT(within("down", figure(fits, "repair_h", "log_normal", "sigma"), 2.2, 0.01));
  cJSON_Delete(fits);
}

/* ---- Own logs ---------------------------------------------------------------------------------------- */

/* Writes a log, which the caller removes. */
static const char *write_log(const char *text) {
  static const char path[] = "/tmp/headroom-test-failures.csv";
  FILE *out = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  fputs(text, out);
  fclose(out);
  return path;
}

/* One node with Weibull intervals (shape 0.7, scale 100 h) and gamma repairs (shape 2, scale 0.5 h). */
static void generated_intervals(void) {
  enum { COUNT = 100000 };
  struct hr_error error;
  const char *path = write_log("");
  gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
  FILE *out = fopen(path, "w");
  CU_ASSERT_FATAL(rng && out);
  fputs("node,start,end\n", out);
  double at_s = 0;
  for (int i = 0; i < COUNT; i++) {
    double repair_s = 3600 * gsl_ran_gamma(rng, 2, 0.5);
    fprintf(out, "n,%.6f,%.6f\n", at_s, at_s + repair_s);
    at_s += 3600 * gsl_ran_weibull(rng, 100, 0.7);
  }
  fclose(out);
  gsl_rng_free(rng);
  cJSON *fits = fits_of(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT(within("shape", figure(fits, "node_gap_h", "weibull", "shape"), 0.7, 0.01));
  CU_ASSERT(within("scale", figure(fits, "node_gap_h", "weibull", "scale"), 100, 0.01));
  CU_ASSERT(within("shape", figure(fits, "repair_h", "gamma", "shape"), 2, 0.01));
  CU_ASSERT(within("scale", figure(fits, "repair_h", "gamma", "scale"), 0.5, 0.01));
  const cJSON *system = cJSON_GetArrayItem(cJSON_GetObjectItem(fits, "systems"), 0);
  CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(system, "node_gap_h"), "best")),
                         "weibull");
  cJSON_Delete(fits);
  CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Node a fails at 0, 2 and 6 h, node b at 2 and 3 h; the rows are not sorted. The gaps between failures of the system
   are 2, 0, 1 and 3 h, with a mean of 1.5 h, and those of the nodes 2, 4 and 1 h. The repairs take 1, 0, 1, 0.5 and 2
   h; the one of 0 h is dropped. */
static void log_by_hand(void) {
  struct hr_error error;
  const char *path = write_log("node,start,end\na,21600,25200\nb,7200,9000\na,0,3600\na,7200,7200\nb,10800,18000\n");
  cJSON *fits = fits_of(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "nodes"), 2);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "failures"), 5);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "span_days"), 0.25);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "dropped_repairs"), 1);
  CU_ASSERT_EQUAL(figure(fits, "system_gap_h", NULL, "count"), 3);
  CU_ASSERT_EQUAL(figure(fits, "system_gap_h", NULL, "zeros"), 1);
  CU_ASSERT_EQUAL(figure(fits, "system_gap_h", NULL, "mean"), 1.5);
  CU_ASSERT_EQUAL(figure(fits, "node_gap_h", NULL, "count"), 3);
  CU_ASSERT(within("mean", figure(fits, "node_gap_h", NULL, "mean"), 7.0 / 3, 1e-6));
  CU_ASSERT_EQUAL(figure(fits, "repair_h", NULL, "median"), 1);
  cJSON_Delete(fits);
  CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Rows that are permitted in a log and are counted: a repeated failure, and negative intervals. */
static void counted_rows(void) {
  struct hr_error error;
  const char *path = write_log("node,start,end\na,0,60\nb,0,60\na,0,60\na,0,70\n");
  cJSON *fits = fits_of(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "failures"), 4);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "duplicates"), 1);
  cJSON_Delete(fits);
  path = write_log("failure_interval,failure_duration\n3600000,60000\n-5,60000\n7200000,60000\n7,-1\n");
  fits = fits_of(path, NULL, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fits);
  CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(fits, "negative_rows")), 2);
  CU_ASSERT_EQUAL(figure(fits, NULL, NULL, "failures"), 2);
  CU_ASSERT_EQUAL(figure(fits, "system_gap_h", NULL, "mean"), 1.5);
  cJSON_Delete(fits);
  CU_ASSERT_EQUAL(unlink(path), 0);
}

static void malformed_logs(void) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"a,b\n1,2\n", ":1: no known log of failures"},
      {"node,start,end\nn,-5,7\n", ":2: column 'start': expected a date"},
      {"node,start,end\nn,2005-02-30,7\n", ":2: column 'start': expected a date"},
      {"node,state,start_unix,end_unix\nn,off,1,2\n", ":2: column 'state': expected up or down, found 'off'"},
      {"state,quantile,seconds\nup,0,5\nup,0.1,4\n", ":3: column 'seconds': expected at least the previous quantile"},
      {"failure_interval,failure_duration\n5,x\n", ":2: column 'failure_duration': expected a number"},
      {"system,nodes,node,start,fixed\n2,many,n,1,2\n", ":2: column 'nodes': expected a whole number"},
      {"node,start,end\n", "no failures"},
      {"node,start,end\nn,2005-02-01T00:00,2005-02-02T00:00\nn,86400,90000\n",
       ":3: column 'start': expected a date, as in the times before, found '86400'"},
      {"node,start,end\nn,86400,2005-02-02T00:00\n", ":2: column 'end': expected seconds, as in the times before"},
      {"state,quantile,seconds\nup,0,5\nup,1.5,6\n",
       ":3: column 'quantile': expected a number from 0 to 1, found '1.5'"},
      {"node,state,start_unix,end_unix\nn,down,50,60\nm,up,0,99\nn,up,0,51\n",
       ":4: this interval of node 'n' overlaps the one in line 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hr_error error = {0};
    const char *path = write_log(cases[i].text);
    CU_ASSERT_PTR_NULL(fits_of(path, NULL, &error));
    if (!strstr(error.text, cases[i].message)) {
      fprintf(stderr, "\n    %s", error.text);
      CU_FAIL("another message");
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
  }
}

TEST_MAIN("failures", TEST(los_alamos_by_system), TEST(los_alamos_together), TEST(grid_5000), TEST(generated_intervals),
          TEST(log_by_hand), TEST(counted_rows), TEST(malformed_logs))
