/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces names by keyed hashes, HMAC-SHA-256 (RFC 2104). Each name is hashed once, with its kind. Each id is
   hashed once per job. Collisions are errors: two names with the same pseudonym are found when the pseudonyms are
   interned, and two ids when the new trace is finished, because ids must be unique. */

#include "base/hash.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/builder.h"

#include <nettle/hmac.h>
#include <stdlib.h>
#include <string.h>

/* A pseudonym consists of a letter, "-", digits and NUL. */
enum { HR__PSEUDONYM_BYTES = 2 + HR_MAX_PSEUDONYM_DIGITS + 1 };

struct pseudonyms {
  struct hmac_sha256_ctx keyed;
  unsigned digits;
};

/* Initializes the HMAC with the key. The key is hashed only once: each name continues from a copy of this state. */

static void start_pseudonyms(struct pseudonyms *pseudonyms, const void *key, size_t key_bytes, unsigned digits) {
  hmac_sha256_set_key(&pseudonyms->keyed, key_bytes, key);
  pseudonyms->digits = digits;
}

/* Writes the pseudonym of a name. `kind` ("user", ...) is hashed with the name, and its first letter begins the
   pseudonym. Returns the length of the pseudonym. */
static size_t put_pseudonym(struct pseudonyms *pseudonyms, const char *kind, struct hr_text name,
                            char text[HR__PSEUDONYM_BYTES]) {
  static const char hexadecimal[] = "0123456789abcdef";
  uint8_t digest[SHA256_DIGEST_SIZE];
  hmac_sha256_update(&pseudonyms->keyed, strlen(kind) + 1, (const uint8_t *)kind);
  hmac_sha256_update(&pseudonyms->keyed, name.length, (const uint8_t *)name.at);
  hmac_sha256_digest(&pseudonyms->keyed, sizeof digest, digest); /* also resets the HMAC to the state after the key */
  char *at = text;
  *at++ = kind[0];
  *at++ = '-';
  for (unsigned i = 0; i < pseudonyms->digits; i++)
    *at++ = hexadecimal[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
  *at = '\0';
  return (size_t)(at - text);
}

/* Overwrites the key in memory. */
static void erase_key(struct pseudonyms *pseudonyms) {
  volatile unsigned char *at =
      (volatile unsigned char *)&pseudonyms->keyed; /* volatile, so that the compiler does not remove the writes */
  for (size_t i = 0; i < sizeof pseudonyms->keyed; i++) at[i] = 0;
}

void hr_anonymise_spec_init(struct hr_anonymise_spec *spec) {
  *spec = (struct hr_anonymise_spec){.digits = HR_PSEUDONYM_DIGITS};
}

struct anonymise {
  const struct hr_trace *trace;
  const struct hr_anonymise_spec *spec;
  struct pseudonyms pseudonyms;
  /* pseudonyms, in the order of the original names in the name tables of the trace */
  struct hr__name_table users, tenants, models;
};

/* ---- Validation -------------------------------------------------------------------------------------- */

static enum hr_status check(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                            struct hr_error *error) {
  if (!spec->key_bytes)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: the key is empty, so names could be found by trial; use a key of at least 16 bytes",
                   trace->source);
  if (spec->digits < HR_MIN_PSEUDONYM_DIGITS || spec->digits > HR_MAX_PSEUDONYM_DIGITS)
    return hr_fail(error, HR_BAD_INPUT, "%s: pseudonyms of %u digits; expected %d to %d", trace->source, spec->digits,
                   HR_MIN_PSEUDONYM_DIGITS, HR_MAX_PSEUDONYM_DIGITS);
  if (!trace->dated && !spec->undated && trace->origin_us + trace->submit_us[0] + spec->shift_us < 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: a time shift of %.15g s gives times before 0 s", trace->source,
                   (double)spec->shift_us / (double)HR_SECOND_US);
  return HR_OK;
}

/* ---- Names ------------------------------------------------------------------------------------------ */

static enum hr_status collided(const struct anonymise *anonymise, const char *kind, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: two %ss have the same pseudonym of %u digits; use more digits or another key",
                 anonymise->trace->source, kind, anonymise->spec->digits);
}

