/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads files in the syntax of slurm.conf, lists of hosts, and the values in files and in the output of Slurm's
 * commands: times, lists of names, resources, weights. A value is written to the scenario with a rule, which states the
 * key of Slurm, the member of the scenario, and the notation of the value.
 *
 * Source: doc/man/man5/slurm.conf.5 and doc/man/man1/sacctmgr.1 of SchedMD/slurm.
 */

#include "headroom/unstable/systems/slurm.h"
#include "scenarios/import/slurm_import.h"
#include "traces/core/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_LINE = 1 << 16, MAX_PAIRS = 64 };

const char *hr__slurm_value(const struct hr__slurm_line *line, const char *key) {
  for (unsigned i = 0; i < line->n_pairs; i++)
    if (strcasecmp(line->pairs[i].key, key) == 0) return line->pairs[i].value;
  return NULL;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

/* Removes the comment from a line. A '#' after a backslash does not begin a comment. */
static void cut_comment(char *text) {
  for (char *at = text; *at; at++)
    if (*at == '#' && (at == text || at[-1] != '\\')) *at = '\0';
}

/* Reads the next pair KEY=VALUE of a line, and advances `*at` past it. The key and the value are terminated in the
   text. Returns false if the text does not begin with a pair. */
static bool take_pair(char **at, char **key, char **value) {
  char *text = *at;
  size_t length = strcspn(text, "= \t");
  if (length == 0 || text[length] != '=') return false;
  *key = text;
  text[length] = '\0';
  *value = text + length + 1;
  char *end;
  if (**value == '"') {
    (*value)++;
    end = strchr(*value, '"');
    if (!end) return false;
  } else {
    end = *value + strcspn(*value, " \t");
  }
  *at = *end ? end + 1 : end;
  *end = '\0';
  return true;
}

static enum hr_status split_line(struct hr__slurm_line *line, char *text) {
  line->n_pairs = 0;
  for (char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
    char found[60];
    snprintf(found, sizeof found, "%.50s", at);
    if (strncasecmp(at, "Include", 7) == 0 && (at[7] == ' ' || at[7] == '\t'))
      return hr_fail(line->error, HR_BAD_INPUT,
                     "%s:%u: 'Include' is not followed; remove the line, and add "
                     "the included file to the command",
                     line->path, line->number);
    if (line->n_pairs == MAX_PAIRS)
      return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: more than %d parameters in a line", line->path, line->number,
                     MAX_PAIRS);
    if (!take_pair(&at, &line->pairs[line->n_pairs].key, &line->pairs[line->n_pairs].value))
      return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: found '%s', expected PARAMETER=VALUE", line->path, line->number,
                     found);
    line->n_pairs++;
  }
  return HR_OK;
}

/* Reads a line with its continuations into `text`, and adds the number of lines read to `*number`. Sets `*too_long` if
   they are longer than MAX_LINE. Returns false at the end of the file. */
static bool read_line(FILE *file, char *text, unsigned *number, bool *too_long) {
  size_t used = 0;
  bool any = false;
  *too_long = false;
  while (fgets(text + used, (int)(MAX_LINE - used), file)) {
    any = true;
    ++*number;
    used += strcspn(text + used, "\r\n");
    *too_long = text[used] == '\0' && !feof(file);
    text[used] = '\0';
    if (*too_long || used == 0 || text[used - 1] != '\\') break;
    text[--used] = '\0';
  }
  return any;
}

