/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs test vectors against the models of other schedulers and autoscalers, and reports the result.
 *
 * A vector file has one of two forms, depending on the system:
 * - A JSON list of cases. Each case has the members "id" and "kind", and the members that the adapter needs.
 * - A JSON object of groups. Each group is an object of lists of cases. The kind of a case is "GROUP.LIST". Its id
 *   consists of its kind, its position in the list (from 1), and its member "name" or "case".
 *
 * Cases are independent of each other. Each case has its own arena, which is freed at the end of the case.
 */

#include "scenarios/conform/conform.h"

#include "base/containers.h"
#include "base/output_file.h"
#include "traces/json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_OF(name, run, grouped, largest) name,
const char *const hr_conform_systems[] = {HR__CONFORM_SYSTEMS(NAME_OF) NULL};
#undef NAME_OF

#define RUN_OF(name, run, grouped, largest) {run, grouped, largest},
static const struct runner {
  hr__conform_run_case *run;
  bool grouped;
  double largest; /* number that a case may contain; 0: any */
} runners[] = {HR__CONFORM_SYSTEMS(RUN_OF)};
#undef RUN_OF

/* ---- Running ---- */

void hr__free_case(struct hr_conform_case *row) {
  for (size_t i = 0; i < row->n_differences; i++) {
    free(row->differences[i].place);
    free(row->differences[i].expected);
    free(row->differences[i].actual);
  }
  free(row->differences);
  free(row->id);
  free(row->kind);
  free(row->unsupported);
}

/* Counts the case. Frees it if it passed; otherwise moves it to the report. Returns false if memory is exhausted. */
static bool keep_case(struct hr_conform_report *report, struct hr_conform_case *row) {
  if (!row->unsupported && !row->n_differences) {
    report->passed++;
    hr__free_case(row);
    return true;
  }
  if (row->unsupported)
    report->not_supported++;
  else
    report->failed++;
  if (!HR__ARRAY_HAS_ROOM(report->cases, report->n_cases, report->capacity)) return false;
  report->cases[report->n_cases++] = *row;
  return true;
}

/* Runs a case and adds it to the report. `malformed` describes a fault of the case, which then fails without being run;
   NULL: no fault. */
static enum hr_status run_named(const char *file, const struct runner *runner, const cJSON *item, const char *id,
                                const char *kind, const char *malformed, struct hr_conform_report *report,
                                struct hr_error *error) {
  struct hr_arena arena = {0};
  struct hr_conform_case row = {.id = strdup(id), .kind = strdup(kind)};
  struct hr__verdict verdict = {.whole = item,
                                .input = runner->grouped ? item : hr__case_get(item, "input"),
                                .expect = runner->grouped ? item : hr__case_get(item, "expect"),
                                .kind = kind,
                                .arena = &arena,
                                .row = &row,
                                .no_memory = !row.id || !row.kind,
                                .malformed = malformed};
  if (!malformed && runner->largest > 0) hr__verdict_limit_numbers(&verdict, runner->largest);
  if (!verdict.no_memory && !verdict.malformed) runner->run(&verdict);
  if (verdict.malformed && row.id && row.kind) {
    verdict.no_memory = false; // an adapter that stops early may report both
    hr__verdict_compare_text(&verdict, "case", NULL, verdict.malformed);
  }
  if (verdict.release) verdict.release(verdict.released);
  hr__arena_finish(&arena);
  if (!verdict.no_memory && keep_case(report, &row)) return HR_OK;
  hr__free_case(&row);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", file);
}

static enum hr_status run_case(const char *file, const struct runner *runner, const cJSON *item, size_t position,
                               struct hr_conform_report *report, struct hr_error *error) {
  const char *id = hr__case_text(item, "id", NULL), *kind = hr__case_text(item, "kind", NULL);
  if (!id || !kind)
    return hr_fail(error, HR_BAD_INPUT, "%s: case %zu: expected an object with the texts \"id\" and \"kind\"", file,
                   position);
  bool has_input = cJSON_IsObject(hr__case_get(item, "input")) || cJSON_IsObject(hr__case_get(item, "cluster"));
  bool is_whole = has_input && cJSON_IsObject(hr__case_get(item, "expect"));
  const char *malformed = is_whole ? NULL : "expected the objects \"input\" (or \"cluster\") and \"expect\"";
  return run_named(file, runner, item, id, kind, malformed, report, error);
}

/* Sets the names of all list items to an empty text. Adapters read the names of the members of an object. If a case has
   a list instead of the object, they read the names of its items, which must not be NULL. */
static void name_values(cJSON *tree) {
  static char empty[] = "";
  cJSON *item;
  cJSON_ArrayForEach(item, tree) {
    if (!item->string) {
      item->string = empty;
      item->type |= cJSON_StringIsConst;
    }
    name_values(item);
  }
}

/* Runs the cases in the lists of a group. Members that are not lists, such as descriptions, are skipped. */
static enum hr_status run_group(const char *file, const struct runner *runner, const cJSON *group,
                                struct hr_conform_report *report, struct hr_error *error) {
  const cJSON *list, *item;
  cJSON_ArrayForEach(list, group) {
    size_t position = 0;
    if (!cJSON_IsArray(list)) continue;
    cJSON_ArrayForEach(item, list) {
      char id[300], kind[200];
      snprintf(kind, sizeof kind, "%s.%s", group->string, list->string);
      snprintf(id, sizeof id, "%s %zu %s", kind, ++position,
               hr__case_text(item, "name", hr__case_text(item, "case", "")));
      enum hr_status status = run_named(file, runner, item, id, kind, NULL, report, error);
      if (status != HR_OK) return status;
    }
  }
  return HR_OK;
}

