/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measure COMMAND [ARGUMENT...]: runs the command and writes one line with three numbers to file descriptor 3:
   wall-clock seconds, processor seconds (user + system), and peak resident memory in KiB. The exit code is that of the
   command, or 4 if a signal ended it. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) {
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

int main(int argc, char **argv) {
  struct timespec begun, ended;
  struct rusage usage;
  int status;
  if (argc < 2) return 2;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) < 0) return 4;
  clock_gettime(CLOCK_MONOTONIC, &ended);
  getrusage(RUSAGE_CHILDREN, &usage);
  dprintf(3, "%.4f %.4f %ld\n", (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
