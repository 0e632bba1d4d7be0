/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* Readers of trace formats, what they share, and the detection of formats. formats.c lists the readers; each is a
   file of its own. */

#include "traces/core/reader.h"

/* Readers of formats. Each reads all rows from `reader->input` into `reader->builder`. */

enum hr_status hr__read_swf(struct hr__reader *reader);
enum hr_status hr__read_philly(struct hr__reader *reader);
enum hr_status hr__read_openb(struct hr__reader *reader);
enum hr_status hr__read_sacct(struct hr__reader *reader);
enum hr_status hr__read_kubernetes(struct hr__reader *reader);
enum hr_status hr__read_philly_log(struct hr__reader *reader);
enum hr_status hr__read_helios(struct hr__reader *reader);
enum hr_status hr__read_pai2020(struct hr__reader *reader);
enum hr_status hr__read_spot2026(struct hr__reader *reader);
enum hr_status hr__read_acme(struct hr__reader *reader);
enum hr_status hr__read_gavel(struct hr__reader *reader);
enum hr_status hr__read_azure_llm(struct hr__reader *reader);
enum hr_status hr__read_batsim(struct hr__reader *reader);

/* Name of the format of a file with this beginning; "csv" if no other format matches, NULL for JSON of an unknown
   format. */
const char *hr__detect_format(struct hr_text beginning);

/* ---- Requests and states of jobs (job_facts.c) ------------------------------------------------------- */

/* Sets a request of `tasks` tasks with `milli_per_task` thousandths of a GPU each. Up to 1000 is a share of one GPU;
   more are whole GPUs, rounded up, which sets `*rounded`. Returns false if there are more than HR_MAX_GPUS GPUs or no
   task. */
bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded);

/* Divides a job's GPUs, and its totals in `cpu_milli` and `mem_mib`, among nodes: one task per node if the GPUs
   divide evenly. Otherwise the whole job is one task and the result is false. */
bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes);

/* Slurm job states, as printed by sacct and used in published logs of Slurm clusters. */

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__slurm_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Parses "COMPLETED" or "CANCELLED by 1000"; false if the text is not a state. */
bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state);

/* ---- Notations of Slurm: trackable and generic resources, memory, time limits (slurm.c) --------------- */

enum { HR__TRES_TYPES_BYTES = 200 };

struct hr__tres {
  uint64_t gpus, cpu_milli, mem_mib; /* of the whole job (GRES: per node); 0 if not given */
  bool has_gpus, has_cpus, has_mem;
  bool has_shares;                  /* of GPUs: shards, or percents under MPS, which are ignored */
  char types[HR__TRES_TYPES_BYTES]; /* GPU types separated by `|`; "" if not given */
  bool mixed;                       /* more than one type */
};

/* Parses "cpu=32,mem=256G,node=1,gres/gpu=4,gres/gpu:a100=4", and GRES like "gpu:2" or "gpu:a100:2(IDX:0-1)".
   Resources other than GPUs, CPUs and memory are ignored. Returns NULL, or the fault, to follow "is". */
const char *hr__tres_parse(struct hr_text text, struct hr__tres *tres);

/* Parses ReqMem: "64G", per node "4Gn", per CPU "4Gc"; a number without unit is MiB. Returns false if it is invalid. */
enum hr__mem_of { HR__MEM_OF_JOB, HR__MEM_OF_NODE, HR__MEM_OF_CPU };
bool hr__slurm_mem_parse(struct hr_text text, uint64_t *mib, enum hr__mem_of *of);

/* Parses "1-12:00:00", "12:00:00" or "30:00"; false for any other text. */
bool hr__slurm_span_parse(struct hr_text text, int64_t *us);

#endif
