/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_SLURM_H
#define HR_TRACES_FORMATS_SLURM_H

/* Slurm's ways of writing what a job has or asks for: trackable resources, generic resources, memory, time limits. */

#include "headroom/trace_files.h"

enum { HR__TRES_TYPES_BYTES = 200 };

struct hr__tres {
  uint64_t gpus, cpu_milli, mem_mib; /* of the whole job (GRES: of each node); 0 where not told */
  bool has_gpus, has_cpus, has_mem;
  bool has_shares;                  /* of GPUs: shards, or percents under MPS, which are passed over */
  char types[HR__TRES_TYPES_BYTES]; /* of GPUs, `|` between them; "" where not told */
  bool mixed;                       /* more than one of them */
};

/* Reads "cpu=32,mem=256G,node=1,gres/gpu=4,gres/gpu:a100=4", and GRES as "gpu:2" or "gpu:a100:2(IDX:0-1)". Resources
   that are neither GPUs, CPUs nor memory are passed over. NULL, or what is wrong, to be read after "is". */
const char *hr__tres_parse(struct hr_text text, struct hr__tres *tres);

/* Reads ReqMem: "64G", per node "4Gn", per CPU "4Gc"; a number without a unit is MiB. False when it is none. */
enum hr__mem_of { HR__MEM_OF_JOB, HR__MEM_OF_NODE, HR__MEM_OF_CPU };
bool hr__slurm_mem_parse(struct hr_text text, uint64_t *mib, enum hr__mem_of *of);

/* Reads "1-12:00:00", "12:00:00", "30:00"; false when it is none of them. */
bool hr__slurm_span_parse(struct hr_text text, int64_t *us);

#endif
