/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace anonymise`: replaces names by keyed pseudonyms. The key never appears in a message or in an output
   file. It is erased from memory after use. */

#include "cli/cli.h"
#include "cli/verbs/trace_transform.h"
#include "headroom/unstable/trace_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEY_BYTES = 4096 };

struct anonymise_args {
  struct transform_args base;
  const char *key, *key_file, *shift, *drop;
  uint64_t digits;
  bool undated;
};

#define AT(field) offsetof(struct anonymise_args, field)
static const struct option options[] = {
    {.name = "key-file",
     .kind = OPTION_TEXT,
     .offset = AT(key_file),
     .value = "FILE",
     .help = "file with the key: up to 4096 bytes, without the line end at the end"},
    {.name = "key",
     .kind = OPTION_TEXT,
     .offset = AT(key),
     .value = "TEXT",
     .help = "the key itself; other users of the machine can see it while the program runs"},
    {.name = "digits",
     .kind = OPTION_WHOLE,
     .offset = AT(digits),
     .value = "N",
     .help = "hexadecimal digits of a pseudonym",
     .min = HR_MIN_PSEUDONYM_DIGITS,
     .max = HR_MAX_PSEUDONYM_DIGITS},
    {.name = "drop",
     .kind = OPTION_TEXT,
     .offset = AT(drop),
     .value = "FIELD,...",
     .help = "remove these fields, e.g. user,model (see 'headroom list fields')"},
    {.name = "shift",
     .kind = OPTION_TEXT,
     .offset = AT(shift),
     .value = "TIME",
     .help = "move all times later, e.g. 100d, or earlier, e.g. -36h"},
    {.name = "undated",
     .kind = OPTION_FLAG,
     .offset = AT(undated),
     .help = "replace times by seconds since the first submit"},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "Job ids, users, tenants and models become pseudonyms: j-, u-, t- or m- with\n"
                              "digits of HMAC-SHA-256. The same name and key give the same pseudonym in every\n"
                              "trace; without the key, names cannot be guessed and verified. Fields that affect\n"
                              "a simulation are kept, and may identify a user to people who know the cluster.\n"
                              "See docs/reference/traces.md.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Example:\n"
                              "  headroom trace anonymise jobs.csv --key-file secret --drop model -o shared.csv\n";

static void set_defaults(void *args) {
  *(struct anonymise_args *)args = (struct anonymise_args){.digits = HR_PSEUDONYM_DIGITS};
}

/* ---- The key ---------------------------------------------------------------------------------------- */

struct pseudonym_key {
  char bytes[MAX_KEY_BYTES + 1];
  size_t count;
};

static enum hr_status read_key(const char *path, struct pseudonym_key *key, struct hr_error *error) {
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  setvbuf(file, NULL, _IONBF, 0); /* avoids a copy of the key in a buffer */
  key->count = fread(key->bytes, 1, sizeof key->bytes, file);
  bool failed = ferror(file);
  fclose(file);
  if (failed) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read as a file", path);
  if (key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "%s: the key has more than %d bytes", path, MAX_KEY_BYTES);
  if (key->count && key->bytes[key->count - 1] == '\n') key->count--;
  if (key->count && key->bytes[key->count - 1] == '\r') key->count--;
  return key->count ? HR_OK : hr_fail(error, HR_BAD_INPUT, "%s: the file contains no key", path);
}

static enum hr_status get_key(const struct anonymise_args *args, struct pseudonym_key *key, struct hr_error *error) {
  if (!args->key == !args->key_file)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace anonymise: expected one of --key-file FILE and --key TEXT\n"
                   "Try 'headroom help trace anonymise'.");
  if (args->key_file) return read_key(args->key_file, key, error);
  key->count = strlen(args->key);
  if (key->count == 0 || key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "--key: expected a key of 1 to %d bytes", MAX_KEY_BYTES);
  memcpy(key->bytes, args->key, key->count);
  return HR_OK;
}

static void erase_key(struct pseudonym_key *key) {
  volatile char *at = key->bytes; /* prevents the compiler from removing the stores */
  for (size_t i = 0; i < sizeof key->bytes; i++) at[i] = 0;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status read_options(const struct anonymise_args *args, const struct pseudonym_key *key,
                                   struct hr_anonymise_spec *spec, struct hr_error *error) {
  hr_anonymise_spec_init(spec);
  spec->key = key->bytes;
  spec->key_bytes = key->count;
  spec->digits = (unsigned)args->digits;
  spec->undated = args->undated;
  if (args->undated && args->shift)
    return hr_fail(error, HR_BAD_INPUT, "--undated cannot be combined with --shift: times then begin at 0");
  enum hr_status status = args->shift ? hr_span_parse("shift", args->shift, true, &spec->shift_us, error) : HR_OK;
  struct hr_error inner = {0};
  if (status == HR_OK && args->drop && hr_fields_parse(args->drop, &spec->forget, &inner) != HR_OK)
    status = hr_fail(error, HR_BAD_INPUT, "--drop %.200s: %s", args->drop, inner.text);
  return status;
}

static enum hr_status anonymise(const struct anonymise_args *args, struct transform *transform,
                                struct pseudonym_key *key, struct hr_error *error) {
  struct hr_anonymise_spec spec;
  enum hr_status status = get_key(args, key, error);
  if (status == HR_OK) status = read_options(args, key, &spec, error);
  if (status == HR_OK) status = transform_open(transform, error);
  if (status == HR_OK) status = hr_transform_anonymise(transform->traces[0], &spec, &transform->result, error);
  return status;
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct anonymise_args *anonymise_args = args;
  struct transform transform = {
      .args = &anonymise_args->base, .paths = operands, .action = "anonymise", .also_read = anonymise_args->key_file};
  struct pseudonym_key key = {.count = 0};
  enum hr_status status = anonymise(anonymise_args, &transform, &key, error);
  erase_key(&key);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_anonymise = {.name = "trace anonymise",
                                          .operands = "TRACE",
                                          .min_operands = 1,
                                          .max_operands = 1,
                                          .summary = "replace names in a trace by keyed pseudonyms",
                                          .details = details,
                                          .options = options,
                                          .args_bytes = sizeof(struct anonymise_args),
                                          .set_defaults = set_defaults,
                                          .run = run};