enum hr_status hr__slurm_text_read(const char *path, hr__slurm_visit_text *visit, void *self, struct hr_error *error) {
  struct stat info;
  errno = 0;
  FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: %s", path, errno ? strerror(errno) : "not a regular file");
  char *text = malloc(MAX_LINE);
  if (!text) {
    fclose(file);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  }
  char magic[4];
  enum hr_status status = HR_OK;
  if (hr__is_compressed(magic, fread(magic, 1, sizeof magic, file)))
    status = hr_fail(error, HR_BAD_INPUT, "%s: is compressed; expected a plain text file", path);
  rewind(file);
  struct hr__slurm_line line = {.path = path, .error = error};
  bool too_long = false;
  for (unsigned read = 0, first = 1; status == HR_OK && read_line(file, text, &read, &too_long); first = read + 1) {
    line.number = first;
    if (too_long) status = hr_fail(error, HR_BAD_INPUT, "%s:%u: the line is longer than 64 KiB", path, first);
    const char *begin = text + strspn(text, " \t");
    if (status == HR_OK && *begin && *begin != '#') status = visit(self, &line, text);
  }
  free(text);
  fclose(file);
  return status;
}

/* The function that is called for each line of pairs, and its first argument. */
struct pairs {
  hr__slurm_visit *visit;
  void *self;
};

static enum hr_status visit_pairs(void *self, struct hr__slurm_line *line, char *text) {
  const struct pairs *pairs = self;
  cut_comment(text);
  enum hr_status status = split_line(line, text);
  return status == HR_OK && line->n_pairs ? pairs->visit(pairs->self, line) : status;
}

enum hr_status hr__slurm_conf_read(const char *path, hr__slurm_visit *visit, void *self, struct hr_error *error) {
  struct pairs pairs = {visit, self};
  return hr__slurm_text_read(path, visit_pairs, &pairs, error);
}

void hr__slurm_split_words(struct hr__slurm_line *line, char *text) {
  char *rest = text;
  line->n_pairs = 0;
  for (char *word; line->n_pairs < MAX_PAIRS && (word = strtok_r(rest, " \t", &rest));) {
    char *equals = strchr(word, '=');
    if (!equals || equals == word) continue;
    *equals = '\0';
    line->pairs[line->n_pairs].key = word;
    line->pairs[line->n_pairs++].value = equals + 1;
  }
}

/* ---- Lists of hosts --------------------------------------------------------------------------------- */

/* Returns how many numbers are in a list such as "01-16,20]"; 0 if the list is not valid. Advances `*at` past the
   closing bracket. */
static uint64_t count_range(const char **at) {
  uint64_t count = 0;
  for (;;) {
    char *end;
    if (!isdigit((unsigned char)**at)) return 0;
    uint64_t first = strtoull(*at, &end, 10), last = first;
    if (*end == '-') {
      if (!isdigit((unsigned char)end[1])) return 0;
      last = strtoull(end + 1, &end, 10);
    }
    if (last < first || last - first > 1000000) return 0;
    count += last - first + 1;
    *at = end + 1;
    if (*end == ']') return count;
    if (*end != ',') return 0;
  }
}

uint64_t hr__slurm_hosts(const char *list) {
  uint64_t sum = 0, product = 1;
  if (!*list) return 0;
  for (const char *at = list;;) {
    if (*at == '[') {
      at++;
      uint64_t count = count_range(&at);
      if (count == 0 || product > 1000000) return 0;
      product *= count;
    } else if (*at == ',' || *at == '\0') {
      sum += product;
      product = 1;
      if (*at++ == '\0') return sum;
    } else {
      at++;
    }
  }
}

/* A host name while it is built, and the function that is called for each host. */
struct host_name {
  char text[256];
  hr__slurm_visit_host *visit;
  void *self;
};

/* Visits the hosts of one item of a list. The first `used` characters of the name are known; the text from `at` to
   `end` describes the rest. Returns false if the visiting function returned false. */
static bool expand(struct host_name *host, size_t used, const char *at, const char *end) {
  while (at < end && *at != '[' && used + 1 < sizeof host->text) host->text[used++] = *at++;
  if (at == end || *at != '[') return host->visit(host->self, host->text, used);
  for (at++;;) {
    char *next;
    const char *digits = at;
    unsigned long long first = strtoull(at, &next, 10), last = first;
    int width = (int)(next - digits);
    if (*next == '-') last = strtoull(next + 1, &next, 10);
    const char *close = strchr(next, ']');
    for (unsigned long long number = first; number <= last; number++) {
      int wrote = snprintf(host->text + used, sizeof host->text - used, "%0*llu", width, number);
      if (used + (size_t)wrote + 1 >= sizeof host->text) return true; // names are not so long
      if (!expand(host, used + (size_t)wrote, close + 1, end)) return false;
    }
    if (next == close) return true;
    at = next + 1;
  }
}

