/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translation of command line messages to the terms of the web interface. */

#include "harness.h"
#include "headroom/unstable/serve.h"
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>

static void confine(bool does) {
  static struct hr__confinement confinement = {.phrases = hr__serve_phrases};
  confinement.n_phrases = hr__n_serve_phrases;
  hr__confine(does ? &confinement : NULL);
}

#define EXPECT(plain, ...)                                                                                             \
  do {                                                                                                                 \
    struct hr_error error = {0};                                                                                       \
    hr_fail(&error, HR_BAD_INPUT, __VA_ARGS__);                                                                        \
    CU_ASSERT_STRING_EQUAL(error.text, plain);                                                                         \
  } while (0)

static void options(void) {
  confine(true);
  EXPECT("a.json: names no trace; set one with 'trace' or 'trace_file', or in the file",
         "%s: names no trace; set one with --trace FILE, or in the file", "a.json");
  EXPECT("'own' 0x1xT4: expected NODES", "--own %.100s: expected NODES", "0x1xT4");
  EXPECT("'map' in the address, x=y: wrong", "--map %.200s: %s", "x=y", "wrong");
  EXPECT("'seed' -1: expected 5", "--%s %.60s: expected %d", "seed", "-1", 5);
  EXPECT("export as 'csv': a.json has no prices", "--costs %s: %s has no prices", "/tmp/x/costs.csv", "a.json");
  EXPECT("'averages': cannot be written: Permission denied", "--%s %s: cannot be written: folder %s: %s", "averages",
         "/tmp/x/a.json", "/tmp/x", "Permission denied");
  EXPECT("run: wrong", "%s: %s\nTry 'headroom help %s'.", "run", "wrong", "run");
  EXPECT("start the server with --allow-plugins", "start the server with --allow-plugins");
  EXPECT("--trace-out x--set y --settings", "--trace-out x--set y --settings");
  EXPECT("", "%s", "");
  CU_ASSERT_STRING_EQUAL(hr_serve_phrase("--averages"), "'series'");
  CU_ASSERT_STRING_EQUAL(hr_serve_phrase("--stream"), "--stream");
  confine(false);
  EXPECT("--own 0x1xT4: expected NODES", "--own %.100s: expected NODES", "0x1xT4");
  CU_ASSERT_STRING_EQUAL(hr_serve_phrase("--averages"), "--averages");
}

/* Text of users that looks like an option, a path or a format is not translated. */
static void values(void) {
  confine(true);
  EXPECT("order: '--seed /srv/x %s' is unknown", "order: '%s' is unknown", "--seed /srv/x %s");
  EXPECT("'set' name=--trace FILE: wrong", "--set %.200s: wrong", "name=--trace FILE");
  confine(false);
}

/* A translated format has the same number of values, in the same order and of the same types. */
static void formats(void) {
  for (size_t i = 0; i < hr__n_serve_phrases; i++) {
    char kinds[2][20] = {"", ""};
    const char *const texts[] = {hr__serve_phrases[i].text, hr__serve_phrases[i].plain};
    for (int k = 0; k < 2; k++)
      for (const char *at = strchr(texts[k], '%'); at; at = strchr(at + 1, '%'))
        strncat(kinds[k], at + 1 + strspn(at + 1, ".0123456789"), 1);
    CU_ASSERT_STRING_EQUAL(kinds[0], kinds[1]);
  }
  /* A phrase is listed before shorter phrases with which it begins. */
  for (size_t i = 0; i < hr__n_serve_phrases; i++)
    CU_ASSERT_STRING_EQUAL(hr__phrase(hr__serve_phrases[i].text), hr__serve_phrases[i].text);
  confine(true);
  for (size_t i = 0; i < hr__n_serve_phrases; i++) {
    char *own = hr__phrased(hr__serve_phrases[i].text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    CU_ASSERT_STRING_EQUAL(own, hr__serve_phrases[i].plain);
    free(own);
  }
  confine(false);
}

TEST_MAIN("serve: phrases", TEST(options), TEST(values), TEST(formats))
