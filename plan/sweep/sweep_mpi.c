/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ranks of an MPI job. Every rank knows the whole sweep (hr__sweep_make), so that what is dealt are numbers of
 * runs, and what comes back are records. A rank asks for work with what it has made; the first rank answers with as
 * many numbers as it has threads, or with none, at the end. The first rank sleeps between looks at its mail: MPI's own
 * waiting would keep a processor busy, which is better used by a rank that computes.
 *
 * MPI is begun for jobs of several ranks alone, which launchers tell in the environment: a program by itself neither
 * pays for it nor needs a daemon. Only the thread that began it calls it (MPI_THREAD_FUNNELED).
 */

#include "plan/sweep/sweep.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef HEADROOM_WITH_MPI
#define HEADROOM_WITH_MPI 0
#endif

/* ---- The environment -------------------------------------------------------------------------------- */

/* The number in the first of the variables that is set; `otherwise` if none is. */
static long first_number(const char *const *names, long otherwise) {
  for (; *names; names++) {
    const char *text = getenv(*names);
    if (text && text[0]) return strtol(text, NULL, 10);
  }
  return otherwise;
}

bool hr__ranks_first(void) {
  static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
  return first_number(ranks, 0) == 0;
}

/* A launcher that tells ranks and not how many there are may have started several: 2. */
static long job_size(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
  const char *rank = getenv("PMIX_RANK");
  return first_number(sizes, rank && rank[0] ? 2 : 1);
}

#if HEADROOM_WITH_MPI
#include <mpi.h>

enum { FROM_FIRST = 0, TAG_ASK = 1, TAG_RUNS = 2, TAG_ERROR = 3 };

static enum hr_status mpi_failed(struct hr_error *error) {
  return hr_fail(error, HR_IO_ERROR, "MPI: a message could not be sent or received");
}

/* ---- Joining ---------------------------------------------------------------------------------------- */

enum hr_status hr__ranks_join(struct hr__ranks *ranks, struct hr_error *error) {
  int given, begun = 0;
  *ranks = (struct hr__ranks){.size = 1};
  if (job_size() <= 1) return HR_OK;
  MPI_Initialized(&begun);
  if (!begun && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
    return hr_fail(error, HR_IO_ERROR, "MPI cannot be begun");
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
  return HR_OK;
}

void hr__ranks_leave(struct hr__ranks *ranks) {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun && !ended) MPI_Finalize();
  *ranks = (struct hr__ranks){.size = 1};
}

/* ---- Agreeing --------------------------------------------------------------------------------------- */

enum hr_status hr__ranks_agree(const struct hr__ranks *ranks, enum hr_status status, struct hr_error *error) {
  if (ranks->size == 1) return status;
  int mine = status == HR_OK ? INT_MAX : ranks->rank, first, code = (int)status;
  if (MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) return mpi_failed(error);
  if (first == INT_MAX) return HR_OK;
  char text[sizeof error->text] = "";
  if (first == ranks->rank && error) memcpy(text, error->text, sizeof text);
  if (MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD) != MPI_SUCCESS)
    return mpi_failed(error);
  text[sizeof text - 1] = '\0';
  return hr_fail(error, (enum hr_status)code, "%s", ranks->rank == 0 ? text : "");
}

enum hr_status hr__ranks_same(const struct hr__ranks *ranks, uint64_t number, struct hr_error *error) {
  if (ranks->size == 1) return HR_OK;
  uint64_t first = number;
  if (MPI_Bcast(&first, 1, MPI_UINT64_T, FROM_FIRST, MPI_COMM_WORLD) != MPI_SUCCESS) return mpi_failed(error);
  if (first == number) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "rank %d reads other files than rank 0: the grid, the scenario and all that they name must be the same "
      "on every machine",
      ranks->rank);
}

/* ---- Working ---------------------------------------------------------------------------------------- */

/* What a rank has made and not yet sent. */
struct outbox {
  char *bytes; /* for each record its size, eight bytes, and itself */
  size_t used;
};

