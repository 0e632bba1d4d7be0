/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/perfetto.h"

void hr__perfetto_begin(struct hr__perfetto *perfetto, const char *phase) {
  hr__out_text(&perfetto->out, perfetto->any ? ",\n{\"ph\":\"" : "{\"ph\":\"");
  hr__out_text(&perfetto->out, phase);
  perfetto->any = true;
}

void hr__perfetto_place(struct hr__perfetto *perfetto, uint32_t process, uint32_t thread) {
  HR__PUT(perfetto, "\",\"pid\":");
  hr__out_u64(&perfetto->out, process);
  HR__PUT(perfetto, ",\"tid\":");
  hr__out_u64(&perfetto->out, thread);
}

void hr__perfetto_time(struct hr__perfetto *perfetto, int64_t at_us) {
  HR__PUT(perfetto, ",\"ts\":");
  hr__out_i64(&perfetto->out, at_us + perfetto->clock_us);
}

uint32_t hr__perfetto_pool_process(uint32_t pool) {
  return HR__PERFETTO_FIRST_POOL + pool;
}

uint32_t hr__perfetto_thread(const struct hr__perfetto *perfetto, uint32_t owner, uint32_t lane) {
  return perfetto->first_id + perfetto->tracks.first_track[owner] + lane;
}

void hr__perfetto_name(struct hr__perfetto *perfetto, const char *what, uint32_t process, uint32_t thread,
                       const char *name) {
  hr__perfetto_begin(perfetto, "M");
  hr__perfetto_place(perfetto, process, thread);
  HR__PUT(perfetto, ",\"name\":\"");
  hr__out_text(&perfetto->out, what);
  HR__PUT(perfetto, "\",\"args\":{\"name\":");
  hr__out_json_text(&perfetto->out, name);
  HR__PUT(perfetto, "}}");
}
