/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_PICKS_H
#define HR_TRACES_CORE_PICKS_H

/* Columns of a table that a column map reads in addition to the columns of the format: columns of fields, and columns
   of rules (patterns). */

#include "base/text.h"
#include "headroom/trace_files.h"

struct hr__picks;

/* Creates the picks of a map. `rules_only`: the entries without a pattern are ignored, because the reader of the format
   uses them itself. `*picks` is NULL if the map has no other entries. The map must outlive the picks. Returns HR_OK or
   HR_NO_MEMORY. */
enum hr_status hr__picks_create(const struct hr_column_map *map, bool rules_only, struct hr__picks **picks);
void hr__picks_destroy(struct hr__picks *picks);

/* The number of picks, and the name of the column of a pick. `picks` may be NULL. */
size_t hr__picks_count(const struct hr__picks *picks);
const char *hr__picks_column(const struct hr__picks *picks, size_t pick);
/* The position of the column of a pick in the file, which the reader of the header sets. */
void hr__picks_bind(struct hr__picks *picks, size_t pick, uint32_t column);
uint32_t hr__picks_bound(const struct hr__picks *picks, size_t pick);
bool hr__picks_use(const struct hr__picks *picks, uint32_t column);

/* Sets the text of a pick in the present row. The text must exist until hr__picks_end_row. */
void hr__picks_set(struct hr__picks *picks, size_t pick, struct hr_text text);
void hr__picks_end_row(struct hr__picks *picks);

/* Sets the fields of the job that the picks of the present row determine. Without a present row, or if `picks` is NULL,
   nothing is changed. Texts belong to the row or to the map. */
void hr__picks_apply(struct hr__picks *picks, struct hr_job_record *job);

/* Adds notes on values that are not classes, and on rules that match no job. */
enum hr_status hr__picks_notes(const struct hr__picks *picks, struct hr_notes *notes);

#endif