static enum hr_status post(void *self, const struct hr__record *record, struct hr_error *error) {
  struct outbox *outbox = self;
  size_t size;
  void *bytes = hr__record_pack(record, &size);
  char *grown = bytes ? realloc(outbox->bytes, outbox->used + sizeof(uint64_t) + size) : NULL;
  if (grown) {
    uint64_t told = size;
    outbox->bytes = grown;
    memcpy(grown + outbox->used, &told, sizeof told);
    memcpy(grown + outbox->used + sizeof told, bytes, size);
    outbox->used += sizeof told + size;
  }
  free(bytes);
  return grown ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Hands over what was made, and asks for more; `runs` has room for a number for each thread. */
static enum hr_status ask(struct outbox *outbox, uint32_t n_threads, uint64_t *runs, size_t *count,
                          struct hr_error *error) {
  MPI_Status told;
  int received;
  uint64_t threads = n_threads;
  if (outbox->used > INT_MAX) return hr_fail(error, HR_IO_ERROR, "MPI: the results are too large for a message");
  if (MPI_Send(&threads, 1, MPI_UINT64_T, FROM_FIRST, TAG_ASK, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Send(outbox->bytes, (int)outbox->used, MPI_BYTE, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Recv(runs, (int)n_threads, MPI_UINT64_T, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD, &told) != MPI_SUCCESS)
    return mpi_failed(error);
  MPI_Get_count(&told, MPI_UINT64_T, &received);
  *count = (size_t)received;
  outbox->used = 0;
  return HR_OK;
}

/* A run that fails is told the first rank in the place of a question, and the rank waits to be sent home. */
static enum hr_status complain(enum hr_status status, const struct hr_error *error) {
  struct hr_error told = *error;
  uint64_t none;
  told.status = status;
  MPI_Send(&told, (int)sizeof told, MPI_BYTE, FROM_FIRST, TAG_ERROR, MPI_COMM_WORLD);
  MPI_Recv(&none, 1, MPI_UINT64_T, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return status;
}

enum hr_status hr__ranks_work(const struct hr__ranks *ranks, const struct hr__sweep *sweep, uint32_t n_threads,
                              struct hr_error *error) {
  (void)ranks;
  struct outbox outbox = {0};
  uint64_t *runs = calloc(n_threads, sizeof *runs);
  enum hr_status status = HR_OK;
  struct hr_error inner = {0};
  if (!runs) status = hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  while (status == HR_OK) {
    size_t count = 0;
    status = ask(&outbox, n_threads, runs, &count, &inner);
    if (status != HR_OK || count == 0) break;
    struct hr__deal deal = {
        .sweep = sweep, .runs = runs, .n_runs = count, .n_threads = n_threads, .self = &outbox, .keep = post};
    status = hr__deal_on_threads(&deal, &inner);
  }
  if (status != HR_OK) {
    complain(status, &inner);
    hr_fail(error, status, "%s", inner.text);
  }
  free(outbox.bytes);
  free(runs);
  return status;
}

/* ---- Dealing ---------------------------------------------------------------------------------------- */

struct dealer {
  const struct hr__deal *deal;
  size_t next; /* of the runs, to be dealt */
  int at_work; /* ranks that were not yet sent home */
  enum hr_status status;
  struct hr_error error;
};

static void give_up(struct dealer *dealer, enum hr_status status, const struct hr_error *error) {
  if (dealer->status != HR_OK) return;
  dealer->status = status;
  dealer->error = *error;
}

/* Records of a rank, once the dealer gave up of no use any more. */
static void keep_all(struct dealer *dealer, const char *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    struct hr__record record;
    struct hr_error error = {0};
    uint64_t one;
    memcpy(&one, bytes + at, sizeof one);
    at += sizeof one;
    enum hr_status status =
        hr__record_unpack(&record, bytes + at, one) ? HR_OK : hr_fail(&error, HR_NO_MEMORY, "out of memory");
    if (status == HR_OK) status = dealer->deal->keep(dealer->deal->self, &record, &error);
    hr__record_finish(&record);
    if (status != HR_OK) give_up(dealer, status, &error);
    at += one;
  }
}

static void take_records(struct dealer *dealer, int rank) {
  MPI_Status told;
  int size;
  MPI_Probe(rank, TAG_RUNS, MPI_COMM_WORLD, &told);
  MPI_Get_count(&told, MPI_BYTE, &size);
  char *bytes = malloc((size_t)size + 1);
  struct hr_error error = {0};
  if (!bytes) { /* the rank must not be left waiting, and nothing can be received: the job ends here */
    MPI_Abort(MPI_COMM_WORLD, hr_status_exit_code(HR_NO_MEMORY));
    return;
  }
  if (MPI_Recv(bytes, size, MPI_BYTE, rank, TAG_RUNS, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    give_up(dealer, mpi_failed(&error), &error);
  else
    keep_all(dealer, bytes, (size_t)size);
  free(bytes);
}

/* Fewer towards the end, so that no rank is left with many while others have none. */
static size_t share_of(const struct dealer *dealer, uint64_t threads) {
  size_t left = dealer->status == HR_OK ? dealer->deal->n_runs - dealer->next : 0, ranks = (size_t)dealer->at_work;
  size_t fair = (left + ranks - 1) / ranks;
  return fair < threads ? fair : (size_t)threads;
}

static void answer(struct dealer *dealer, int rank) {
  uint64_t threads;
  MPI_Recv(&threads, 1, MPI_UINT64_T, rank, TAG_ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  take_records(dealer, rank);
  size_t count = share_of(dealer, threads);
  MPI_Send(dealer->deal->runs + dealer->next, (int)count, MPI_UINT64_T, rank, TAG_RUNS, MPI_COMM_WORLD);
  dealer->next += count;
  if (count == 0) dealer->at_work--;
}

static void hear_error(struct dealer *dealer, int rank) {
  struct hr_error told;
  uint64_t none = 0;
  MPI_Recv(&told, (int)sizeof told, MPI_BYTE, rank, TAG_ERROR, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  give_up(dealer, told.status, &told);
  MPI_Send(&none, 0, MPI_UINT64_T, rank, TAG_RUNS, MPI_COMM_WORLD);
  dealer->at_work--;
}

/* Looks for mail that a rank begins with, sleeping a little longer each time there is none. */
static void await(MPI_Status *mail) {
  static const int tags[] = {TAG_ASK, TAG_ERROR};
  const struct timespec nap = {.tv_nsec = 500000};
  for (;;) {
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, tags[i], MPI_COMM_WORLD, &there, mail);
      if (there) return;
    }
    nanosleep(&nap, NULL);
  }
}

enum hr_status hr__deal_on_ranks(const struct hr__ranks *ranks, const struct hr__deal *deal, struct hr_error *error) {
  struct dealer dealer = {.deal = deal, .at_work = ranks->size - 1, .status = HR_OK};
  while (dealer.at_work > 0) {
    MPI_Status mail;
    await(&mail);
    if (mail.MPI_TAG == TAG_ASK)
      answer(&dealer, mail.MPI_SOURCE);
    else
      hear_error(&dealer, mail.MPI_SOURCE);
  }
  return dealer.status == HR_OK ? HR_OK : hr_fail(error, dealer.status, "%s", dealer.error.text);
}

#else /* ---- Without MPI: one rank --------------------------------------------------------------------- */

enum hr_status hr__ranks_join(struct hr__ranks *ranks, struct hr_error *error) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
  *ranks = (struct hr__ranks){.size = 1};
  if (first_number(sizes, 1) <= 1) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "this is one rank of %ld, and this Headroom was built without MPI; build it where MPI is found, or use "
      "--shard on each machine and headroom merge",
      job_size());
}

void hr__ranks_leave(struct hr__ranks *ranks) {
  *ranks = (struct hr__ranks){.size = 1};
}

enum hr_status hr__ranks_agree(const struct hr__ranks *ranks, enum hr_status status, struct hr_error *error) {
  (void)ranks;
  (void)error;
  return status;
}

enum hr_status hr__ranks_same(const struct hr__ranks *ranks, uint64_t number, struct hr_error *error) {
  (void)ranks;
  (void)number;
  (void)error;
  return HR_OK;
}

enum hr_status hr__deal_on_ranks(const struct hr__ranks *ranks, const struct hr__deal *deal, struct hr_error *error) {
  (void)ranks;
  return hr__deal_on_threads(deal, error);
}

enum hr_status hr__ranks_work(const struct hr__ranks *ranks, const struct hr__sweep *sweep, uint32_t n_threads,
                              struct hr_error *error) {
  (void)ranks;
  (void)sweep;
  (void)n_threads;
  return hr_fail(error, HR_INTERNAL, "no rank works without MPI");
}

#endif
