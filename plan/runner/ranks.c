/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ranks of an MPI job: start, messages, agreement, end.
 *
 * MPI takes a quarter of a second to start. A thread starts it while the main thread reads the input, and ends before
 * the first communication. So one thread at a time calls MPI (MPI_THREAD_SERIALIZED). A failed call aborts the job,
 * which is the default of MPI. A rank that fails outside a batch reports it at its next agreement, at the latest when
 * it leaves. Every batch begins with an agreement, so that the other ranks notice the failure.
 */

#include "plan/runner/runner.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The environment -------------------------------------------------------------------------------- */

/* The value of the first of the environment variables that is set; `fallback` if none is set. */
static long first_number(const char *const *names, long fallback) {
  for (; *names; names++) {
    const char *text = getenv(*names);
    if (text && text[0]) return strtol(text, NULL, 10);
  }
  return fallback;
}

static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};

bool hr_ranks_lead(void) {
  return first_number(rank_names, 0) == 0;
}

bool hr_ranks_launched(void) {
  return first_number(rank_names, -1) >= 0;
}

/* The number of ranks. A launcher that reports a rank but no number of ranks may have started several processes, so 2
   is assumed. */
static long job_size(void) {
  const char *rank = getenv("PMIX_RANK");
  return first_number(size_names, HEADROOM_WITH_MPI && rank && rank[0] ? 2 : 1);
}

#if HEADROOM_WITH_MPI
#include <mpi.h>

enum { FIRST = 0 };
/* The largest message. MPI counts bytes with an int. */
enum { MAX_MESSAGE = 1 << 30 };

/* ---- Messages --------------------------------------------------------------------------------------- */

/* Sleeps until the request has completed. MPI_Wait then returns at once. */
static void sleep_until(MPI_Request *request) {
  enum { SPINS = 100, PAUSE_US = 100 };
  int complete = 0;
  for (unsigned tries = 0; !complete; tries++) {
    MPI_Test(request, &complete, MPI_STATUS_IGNORE);
    if (!complete && tries > SPINS) hr__pause_us(PAUSE_US);
  }
}

static int next_piece(size_t left) {
  return left < MAX_MESSAGE ? (int)left : MAX_MESSAGE;
}

void hr__ranks_share(void *bytes, size_t count) {
  for (char *at = bytes; count;) {
    MPI_Request request;
    int piece = next_piece(count);
    MPI_Ibcast(at, piece, MPI_BYTE, FIRST, MPI_COMM_WORLD, &request);
    sleep_until(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    at += piece;
    count -= (size_t)piece;
  }
}

void hr__ranks_send(int rank, enum hr__rank_tag tag, const void *bytes, size_t count) {
  for (const char *at = bytes; count;) {
    int piece = next_piece(count);
    MPI_Send(at, piece, MPI_BYTE, rank, (int)tag, MPI_COMM_WORLD);
    at += piece;
    count -= (size_t)piece;
  }
}

void hr__ranks_receive(int rank, enum hr__rank_tag tag, void *bytes, size_t count) {
  for (char *at = bytes; count;) {
    MPI_Request request;
    int piece = next_piece(count);
    MPI_Irecv(at, piece, MPI_BYTE, rank, (int)tag, MPI_COMM_WORLD, &request);
    sleep_until(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    at += piece;
    count -= (size_t)piece;
  }
}

bool hr__ranks_poll(enum hr__rank_tag tag, int *rank) {
  MPI_Status message;
  int available = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, (int)tag, MPI_COMM_WORLD, &available, &message);
  if (available) *rank = message.MPI_SOURCE;
  return available;
}

_Noreturn void hr__ranks_abort(enum hr_status status) {
  MPI_Abort(MPI_COMM_WORLD, hr_status_exit_code(status));
  abort();
}

/* ---- Starting MPI ----------------------------------------------------------------------------------- */

/* MPI while a thread starts it. */
struct hr__ranks_start {
  pthread_t thread;
  uint64_t command;
  int rank, size;
  bool started, equal; /* MPI was started; all ranks have the same command */
};

static enum hr_status different(struct hr_error *error, const char *what) {
  return hr_fail(error, HR_BAD_INPUT,
                 "the ranks of this job have different %s; all ranks need the same command and equal input files",
                 what);
}

/* The minima over all ranks. */
static void least_of_all(const int64_t *own, int64_t *least, int count) {
  MPI_Request request;
  MPI_Iallreduce(own, least, count, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, &request);
  sleep_until(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void *start_mpi(void *self) {
  struct hr__ranks_start *start = self;
  int provided, initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &start->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &start->size);
  const int64_t own[2] = {(int64_t)start->command, (int64_t)~start->command};
  int64_t least[2];
  least_of_all(own, least, 2);
  start->started = true;
  start->equal = least[0] == ~least[1];
  return NULL;
}

/* Waits until MPI has started. Returns an error if it cannot be started, or if the ranks have different commands. */
static enum hr_status await_start(struct hr_ranks *ranks, struct hr_error *error) {
  struct hr__ranks_start *start = ranks->start;
  if (!start) return HR_OK;
  ranks->start = NULL;
  pthread_join(start->thread, NULL);
  const struct hr__ranks_start made = *start;
  free(start);
  ranks->failed = !made.started || !made.equal;
  if (!made.started) return hr_fail(error, HR_IO_ERROR, "MPI cannot be initialized");
  ranks->rank = made.rank;
  ranks->size = made.size;
  return made.equal ? HR_OK : different(error, "commands");
}

/* ---- Agreement -------------------------------------------------------------------------------------- */

/* Agrees on `status`, and checks that `number` is equal on all ranks. */
static enum hr_status agree(struct hr_ranks *ranks, enum hr_status status, uint64_t number, const char *what,
                            struct hr_error *error) {
  if (!hr__ranks_several(ranks) || ranks->failed) return status;
  enum hr_status started = await_start(ranks, error);
  if (started != HR_OK || !hr__ranks_several(ranks)) return started != HR_OK ? started : status;
  const int64_t own[3] = {status == HR_OK ? INT_MAX : ranks->rank, (int64_t)number, (int64_t)~number};
  int64_t least[3];
  least_of_all(own, least, 3);
  if (least[0] == INT_MAX && least[1] == ~least[2]) return HR_OK;
  ranks->failed = true;
  if (least[0] == INT_MAX) return different(error, what);
  struct hr_error first = {0};
  if (least[0] == ranks->rank && error) first = *error;
  first.status = status;
  MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, (int)least[0], MPI_COMM_WORLD);
  return hr_fail(error, first.status, "%s", ranks->rank == 0 ? first.text : "");
}

enum hr_status hr_ranks_agree(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error) {
  return agree(ranks, status, 0, "", error);
}

enum hr_status hr_ranks_same(struct hr_ranks *ranks, uint64_t number, const char *what, struct hr_error *error) {
  return agree(ranks, HR_OK, number, what, error);
}

/* ---- Joining ---------------------------------------------------------------------------------------- */

/* Starts MPI in a thread if the environment has rank and size, otherwise in this thread. */
static enum hr_status initialize(struct hr_ranks *ranks, uint64_t command, struct hr_error *error) {
  struct hr__ranks_start *start = calloc(1, sizeof *start);
  if (!start) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  start->command = command;
  ranks->rank = (int)first_number(rank_names, 0);
  ranks->size = (int)job_size();
  ranks->start = start;
  bool later = first_number(size_names, 0) > 1 && first_number(rank_names, -1) >= 0;
  if (pthread_create(&start->thread, NULL, start_mpi, start) == 0) return later ? HR_OK : await_start(ranks, error);
  ranks->start = NULL;
  free(start);
  return hr_fail(error, HR_NO_MEMORY, "MPI cannot be initialized: no thread can be created");
}

static void finalize(void) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized && !finalized) MPI_Finalize();
}