bool hr__slurm_each_host(const char *list, hr__slurm_visit_host *visit, void *self) {
  struct host_name host = {.visit = visit, .self = self};
  for (const char *at = list; *at; at += *at == ',') {
    const char *end = at;
    for (bool inside = false; *end && (inside || *end != ','); end++) inside = *end == '[' || (inside && *end != ']');
    if (!expand(&host, 0, at, end)) return false;
    at = end;
  }
  return true;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

enum { MAX_VALUE = 4000 };

enum hr_status hr__slurm_note(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                              const char *format, ...) {
  char text[500];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  enum hr_status status = line ? hr_notes_add(import->notes, "%s:%u: %s", line->path, line->number, text)
                               : hr_notes_add(import->notes, "%s", text);
  if (status == HR_OK) return HR_OK;
  return hr_fail(import->error, HR_NO_MEMORY, "%s: out of memory", line ? line->path : "import");
}

enum hr_status hr__slurm_bad(const struct hr__slurm_line *line, const char *key, const char *value,
                             const char *expected) {
  return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: %s is '%.60s', expected %s", line->path, line->number, key, value,
                 expected);
}

bool hr__slurm_is_listed(const char *const *list, const char *word) {
  while (*list && strcasecmp(*list, word) != 0) list++;
  return *list != NULL;
}

bool hr__slurm_is_unset(const char *value) {
  static const char *const words[] = {"", "NONE", "UNLIMITED", "INFINITE", "(null)", "N/A", "-1", NULL};
  return hr__slurm_is_listed(words, value);
}

/* Reads up to 3 numbers that are separated by colons. Returns their count; 0 if the text is not valid. */
static unsigned read_parts(const char *text, int64_t parts[3]) {
  unsigned count = 0;
  for (const char *at = text;; at++) {
    char *end;
    if (count == 3 || !isdigit((unsigned char)*at)) return 0;
    unsigned long long part = strtoull(at, &end, 10);
    if (part > 1000000000) return 0;
    parts[count++] = (int64_t)part;
    if (*end == '\0') return count;
    if (*end != ':') return 0;
    at = end;
  }
}

int64_t hr__slurm_seconds(const char *value, int64_t unit_s) {
  int64_t days = 0, parts[3] = {0};
  const char *dash = strchr(value, '-');
  if (dash) {
    char *end;
    if (!isdigit((unsigned char)*value)) return -1;
    days = (int64_t)strtoull(value, &end, 10);
    if (end != dash || days > 100000) return -1;
  }
  unsigned count = read_parts(dash ? dash + 1 : value, parts);
  if (count == 0) return -1;
  if (dash) return ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  if (count == 1) return parts[0] * unit_s;
  return count == 2 ? parts[0] * 60 + parts[1] : (parts[0] * 60 + parts[1]) * 60 + parts[2];
}

int64_t hr__slurm_date(const char *text) {
  static const char separators[] = "--T::";
  static const long least[] = {1970, 1, 1, 0, 0, 0}, most[] = {9999, 12, 31, 23, 59, 60};
  long part[6];
  const char *at = text;
  for (unsigned i = 0; i < 6; i++) {
    char *end;
    part[i] = strtol(at, &end, 10);
    if (end == at || part[i] < least[i] || part[i] > most[i] || *end != (i < 5 ? separators[i] : '\0'))
      return INT64_MIN;
    at = end + 1;
  }
  int64_t year = part[0] - (part[1] <= 2), month = (part[1] + 9) % 12;
  int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + part[2] - 1 - 719468;
  return ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
}

/* ---- Members of the scenario ------------------------------------------------------------------------ */

cJSON *hr__slurm_set(cJSON *object, const char *name, cJSON *item) {
  cJSON_DeleteItemFromObject(object, name);
  cJSON_AddItemToObject(object, name, item);
  return item;
}

