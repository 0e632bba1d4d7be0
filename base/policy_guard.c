/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names the plug-in policy that crashes, or that does not return from a function.
 *
 * Each run of a plug-in has a slot of a fixed table. The name of the called function is stored in the slot before each
 * call and removed after it. The handler of fatal signals and the handler of clock ticks read the table. A tick is a
 * signal that the process receives after each second of its CPU time. All running calls share this CPU time, so a call
 * is too long if it lasts for more ticks than the limit x the number of running calls. Signal handlers have no other
 * way to find the calls, so the table is global, like the lists of output_file.c.
 */

#include "base/policy_guard.h"

#include "headroom/base.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { SLOTS = 256, PLUG_INS = 64, STACK_BYTES = 65536 };

static struct hr__policy_call calls[SLOTS];
static struct {
  unsigned count, ticks;
} seen[SLOTS]; /* data of the tick handler: number of the call at the last tick, and ticks since this call began */
static _Atomic(const char *) plug_ins[PLUG_INS];
static atomic_uint n_plug_ins;
static unsigned limit_s; /* 0: guards are not installed */

void hr__policy_guard_add(const char *name) {
  unsigned at = atomic_fetch_add(&n_plug_ins, 1);
  atomic_store(&plug_ins[at % PLUG_INS], name);
}

static bool is_plug_in(const char *name) {
  for (unsigned i = 0; i < PLUG_INS; i++)
    if (atomic_load(&plug_ins[i]) == name) return true;
  return false;
}

struct hr__policy_call *hr__policy_guard_claim(const char *name) {
  const struct itimerval second = {{1, 0}, {1, 0}};
  struct itimerval now;
  if (!limit_s || !name || !is_plug_in(name)) return NULL;
  if (getitimer(ITIMER_PROF, &now) == 0 && !now.it_interval.tv_sec) setitimer(ITIMER_PROF, &second, NULL);
  for (unsigned i = 0; i < SLOTS; i++) {
    const char *none = NULL;
    if (atomic_compare_exchange_strong(&calls[i].policy, &none, name)) return &calls[i];
  }
  return NULL;
}

void hr__policy_guard_release(struct hr__policy_call *call) {
  if (!call) return;
  hr__policy_leave(call);
  atomic_store(&call->policy, NULL);
}

/* ---- Signal handlers ---------------------------------------------------------------------------------------- */

static void put(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void put_call(const struct hr__policy_call *call, const char *before, const char *after) {
  put("headroom: plug-in '");
  put(atomic_load(&call->policy));
  put(before);
  put(atomic_load(&call->function));
  put(after);
}

/* Handles a fatal signal. The system has already restored the default action of the signal, so raising the signal again
   ends the program. If several threads run plug-ins, all of these are named. */
static void on_crash(int number) {
  for (unsigned i = 0; i < SLOTS; i++)
    if (atomic_load(&calls[i].policy) && atomic_load(&calls[i].function))
      put_call(&calls[i], "' crashed in its function '", "'\n");
  raise(number);
}

static void on_tick(int number) {
  unsigned n_active = 0;
  (void)number;
  for (unsigned i = 0; i < SLOTS; i++) n_active += atomic_load(&calls[i].function) != NULL;
  for (unsigned i = 0; i < SLOTS; i++) {
    unsigned count = atomic_load(&calls[i].count);
    bool is_same = atomic_load(&calls[i].function) && seen[i].count == count;
    seen[i].ticks = is_same ? seen[i].ticks + 1 : 0;
    seen[i].count = count;
    if (!is_same || seen[i].ticks / n_active < limit_s) continue;
    put_call(&calls[i], "' does not return from its function '",
             "': the limit of CPU time is exceeded (HEADROOM_POLICY_LIMIT_S)\n");
    raise(SIGXCPU);
    return;
  }
}

void hr_policy_guard_install(unsigned seconds) {
  static const int fatal[] = {SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGABRT};
  static char stack[STACK_BYTES];
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction crash = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)}, old;
  const struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  limit_s = seconds;
  sigaltstack(&other, NULL); /* for a stack overflow of the main thread */
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
    if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(fatal[i], &crash, NULL);
  sigaction(SIGPROF, &tick, NULL);
}
