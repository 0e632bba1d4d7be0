/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metrics of data with a location: bytes and dollars by storage system and by link, and the GPU time in which jobs
 * waited for data. The bytes are exact sums of the engine (headroom/unstable/data.h); the dollars are those of the cost
 * items.
 */

#include "headroom/unstable/data.h"
#include "report/metrics/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_GB 1e9

static double gb(hr_amount bytes) {
  return (double)bytes / BYTES_PER_GB;
}

/* Returns (bytes of a resource) / (bytes that it could transfer during the run); 0: it has no limit, or the run took no
   time. */
static double utilization(hr_amount bytes, int64_t bytes_s, int64_t end_us) {
  if (bytes_s == 0 || end_us <= 0) return 0;
  return (double)bytes / ((double)bytes_s * (double)end_us / (double)HR_SECOND_US);
}

static enum hr_status make_storage(const struct hr_result *result, struct hr_data_metrics *figures) {
  const struct hr_data_result *data = result->data;
  figures->by_storage = calloc((size_t)data->n_storage + 1, sizeof *figures->by_storage);
  if (!figures->by_storage) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < data->n_storage; i++) {
    const struct hr_data_storage *spec = &data->spec->storage[i];
    const struct hr_data_storage_result *own = &data->storage[i];
    figures->by_storage[i] = (struct hr_data_line){
        .name = strdup(spec->name),
        .sent_gb = gb(own->read_bytes),
        .received_gb = gb(own->written_bytes),
        .utilization = utilization(own->read_bytes + own->written_bytes, spec->bytes_s, result->end_us),
        .uusd = hr_data_stored_uusd(spec, own, HR_MONTH_US)};
    if (!figures->by_storage[i].name) return HR_NO_MEMORY;
    figures->n_storage++;
    figures->storage_uusd += figures->by_storage[i].uusd;
  }
  return HR_OK;
}

static enum hr_status make_links(const struct hr_result *result, struct hr_data_metrics *figures) {
  const struct hr_data_result *data = result->data;
  figures->by_link = calloc((size_t)data->n_links + 1, sizeof *figures->by_link);
  if (!figures->by_link) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < data->n_links; i++) {
    const struct hr_data_link *spec = &data->spec->links[i];
    const size_t bytes = strlen(spec->from) + strlen(spec->to) + sizeof " to ";
    char *name = malloc(bytes);
    if (!name) return HR_NO_MEMORY;
    snprintf(name, bytes, "%s to %s", spec->from, spec->to);
    figures->by_link[figures->n_links++] =
        (struct hr_data_line){.name = name,
                              .sent_gb = gb(data->links[i].bytes),
                              .received_gb = gb(data->links[i].bytes),
                              .utilization = utilization(data->links[i].bytes, spec->bytes_s, result->end_us),
                              .uusd = hr_data_egress_uusd(data, i)};
    figures->moved_gb += gb(data->links[i].bytes);
    figures->egress_uusd += figures->by_link[i].uusd;
  }
  return HR_OK;
}

enum hr_status hr__data_make(const struct hr_result *result, const struct hr_gpu_times *times,
                             struct hr_data_metrics *figures) {
  *figures = (struct hr_data_metrics){0};
  if (!result->data) return HR_OK;
  const struct hr_data_result *data = result->data;
  const hr_amount held = times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
  figures->known = true;
  figures->waiting_gpu_hours = hr__gpu_hours(times->data);
  figures->waiting_share = held > 0 ? (double)times->data / (double)held : 0;
  figures->read_gb = gb(data->read_bytes);
  figures->cached_share = data->read_bytes > 0 ? (double)data->cached_bytes / (double)data->read_bytes : 0;
  figures->copied_gb = gb(data->copied_bytes);
  figures->saved_gb = gb(data->saved_bytes);
  const enum hr_status status = make_storage(result, figures);
  return status == HR_OK ? make_links(result, figures) : status;
}

static void free_lines(struct hr_data_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) free(lines[i].name);
  free(lines);
}

void hr__data_finish(struct hr_data_metrics *figures) {
  free_lines(figures->by_storage, figures->n_storage);
  free_lines(figures->by_link, figures->n_links);
}