static enum hr_status run_list(const char *path, const struct runner *runner, const cJSON *tree,
                               struct hr_conform_report *report, struct hr_error *error) {
  if (!cJSON_IsArray(tree))
    return hr_fail(error, HR_BAD_INPUT, "%s:1:1: found another value, expected a list of cases", path);
  size_t position = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, tree) {
    enum hr_status status = run_case(path, runner, item, ++position, report, error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status run_groups(const char *path, const struct runner *runner, const cJSON *tree,
                                 struct hr_conform_report *report, struct hr_error *error) {
  if (!cJSON_IsObject(tree))
    return hr_fail(error, HR_BAD_INPUT, "%s:1:1: found another value, expected an object with groups of cases", path);
  const cJSON *group;
  cJSON_ArrayForEach(group, tree) {
    if (!cJSON_IsObject(group)) continue;
    enum hr_status status = run_group(path, runner, group, report, error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status run_file(const char *path, const struct runner *runner, struct hr_conform_report *report,
                               struct hr_error *error) {
  struct hr__json_file file = {0};
  enum hr_status status = hr__json_file_read(path, &file, error);
  name_values(file.tree);
  if (status == HR_OK) status = (runner->grouped ? run_groups : run_list)(path, runner, file.tree, report, error);
  hr__json_file_finish(&file);
  return status;
}

enum hr_status hr_conform_run(const char *system, const char *const *files, size_t n_files,
                              struct hr_conform_report *report, struct hr_error *error) {
  *report = (struct hr_conform_report){0};
  size_t at = 0;
  while (hr_conform_systems[at] && strcmp(hr_conform_systems[at], system) != 0) at++;
  if (!hr_conform_systems[at]) return hr_fail(error, HR_BAD_INPUT, "conform: unknown system '%.60s'", system);
  report->system = hr_conform_systems[at];
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < n_files && status == HR_OK; i++) status = run_file(files[i], &runners[at], report, error);
  return status;
}

void hr_conform_finish(struct hr_conform_report *report) {
  for (uint32_t i = 0; i < report->n_cases; i++) hr__free_case(&report->cases[i]);
  free(report->cases);
  *report = (struct hr_conform_report){0};
}

/* ---- Reporting ---- */

void hr_conform_print(FILE *out, const struct hr_conform_report *report) {
  for (uint32_t i = 0; i < report->n_cases; i++) {
    const struct hr_conform_case *row = &report->cases[i];
    fputs(row->unsupported ? "not supported: " : "failed: ", out);
    hr_print_safe(out, row->id, SIZE_MAX);
    if (row->unsupported) fprintf(out, "\n  %s", row->unsupported);
    fputc('\n', out);
    for (size_t k = 0; k < row->n_differences; k++) {
      fputs("  ", out);
      hr_print_safe(out, row->differences[k].place, SIZE_MAX);
      fputs("\n    expected ", out);
      hr_print_safe(out, row->differences[k].expected, SIZE_MAX);
      fputs("\n    actual   ", out);
      hr_print_safe(out, row->differences[k].actual, SIZE_MAX);
      fputc('\n', out);
    }
  }
  fprintf(out, "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " not supported\n", report->passed, report->failed,
          report->not_supported);
}

static cJSON *differences_json(const struct hr_conform_case *row) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < row->n_differences; i++) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "place", row->differences[i].place);
    cJSON_AddItemToObject(item, "expected", cJSON_Parse(row->differences[i].expected));
    cJSON_AddItemToObject(item, "actual", cJSON_Parse(row->differences[i].actual));
    cJSON_AddItemToArray(list, item);
  }
  return list;
}

static char *report_json(const struct hr_conform_report *report) {
  cJSON *root = cJSON_CreateObject(), *failures = cJSON_CreateArray(), *others = cJSON_CreateArray();
  cJSON_AddStringToObject(root, "system", report->system);
  cJSON_AddNumberToObject(root, "passed", (double)report->passed);
  cJSON_AddNumberToObject(root, "failed", (double)report->failed);
  cJSON_AddNumberToObject(root, "not_supported", (double)report->not_supported);
  for (uint32_t i = 0; i < report->n_cases; i++) {
    const struct hr_conform_case *row = &report->cases[i];
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "id", row->id);
    cJSON_AddStringToObject(item, "kind", row->kind);
    if (row->unsupported)
      cJSON_AddStringToObject(item, "reason", row->unsupported);
    else
      cJSON_AddItemToObject(item, "differences", differences_json(row));
    cJSON_AddItemToArray(row->unsupported ? others : failures, item);
  }
  cJSON_AddItemToObject(root, "failures", failures);
  cJSON_AddItemToObject(root, "unsupported", others);
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  return text;
}

enum hr_status hr_conform_write_json(const char *path, const struct hr_conform_report *report, struct hr_error *error) {
  char *text = report_json(report);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "conform: out of memory");
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    hr__output_write(&file, text, strlen(text));
    hr__output_write(&file, "\n", 1);
    status = hr__output_commit(&file, error);
  }
  free(text);
  return status;
}
