/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_SLURM_H
#define HR_TRACES_FORMATS_SLURM_H

#include "headroom/trace_files.h"

enum { HR__TRES_TYPES_BYTES = 200 };

struct hr__tres {
  uint64_t gpus, cpu_milli, mem_mib; /* of the whole job (GRES: per node); 0 if not given */
  bool has_gpus, has_cpus, has_mem;
  bool has_shares;                  /* of GPUs: shards, or percents under MPS, which are ignored */
  char types[HR__TRES_TYPES_BYTES]; /* GPU types separated by `|`; "" if not given */
  bool mixed;                       /* more than one type */
};

/* Parses "cpu=32,mem=256G,node=1,gres/gpu=4,gres/gpu:a100=4", and GRES like "gpu:2" or "gpu:a100:2(IDX:0-1)".
   Resources other than GPUs, CPUs and memory are ignored. Returns NULL, or what is wrong, to follow "is". */
const char *hr__tres_parse(struct hr_text text, struct hr__tres *tres);

/* Parses ReqMem: "64G", per node "4Gn", per CPU "4Gc"; a number without unit is MiB. Returns false if it is invalid. */
enum hr__mem_of { HR__MEM_OF_JOB, HR__MEM_OF_NODE, HR__MEM_OF_CPU };
bool hr__slurm_mem_parse(struct hr_text text, uint64_t *mib, enum hr__mem_of *of);

/* Parses "1-12:00:00", "12:00:00" or "30:00"; false if it is none of these. */
bool hr__slurm_span_parse(struct hr_text text, int64_t *us);

#endif
