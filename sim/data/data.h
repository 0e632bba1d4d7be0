/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_DATA_H
#define HR_SIM_DATA_DATA_H

/* Jobs that read data during a run: what the other files of the engine call. See data.c. All functions but
   hr__data_next_flow and hr__data_result need engine->data. */

#include "headroom/unstable/data.h"
#include "sim/engine/engine.h"

struct hr__data;

/* Returns whether a running job reads data. */
bool hr__data_reads(const struct hr__engine *engine, hr_job job);
/* A job works from now on, until `until_us` from now at the speed of its GPUs. Begins its flow, or schedules `kind` if
   the job reads nothing now. */
enum hr_status hr__data_work(struct hr__engine *engine, hr_job job, int64_t until_us, enum hr__pending_kind kind);
/* Returns whether a working job has a flow. */
bool hr__data_flows(const struct hr__engine *engine, hr_job job);
/* Returns how long a job has worked since it began to work, without the time in which it waited for data. */
int64_t hr__data_worked_us(const struct hr__engine *engine, hr_job job);
/* A job stops to work, or changes its speed. `from_us`, `to_us`: its progress when it began to work, and now. */
void hr__data_pause(struct hr__engine *engine, hr_job job, int64_t from_us, int64_t to_us);

/* A replica of a service loads the data set with its weights onto its nodes. `keeps`: the nodes keep them in their
   caches. `are_there`: they are on the nodes already. Sets `*begun` if the load takes time: the hook `loaded` is called
   at its end, unless the job is stopped before. */
struct hr__data_load {
  uint32_t set;
  bool keeps, are_there;
};
enum hr_status hr__data_load(struct hr__engine *engine, hr_job job, struct hr__data_load load, bool *begun);

/* Checkpoints. Returns the index of the storage system for the pool; HR_NONE: none. */
uint32_t hr__data_storage_of(const struct hr__engine *engine, hr_pool pool);
enum hr_status hr__data_write(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib);
enum hr_status hr__data_cancel_write(struct hr__engine *engine, hr_job job);
/* Returns how long a write takes that begins now: alone, or if all active flows had the same rate. */
int64_t hr__data_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib, bool is_alone);

/* Returns whether a job would read its data set without a link in a pool. Jobs that read nothing are local everywhere.
 */
bool hr__data_is_local(const struct hr__engine *engine, hr_job job, hr_pool pool);

/* Returns whether some flow of the run is active. */
bool hr__data_is_active(const struct hr__engine *engine);

/* Returns the first job from `from` on that runs in this engine and has a flow, but no pending event of its own;
   HR_NONE: none. For checked mode. */
uint32_t hr__data_next_flow(const struct hr__engine *engine, uint32_t from);

/* Moves the result to `*result`; NULL if the run has no data. */
enum hr_status hr__data_result(struct hr__engine *engine, struct hr_data_result **result);

#endif
