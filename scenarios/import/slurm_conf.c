/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files in the syntax of slurm.conf; see slurm_conf.h. Source: doc/man/man5/slurm.conf.5 of SchedMD/slurm. */

#include "scenarios/import/slurm_conf.h"

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

/* Cuts the comment off a line. A '#' after a backslash does not begin one. */
static void cut_comment(char *text) {
  for (char *at = text; *at; at++)
    if (*at == '#' && (at == text || at[-1] != '\\')) *at = '\0';
}

/* Takes the next pair off the text; `*at` is moved behind it. Returns false if it is not a pair. */
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

static enum hr_status split_line(struct hr__slurm_line *line, char *text, struct hr_error *error) {
  line->n_pairs = 0;
  for (char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
    char found[60];
    snprintf(found, sizeof found, "%.50s", at);
    if (strncasecmp(at, "Include", 7) == 0 && (at[7] == ' ' || at[7] == '\t'))
      return hr_fail(error, HR_BAD_INPUT, "%s:%u: 'Include' is not followed; name the included file after this one",
                     line->path, line->number);
    if (line->n_pairs == MAX_PAIRS)
      return hr_fail(error, HR_BAD_INPUT, "%s:%u: more than %d parameters in a line", line->path, line->number,
                     MAX_PAIRS);
    if (!take_pair(&at, &line->pairs[line->n_pairs].key, &line->pairs[line->n_pairs].value))
      return hr_fail(error, HR_BAD_INPUT, "%s:%u: found '%s', expected PARAMETER=VALUE", line->path, line->number,
                     found);
    line->n_pairs++;
  }
  return HR_OK;
}

/* Reads a line with its continuations into `text`. Returns false at the end of the file. */
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
  enum hr_status status = HR_OK;
  struct hr__slurm_line line = {.path = path};
  bool too_long = false;
  for (unsigned read = 0, first = 1; status == HR_OK && read_line(file, text, &read, &too_long); first = read + 1) {
    line.number = first;
    if (too_long) status = hr_fail(error, HR_BAD_INPUT, "%s:%u: the line is longer than 64 KiB", path, first);
    const char *begin = text + strspn(text, " \t");
    if (status == HR_OK && *begin && *begin != '#') status = visit(self, &line, text, error);
  }
  free(text);
  fclose(file);
  return status;
}

/* A reader of pairs. */
struct pairs {
  hr__slurm_visit *visit;
  void *self;
};

static enum hr_status visit_pairs(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  const struct pairs *pairs = self;
  cut_comment(text);
  enum hr_status status = split_line(line, text, error);
  return status == HR_OK && line->n_pairs ? pairs->visit(pairs->self, line, error) : status;
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

/* Counts the numbers of a list such as "01-16,20"; `*at` is moved behind the closing bracket. 0: not valid. */
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

/* A host name that is being built, and what is called for it. */
struct host_name {
  char text[256];
  hr__slurm_visit_host *visit;
  void *self;
};

/* Visits the hosts of one item of a list, from `at` to `end`; the first `used` characters of the name are known. */
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