/* The agreement waits for rank 0, which writes the output. A wait in MPI_Finalize would occupy a processor. */
enum hr_status hr_ranks_leave(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error) {
  status = hr_ranks_agree(ranks, status, error);
  if (ranks->start) await_start(ranks, NULL);
  bool leads = ranks->size > 0 ? ranks->rank == 0 : hr_ranks_lead();
  finalize();
  *ranks = (struct hr_ranks){0};
  return leads ? status : HR_OK;
}

#else /* without MPI there is one rank */

static enum hr_status initialize(struct hr_ranks *ranks, uint64_t command, struct hr_error *error) {
  (void)ranks;
  (void)command;
  return hr_fail(error, HR_BAD_INPUT,
                 "this is one rank of %ld, but Headroom was built without MPI; build it with MPI, or divide a sweep "
                 "with --shard and 'headroom merge'",
                 job_size());
}

enum hr_status hr_ranks_agree(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error) {
  (void)ranks;
  (void)error;
  return status;
}

enum hr_status hr_ranks_same(struct hr_ranks *ranks, uint64_t number, const char *what, struct hr_error *error) {
  (void)ranks;
  (void)number;
  (void)what;
  (void)error;
  return HR_OK;
}

enum hr_status hr_ranks_leave(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error) {
  (void)error;
  *ranks = (struct hr_ranks){0};
  return hr_ranks_lead() ? status : HR_OK;
}

void hr__ranks_share(void *bytes, size_t count) {
  (void)bytes;
  (void)count;
}

void hr__ranks_send(int rank, enum hr__rank_tag tag, const void *bytes, size_t count) {
  (void)rank;
  (void)tag;
  (void)bytes;
  (void)count;
}

void hr__ranks_receive(int rank, enum hr__rank_tag tag, void *bytes, size_t count) {
  (void)rank;
  (void)tag;
  (void)bytes;
  (void)count;
}

bool hr__ranks_poll(enum hr__rank_tag tag, int *rank) {
  (void)tag;
  (void)rank;
  return false;
}

_Noreturn void hr__ranks_abort(enum hr_status status) {
  (void)status;
  abort();
}

#endif

enum hr_status hr_ranks_join(struct hr_ranks *ranks, uint64_t command, struct hr_error *error) {
  *ranks = (struct hr_ranks){0};
  return job_size() <= 1 ? HR_OK : initialize(ranks, command, error);
}
