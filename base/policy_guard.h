/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_POLICY_GUARD_H
#define HR_BASE_POLICY_GUARD_H

/* Names the policy or router of a shared object that crashes, or that does not return from a function. Active only in
   programs that call hr_policy_guard_install. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* What a thread does at present. */
struct hr__policy_call {
  _Atomic(const char *) policy;   /* name of the policy; NULL: the slot is free */
  _Atomic(const char *) function; /* name of the function that runs at present; NULL: none */
  atomic_uint count;              /* number of calls */
};

/* Registers the name of a policy from a shared object. */
void hr__policy_guard_add(const char *name);
/* Returns the record of this thread for the calls of a policy, and starts the clock of this process; NULL if the policy
   is built-in or if guards are not installed. The thread must release it. */
struct hr__policy_call *hr__policy_guard_claim(const char *name);
void hr__policy_guard_release(struct hr__policy_call *call);

static inline void hr__policy_enter(struct hr__policy_call *call, const char *function) {
  if (!call) return;
  atomic_store_explicit(&call->count, atomic_load_explicit(&call->count, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  atomic_store_explicit(&call->function, function, memory_order_release);
}

static inline void hr__policy_leave(struct hr__policy_call *call) {
  if (call) atomic_store_explicit(&call->function, NULL, memory_order_relaxed);
}

#endif