cJSON *hr__slurm_list(cJSON *object, const char *name) {
  cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name);
  return list ? list : cJSON_AddArrayToObject(object, name);
}

cJSON *hr__slurm_object(cJSON *object, const char *name) {
  cJSON *part = cJSON_GetObjectItemCaseSensitive(object, name);
  return part ? part : cJSON_AddObjectToObject(object, name);
}

static enum hr_status add_number(const struct hr__slurm_line *line, cJSON *object, const struct hr__slurm_rule *rule,
                                 const char *value) {
  char *end;
  double number = strtod(value, &end);
  bool valid = end != value && *end == '\0' && number >= 0 && number <= 1e15;
  if (valid && rule->notation == HR__SLURM_WHOLE) valid = number == (double)(int64_t)number;
  if (!valid)
    return hr__slurm_bad(line, rule->key, value,
                         rule->notation == HR__SLURM_WHOLE ? "a whole number of at least 0" : "a number of at least 0");
  hr__slurm_set(object, rule->member, cJSON_CreateNumber(number));
  return HR_OK;
}

static enum hr_status add_time(const struct hr__slurm_line *line, cJSON *object, const struct hr__slurm_rule *rule,
                               const char *value) {
  bool in_minutes = rule->notation == HR__SLURM_MINUTES || rule->notation == HR__SLURM_OVER_TIME;
  int64_t seconds = hr__slurm_is_unset(value) ? HR_SLURM_OVER_TIME_UNLIMITED_US / HR_SECOND_US
                                              : hr__slurm_seconds(value, in_minutes ? 60 : 1);
  if (seconds < 0) return hr__slurm_bad(line, rule->key, value, "a time such as 30, 12:00:00 or 1-12:00:00");
  hr__slurm_set(object, rule->member, cJSON_CreateNumber((double)seconds));
  return HR_OK;
}

static enum hr_status add_yes_no(const struct hr__slurm_line *line, cJSON *object, const struct hr__slurm_rule *rule,
                                 const char *value) {
  bool yes = strcasecmp(value, "YES") == 0 || strcasecmp(value, "TRUE") == 0 || strcmp(value, "1") == 0;
  bool no = strcasecmp(value, "NO") == 0 || strcasecmp(value, "FALSE") == 0 || strcmp(value, "0") == 0;
  if (!yes && !no) return hr__slurm_bad(line, rule->key, value, "YES or NO");
  hr__slurm_set(object, rule->member, cJSON_CreateBool(yes));
  return HR_OK;
}

/* Adds one of the words of the rule. For any other word, adds a note and does not set the member. */
static enum hr_status add_word(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                               const struct hr__slurm_rule *rule, const char *value) {
  for (size_t i = 0; rule->words[i]; i++) {
    if (strcasecmp(value, rule->words[i]) != 0) continue;
    hr__slurm_set(object, rule->member, cJSON_CreateString(rule->words[i]));
    return HR_OK;
  }
  return hr__slurm_note(import, line, "%s=%.60s is not modelled: it has no effect", rule->key, value);
}

/* Adds a list of names. If the rule has words, the names are flags; for flags that are not among the words, adds a
 * note.
 */
