/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page is its template with two places filled: the title, and one line that becomes the document and its blocks.
 * Both are found before anything is written.
 */

#include "report/page_template.h"

#include "report/json_tree.h"
#include "report/page_parts.h"

#include <stdlib.h>
#include <string.h>

struct blocks {
  struct hr__page_job_blocks jobs;
  struct hr__page_block occupancy;
};

/* ---- The document ----------------------------------------------------------------------------------- */

static void put_baseline(const struct hr_page *page, struct hr__page_json *json) {
  if (!page->baseline) {
    hr__page_null(json, "baseline");
    return;
  }
  hr__page_open(json, "baseline", '{');
  hr__page_text(json, "name", page->baseline_name);
  hr__page_json_text(json, "run", page->baseline);
  hr__page_close(json, '}');
}

/* Times of the document are from zero on, however the trace counts. */
static void put_clock(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_trace *trace = view->run->trace;
  hr__page_open(json, "clock", '{');
  hr__page_bool(json, "dated", trace->dated);
  hr__page_seconds(json, "origin_s", trace->origin_us);
  hr__page_close(json, '}');
  hr__page_open(json, "spans", '{');
  hr__page_count(json, "begin_s", 0);
  hr__page_seconds(json, "end_s", view->grid.end_us);
  hr__page_close(json, '}');
}

static enum hr_status put_run(const struct hr_page_run *run, struct hr__page_json *json, struct blocks *blocks) {
  char *summary = hr_summary_json(run->summary, run->label, run->perf);
  struct hr__page_view view;
  enum hr_status status = hr__page_view_init(&view, run);
  if (!summary) status = HR_NO_MEMORY;
  if (status == HR_OK) {
    hr__page_json_text(json, "run", summary);
    put_clock(&view, json);
    status = hr__page_series(&view, json);
  }
  if (status == HR_OK) status = hr__page_distributions(&view, json);
  if (status == HR_OK) status = hr__page_alerts(run->label->alerts, json);
  if (status == HR_OK && run->summary->costs) status = hr__page_cells(&view, json);
  if (status == HR_OK) status = hr__page_occupancy(&view, json, &blocks->occupancy);
  if (status == HR_OK) status = hr__page_jobs(&view, json, &blocks->jobs);
  hr__page_view_finish(&view);
  free(summary);
  return status;
}

static enum hr_status put_no_run(struct hr__page_json *json) {
  hr__page_null(json, "run");
  return hr__page_alerts(NULL, json);
}

/* A note that stands in several lists is told once. */
static void put_notes(const struct hr_page *page, struct hr__page_json *json) {
  struct hr_notes all = {0};
  for (size_t i = 0; i < page->n_notes; i++)
    for (size_t k = 0; k < page->notes[i]->count; k++)
      if (hr_notes_add(&all, "%s", page->notes[i]->text[k]) != HR_OK) json->failed = true;
  hr__page_open(json, "notes", '[');
  hr__page_notes(json, &all);
  hr__page_close(json, ']');
  hr_notes_finish(&all);
  hr__page_open(json, "assumptions", '[');
  if (page->assumptions) hr__page_notes(json, page->assumptions);
  hr__page_close(json, ']');
}

static enum hr_status put_document(const struct hr_page *page, struct hr__page_json *json, struct blocks *blocks) {
  hr__page_open(json, NULL, '{');
  hr__page_count(json, "format", 1);
  hr__page_text(json, "kind", page->kind);
  hr__page_text(json, "version", hr_version());
  hr__page_text(json, "title", page->title);
  hr__page_text(json, "command", page->command);
  if (page->compare) hr__page_json_text(json, "compare", page->compare);
  if (page->plan) hr__page_json_text(json, "plan", page->plan);
  if (page->sweep) hr__page_json_text(json, "sweep", page->sweep);
  if (page->why) hr__page_json_text(json, "why", page->why);
  if (page->workload) hr__page_json_text(json, "workload", page->workload);
  put_baseline(page, json);
  put_notes(page, json);
  enum hr_status status = HR_OK;
  if (page->run)
    status = put_run(page->run, json, blocks);
  else
    status = put_no_run(json);
  hr__page_close(json, '}');
  return status == HR_OK && json->failed ? HR_NO_MEMORY : status;
}

