/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WORKLOAD_MODEL_FILES_H
#define HEADROOM_UNSTABLE_WORKLOAD_MODEL_FILES_H

/* Reading and writing of workload models: model files, and the models that are shipped with Headroom. */

#include "headroom/unstable/workload_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the names of the shipped models, terminated by NULL. */
HR_API const char *const *hr_workload_model_names(void);
/* hr_workload_model_shipped reads a shipped model by its name; hr_workload_model_load reads a model file
   (docs/reference/schemas/like.schema.json). The caller frees `*model` with hr_workload_model_destroy. On failure
   `*model` is NULL. Returns HR_BAD_INPUT for an invalid model; `error` names file, line and column. */
HR_API enum hr_status hr_workload_model_shipped(const char *name, struct hr_workload_model **model,
                                                struct hr_error *error);
HR_API enum hr_status hr_workload_model_load(const char *path, struct hr_workload_model **model,
                                             struct hr_error *error);
/* Whether a file is a workload model: a JSON object that has the key "headroom_workload". Returns false for pipes and
   other files that cannot be read twice. */
HR_API bool hr_workload_model_is_file(const char *path);
/* Writes a model to a file. hr_workload_model_load reads an equal model from this file. `path` "-" is standard
   output. */
HR_API enum hr_status hr_workload_model_write(const struct hr_workload_model *model, const char *path,
                                              struct hr_error *error);

#ifdef __cplusplus
}
#endif

#endif