static enum hr_status hash_names(struct anonymise *anonymise, const char *kind, const struct hr_names *names,
                                 struct hr__name_table *hashed, struct hr_error *error) {
  for (uint32_t i = 0; i < names->count; i++) {
    char text[HR__PSEUDONYM_BYTES];
    struct hr_text name = {names->text[i], strlen(names->text[i])};
    size_t length = put_pseudonym(&anonymise->pseudonyms, kind, name, text);
    uint32_t number = hr__names_intern(hashed, text, length);
    if (number == HR_NONE) return hr__rebuild_no_memory(anonymise->trace, error);
    if (number != i) return collided(anonymise, kind, error);
  }
  return HR_OK;
}

static struct hr_text hashed_name(const struct hr__name_table *hashed, const uint32_t *column, uint32_t job) {
  uint32_t name = column ? column[job] : HR_NONE;
  if (name == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){hashed->text[name], hashed->length[name]};
}

/* ---- Times ------------------------------------------------------------------------------------------ */

static int64_t shift_of(const struct anonymise *anonymise) {
  const struct hr_trace *trace = anonymise->trace;
  return anonymise->spec->undated ? -(trace->origin_us + trace->submit_us[0]) : anonymise->spec->shift_us;
}

/* ---- Whole trace ------------------------------------------------------------------------------------- */

static enum hr_status add_jobs(struct anonymise *anonymise, struct hr__rebuild *rebuild, struct hr_error *error) {
  const struct hr_trace *trace = anonymise->trace;
  const int64_t later_us = shift_of(anonymise);
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs; job++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER], text[HR__PSEUDONYM_BYTES];
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    hr__record_move(&record, later_us);
    record.id = (struct hr_text){text, put_pseudonym(&anonymise->pseudonyms, "job", record.id, text)};
    record.user = hashed_name(&anonymise->users, trace->user, job);
    record.tenant = hashed_name(&anonymise->tenants, trace->tenant, job);
    record.model = hashed_name(&anonymise->models, trace->model, job);
    hr_job_record_forget(&record, anonymise->spec->forget);
    status = hr__rebuild_add(rebuild, trace, (hr_job){job}, &record, error);
  }
  return status;
}

/* Begins a new trace without the source and the notes of `trace`, which may contain names. Only the note on local
   dates is kept. */
static enum hr_status begin_unnamed(struct hr__rebuild *rebuild, const struct hr_trace *trace, bool dated,
                                    struct hr_error *error) {
  *rebuild = (struct hr__rebuild){.builder = hr_trace_builder_create("anonymised", trace->format),
                                  .source = trace->source,
                                  .has_ids = trace->has_ids};
  bool ok = rebuild->builder != NULL;
  if (ok && dated && hr_trace_has_local_dates(trace)) ok = hr_trace_builder_note_local_dates(rebuild->builder) == HR_OK;
  return ok ? HR_OK : hr__rebuild_no_memory(trace, error);
}

static enum hr_status rebuild_all(struct anonymise *anonymise, struct hr_trace **created, struct hr_error *error) {
  const struct hr_trace *trace = anonymise->trace;
  struct hr__rebuild rebuild;
  bool dated = trace->dated && !anonymise->spec->undated;
  enum hr_status status = begin_unnamed(&rebuild, trace, dated, error);
  if (status == HR_OK) status = add_jobs(anonymise, &rebuild, error);
  bool added = status == HR_OK;
  status = hr__rebuild_end(&rebuild, status, dated, created, error);
  return added && status == HR_BAD_INPUT ? collided(anonymise, "job", error) : status;
}

enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                      struct hr_trace **created, struct hr_error *error) {
  struct anonymise anonymise = {.trace = trace, .spec = spec};
  *created = NULL;
  enum hr_status status = check(trace, spec, error);
  if (status != HR_OK) return status;
  start_pseudonyms(&anonymise.pseudonyms, spec->key, spec->key_bytes, spec->digits);
  status = hash_names(&anonymise, "user", &trace->users, &anonymise.users, error);
  if (status == HR_OK) status = hash_names(&anonymise, "tenant", &trace->tenants, &anonymise.tenants, error);
  if (status == HR_OK) status = hash_names(&anonymise, "model", &trace->models, &anonymise.models, error);
  if (status == HR_OK) status = rebuild_all(&anonymise, created, error);
  hr__names_finish(&anonymise.users);
  hr__names_finish(&anonymise.tenants);
  hr__names_finish(&anonymise.models);
  erase_key(&anonymise.pseudonyms);
  return status;
}