static enum hr_status put_blocks(const struct blocks *blocks, struct hr__out *out) {
  const struct {
    const char *name;
    const struct hr__page_block *block;
  } all[] = {{"occupancy", &blocks->occupancy},
             {"jobs", &blocks->jobs.jobs},
             {"job_ids", &blocks->jobs.ids},
             {"attempts", &blocks->jobs.attempts}};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HR_OK; i++)
    if (all[i].block->size || all[i].block->failed) status = hr__page_block_write(all[i].block, out, all[i].name);
  return status;
}

static void finish_blocks(struct blocks *blocks) {
  hr__page_block_finish(&blocks->occupancy);
  hr__page_block_finish(&blocks->jobs.jobs);
  hr__page_block_finish(&blocks->jobs.ids);
  hr__page_block_finish(&blocks->jobs.attempts);
}

/* ---- The file --------------------------------------------------------------------------------------- */

static const char title_place[] = "<title>Headroom</title>", data_place[] = "<!--headroom:data-->";

struct places {
  const char *text, *title, *data;
};

static enum hr_status find_places(const struct hr_page *page, struct places *places, struct hr_error *error) {
  const char *text = page->template_html ? page->template_html : hr__page_template;
  if (!text)
    return hr_fail(error, HR_BAD_INPUT, "this build has no report page: configure with node and npm, and build again");
  *places = (struct places){text, strstr(text, title_place), strstr(text, data_place)};
  if (!places->data)
    return hr_fail(error, HR_BAD_INPUT, "the page's template has no line '%s', which the run's data take", data_place);
  if (places->title && places->title > places->data) places->title = NULL;
  return HR_OK;
}

static enum hr_status put_title(struct hr__out *out, const char *title) {
  char *utf8 = hr__utf8_copy(title);
  if (!utf8) return HR_NO_MEMORY;
  hr__out_text(out, "<title>");
  for (const char *at = utf8; *at; at++) {
    if (*at == '<')
      hr__out_text(out, "&lt;");
    else if (*at == '&')
      hr__out_text(out, "&amp;");
    else
      hr__out_byte(out, *at);
  }
  hr__out_text(out, "</title>");
  free(utf8);
  return HR_OK;
}

static enum hr_status put_data(const struct hr_page *page, struct hr__out *out) {
  struct blocks blocks = {0};
  struct hr__page_json json = {.out = out};
  hr__out_text(out, "<script type=\"application/json\" id=\"headroom-data\">");
  enum hr_status status = put_document(page, &json, &blocks);
  hr__out_text(out, "</script>\n");
  if (status == HR_OK) status = put_blocks(&blocks, out);
  finish_blocks(&blocks);
  return status;
}

static enum hr_status put_page(const struct hr_page *page, const struct places *places, struct hr__out *out) {
  const char *at = places->text;
  enum hr_status status = HR_OK;
  if (places->title) {
    hr__out_bytes(out, at, (size_t)(places->title - at));
    status = put_title(out, page->title);
    at = places->title + strlen(title_place);
  }
  hr__out_bytes(out, at, (size_t)(places->data - at));
  if (status == HR_OK) status = put_data(page, out);
  hr__out_text(out, places->data + strlen(data_place));
  return status;
}

bool hr_page_is_built(void) {
  return hr__page_template != NULL;
}

enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error) {
  struct places places = {0};
  struct hr__out out;
  enum hr_status status = find_places(page, &places, error);
  if (status == HR_OK) status = hr__out_open(&out, path, error);
  if (status != HR_OK) return status;
  status = put_page(page, &places, &out);
  if (status == HR_OK) return hr__out_commit(&out, error);
  hr__out_abandon(&out);
  return hr_fail(error, status, "%s: out of memory for the page", path);
}