static enum hr_status add_names(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                                const struct hr__slurm_rule *rule, char *list) {
  cJSON *names = hr__slurm_set(object, rule->member, cJSON_CreateArray());
  char *rest = list;
  for (char *name; (name = strtok_r(rest, ",", &rest));) {
    const char *word = name;
    if (rule->words && strcasecmp(name, "FAIR_TREE") == 0) continue; // Slurm's default
    for (size_t i = 0; rule->words && (word = rule->words[i]) && strcasecmp(word, name) != 0;) i++;
    if (word) cJSON_AddItemToArray(names, cJSON_CreateString(word));
    enum hr_status status =
        word ? HR_OK : hr__slurm_note(import, line, "%s: '%.60s' is not modelled: it has no effect", rule->key, name);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Resources -------------------------------------------------------------------------------------- */

static const struct {
  const char *name, *member;
} resources[] = {{"cpu", "cpu"}, {"node", "node"}, {"mem", "mem_gb"}, {"gres/gpu", "gpu"}};

/* Reads an amount of memory in GiB or, if `is_weight` is set, a weight per GiB. A number without a unit is in MiB, or
   per MiB. Returns false if the value is not valid. */
static bool read_memory(const char *value, bool is_weight, double *gib) {
  static const char letters[] = "KMGTP";
  char *end;
  double number = strtod(value, &end), unit = 1.0 / 1024 / 1024;
  const char *letter = strchr(letters, *end ? toupper((unsigned char)*end) : 'M');
  if (end == value || number < 0 || !letter || (*end && end[1] != '\0')) return false;
  for (const char *at = letters; at < letter; at++) unit *= 1024;
  *gib = is_weight ? number / unit : number * unit;
  return true;
}

static enum hr_status add_resource(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   cJSON *object, const struct hr__slurm_rule *rule, char *item) {
  char *value = strchr(item, '='), *end = NULL;
  if (!value) return hr__slurm_bad(line, rule->key, item, "resources such as cpu=64,gres/gpu=8");
  *value++ = '\0';
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
    if (strcasecmp(item, resources[i].name) != 0) continue;
    bool is_memory = i == 2 && rule->notation != HR__SLURM_SHARES, is_limit = rule->notation == HR__SLURM_TRES;
    double number = is_memory ? 0 : strtod(value, &end);
    bool valid = is_memory ? read_memory(value, !is_limit, &number) : end != value && *end == '\0' && number >= 0;
    if (!valid) return hr__slurm_bad(line, rule->key, value, "an amount of the resource");
    hr__slurm_set(object, resources[i].member, cJSON_CreateNumber(is_limit ? (double)(int64_t)number : number));
    return HR_OK;
  }
  return hr__slurm_note(import, line, "%s: the resource '%.60s' is not modelled: it is not counted", rule->key, item);
}

static enum hr_status add_resources(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                    cJSON *object, const struct hr__slurm_rule *rule, char *list) {
  cJSON *part = hr__slurm_set(object, rule->member, cJSON_CreateObject());
  enum hr_status status = HR_OK;
  char *rest = list;
  for (char *item; status == HR_OK && (item = strtok_r(rest, ",", &rest));)
    status = add_resource(import, line, part, rule, item);
  if (status == HR_OK && !part->child) cJSON_DeleteItemFromObject(object, rule->member);
  return status;
}

/* ---- Rules ------------------------------------------------------------------------------------------ */

enum hr_status hr__slurm_add(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                             const struct hr__slurm_rule *rule, const char *value) {
  char copy[MAX_VALUE];
  bool is_unlimited = strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "INFINITE") == 0;
  if (hr__slurm_is_unset(value) && (rule->notation != HR__SLURM_OVER_TIME || !is_unlimited)) return HR_OK;
  if (snprintf(copy, sizeof copy, "%s", value) >= (int)sizeof copy)
    return hr__slurm_bad(line, rule->key, value, "a shorter value");
  switch (rule->notation) {
  case HR__SLURM_NUMBER:
  case HR__SLURM_WHOLE:
    return add_number(line, object, rule, value);
  case HR__SLURM_SECONDS:
  case HR__SLURM_MINUTES:
  case HR__SLURM_OVER_TIME:
    return add_time(line, object, rule, value);
  case HR__SLURM_YES_NO:
    return add_yes_no(line, object, rule, value);
  case HR__SLURM_TEXT:
    hr__slurm_set(object, rule->member, cJSON_CreateString(value));
    return HR_OK;
  case HR__SLURM_WORD:
    return add_word(import, line, object, rule, value);
  case HR__SLURM_NAMES:
    return strcasecmp(value, "ALL") == 0 ? HR_OK : add_names(import, line, object, rule, copy);
  default:
    return add_resources(import, line, object, rule, copy);
  }
}
