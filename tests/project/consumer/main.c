/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program outside the project that uses the installed library. It calls functions of the library and prints the
   version of the library, which install.sh compares with the version in pkg-config. */

#include "headroom/headroom.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  hr_init();
  struct hr_error error = {0};
  struct hr_policy_choice choice = {0};
  if (hr_policy_choice_init(&choice, "queue", &error) != HR_OK) {
    (void)fprintf(stderr, "%s\n", error.text);
    return EXIT_FAILURE;
  }
  hr_policy_choice_finish(&choice);
  return printf("headroom %s\n", hr_version()) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
