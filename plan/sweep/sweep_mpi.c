/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ranks of an MPI job. Every rank loads the whole sweep, so only numbers of runs are sent to a rank, and only
 * records are returned. A rank requests work and sends the records of its finished runs. Rank 0 answers with as many
 * numbers as the rank has threads, or with none at the end. Rank 0 sleeps between polls, since a blocking receive would
 * occupy a processor that a computing rank can use.
 *
 * MPI is initialized only if the environment variables of a launcher show a job of several ranks. A single process
 * therefore has no overhead and needs no daemon. Only the thread that initialized MPI calls its functions
 * (MPI_THREAD_FUNNELED). A build without MPI rejects such jobs; plan/sweep/sweep.h defines the remaining functions for
 * one rank.
 */

#include "base/array.h"
#include "plan/sweep/sweep.h"

#include <limits.h>
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

bool hr_sweep_leads(void) {
  static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
  return first_number(ranks, 0) == 0;
}

/* The number of ranks. A launcher that reports a rank but no number of ranks may have started several processes, so 2
   is assumed. */
static long job_size(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
  const char *rank = getenv("PMIX_RANK");
  return first_number(sizes, HEADROOM_WITH_MPI && rank && rank[0] ? 2 : 1);
}

#if HEADROOM_WITH_MPI
#include <mpi.h>

enum { FROM_FIRST = 0, TAG_ASK = 1, TAG_RUNS = 2, TAG_ERROR = 3 };

static enum hr_status mpi_failed(struct hr_error *error) {
  return hr_fail(error, HR_IO_ERROR, "MPI: a message could not be sent or received");
}

/* ---- Joining ---------------------------------------------------------------------------------------- */

static enum hr_status initialize(struct hr__sweep_ranks *ranks, struct hr_error *error) {
  int provided, initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return hr_fail(error, HR_IO_ERROR, "MPI cannot be initialized");
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
  return HR_OK;
}

void hr__sweep_ranks_leave(struct hr__sweep_ranks *ranks) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized && !finalized) MPI_Finalize();
  *ranks = (struct hr__sweep_ranks){.size = 1};
}

/* ---- Agreement -------------------------------------------------------------------------------------- */

enum hr_status hr__sweep_ranks_agree(const struct hr__sweep_ranks *ranks, enum hr_status status,
                                     struct hr_error *error) {
  if (ranks->size == 1) return status;
  int own = status == HR_OK ? INT_MAX : ranks->rank, first, code = (int)status;
  if (MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) return mpi_failed(error);
  if (first == INT_MAX) return HR_OK;
  char text[sizeof error->text] = "";
  if (first == ranks->rank && error) memcpy(text, error->text, sizeof text);
  if (MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD) != MPI_SUCCESS)
    return mpi_failed(error);
  text[sizeof text - 1] = '\0';
  return hr_fail(error, (enum hr_status)code, "%s", ranks->rank == 0 ? text : "");
}

enum hr_status hr__sweep_ranks_same(const struct hr__sweep_ranks *ranks, uint64_t number, struct hr_error *error) {
  if (ranks->size == 1) return HR_OK;
  uint64_t first = number;
  if (MPI_Bcast(&first, 1, MPI_UINT64_T, FROM_FIRST, MPI_COMM_WORLD) != MPI_SUCCESS) return mpi_failed(error);
  if (first == number) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "rank %d has other input files than rank 0: the grid, the scenario and all files that they name must be equal "
      "on every machine",
      ranks->rank);
}

/* ---- Ranks that compute ----------------------------------------------------------------------------- */

/* Records that were not sent yet. */
struct outbox {
  char *bytes; /* for each record its size in eight bytes, then its bytes */
  size_t used;
};

static enum hr_status add_to_outbox(void *self, const struct hr__sweep_record *record, struct hr_error *error) {
  struct outbox *outbox = self;
  size_t size;
  void *bytes = hr__sweep_record_pack(record, &size);
  uint64_t length = size;
  bool room = bytes && HR__ARRAY_RESIZE(outbox->bytes, outbox->used + sizeof length + size);
  if (room) {
    memcpy(outbox->bytes + outbox->used, &length, sizeof length);
    memcpy(outbox->bytes + outbox->used + sizeof length, bytes, size);
    outbox->used += sizeof length + size;
  }
  free(bytes);
  return room ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Sends the outbox to rank 0 and receives the numbers of the next runs. `runs` has room for `n_threads` numbers. */
static enum hr_status request_runs(struct outbox *outbox, uint32_t n_threads, uint64_t *runs, size_t *count,
                                   struct hr_error *error) {
  MPI_Status info;
  int received;
  uint64_t threads = n_threads;
  if (outbox->used > INT_MAX) return hr_fail(error, HR_IO_ERROR, "MPI: the results are too large for a message");
  if (MPI_Send(&threads, 1, MPI_UINT64_T, FROM_FIRST, TAG_ASK, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Send(outbox->bytes, (int)outbox->used, MPI_BYTE, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD) != MPI_SUCCESS ||
      MPI_Recv(runs, (int)n_threads, MPI_UINT64_T, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD, &info) != MPI_SUCCESS)
    return mpi_failed(error);
  MPI_Get_count(&info, MPI_UINT64_T, &received);
  *count = (size_t)received;
  outbox->used = 0;
  return HR_OK;
}

/* Reports a failed run to rank 0 in place of a request, and waits for the answer. */
static enum hr_status report_failure(enum hr_status status, const struct hr_error *error) {
  struct hr_error report = *error;
  uint64_t none;
  report.status = status;
  MPI_Send(&report, (int)sizeof report, MPI_BYTE, FROM_FIRST, TAG_ERROR, MPI_COMM_WORLD);
  MPI_Recv(&none, 1, MPI_UINT64_T, FROM_FIRST, TAG_RUNS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return status;
}

static enum hr_status work(const struct hr__sweep *sweep, uint32_t n_threads, struct hr_error *error) {
  struct outbox outbox = {0};
  uint64_t *runs = calloc(n_threads, sizeof *runs);
  enum hr_status status = HR_OK;
  struct hr_error inner = {0};
  if (!runs) status = hr_fail(&inner, HR_NO_MEMORY, "out of memory");
  while (status == HR_OK) {
    size_t count = 0;
    status = request_runs(&outbox, n_threads, runs, &count, &inner);
    if (status != HR_OK || count == 0) break;
    struct hr__sweep_batch batch = {
        .sweep = sweep, .runs = runs, .n_runs = count, .n_threads = n_threads, .self = &outbox, .store = add_to_outbox};
    status = hr__sweep_run_on_threads(&batch, &inner);
  }
  if (status != HR_OK) {
    report_failure(status, &inner);
    hr_fail(error, status, "%s", inner.text);
  }
  free(outbox.bytes);
  free(runs);
  return status;
}

/* ---- Rank 0: distribution of runs ------------------------------------------------------------------- */

struct distributor {
  const struct hr__sweep_batch *batch;
  size_t next;  /* index of the next run to send */
  int n_active; /* number of ranks that have not received the end of work */
  enum hr_status status;
  struct hr_error error;
};

static void set_failure(struct distributor *distributor, enum hr_status status, const struct hr_error *error) {
  if (distributor->status != HR_OK) return;
  distributor->status = status;
  distributor->error = *error;
}

/* Stores the records that a rank has sent. */
static void store_records(struct distributor *distributor, const char *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    struct hr__sweep_record record;
    struct hr_error error = {0};
    uint64_t one;
    memcpy(&one, bytes + at, sizeof one);
    at += sizeof one;
    enum hr_status status =
        hr__sweep_record_unpack(&record, bytes + at, one) ? HR_OK : hr_fail(&error, HR_NO_MEMORY, "out of memory");
    if (status == HR_OK) status = distributor->batch->store(distributor->batch->self, &record, &error);
    hr__sweep_record_finish(&record);
    if (status != HR_OK) set_failure(distributor, status, &error);
    at += one;
  }
}

static void receive_records(struct distributor *distributor, int rank) {
  MPI_Status info;
  int size;
  MPI_Probe(rank, TAG_RUNS, MPI_COMM_WORLD, &info);
  MPI_Get_count(&info, MPI_BYTE, &size);
  char *bytes = malloc((size_t)size + 1);
  struct hr_error error = {0};
  if (!bytes) { /* without an answer the rank would wait forever, so the job is aborted */
    MPI_Abort(MPI_COMM_WORLD, hr_status_exit_code(HR_NO_MEMORY));
    return;
  }
  if (MPI_Recv(bytes, size, MPI_BYTE, rank, TAG_RUNS, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    set_failure(distributor, mpi_failed(&error), &error);
  else
    store_records(distributor, bytes, (size_t)size);
  free(bytes);
}

/* The number of runs for a rank with `threads` threads. Near the end a rank gets fewer runs, to balance the load. */
static size_t next_share(const struct distributor *distributor, uint64_t threads) {
  size_t left = distributor->status == HR_OK ? distributor->batch->n_runs - distributor->next : 0,
         ranks = (size_t)distributor->n_active;
  size_t fair = (left + ranks - 1) / ranks;
  return fair < threads ? fair : (size_t)threads;
}

static void answer_request(struct distributor *distributor, int rank) {
  uint64_t threads;
  MPI_Recv(&threads, 1, MPI_UINT64_T, rank, TAG_ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  receive_records(distributor, rank);
  size_t count = next_share(distributor, threads);
  MPI_Send(distributor->batch->runs + distributor->next, (int)count, MPI_UINT64_T, rank, TAG_RUNS, MPI_COMM_WORLD);
  distributor->next += count;
  if (count == 0) distributor->n_active--;
}

static void receive_failure(struct distributor *distributor, int rank) {
  struct hr_error report;
  uint64_t none = 0;
  MPI_Recv(&report, (int)sizeof report, MPI_BYTE, rank, TAG_ERROR, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  set_failure(distributor, report.status, &report);
  MPI_Send(&none, 0, MPI_UINT64_T, rank, TAG_RUNS, MPI_COMM_WORLD);
  distributor->n_active--;
}

/* Waits for the first message of an exchange by polling every 0.5 ms. */
static void wait_for_message(MPI_Status *message) {
  static const int tags[] = {TAG_ASK, TAG_ERROR};
  const struct timespec pause = {.tv_nsec = 500000};
  for (;;) {
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
      int available = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, tags[i], MPI_COMM_WORLD, &available, message);
      if (available) return;
    }
    nanosleep(&pause, NULL);
  }
}

static enum hr_status distribute(const struct hr__sweep_ranks *ranks, const struct hr__sweep_batch *batch,
                                 struct hr_error *error) {
  struct distributor distributor = {.batch = batch, .n_active = ranks->size - 1, .status = HR_OK};
  while (distributor.n_active > 0) {
    MPI_Status message;
    wait_for_message(&message);
    if (message.MPI_TAG == TAG_ASK)
      answer_request(&distributor, message.MPI_SOURCE);
    else
      receive_failure(&distributor, message.MPI_SOURCE);
  }
  return distributor.status == HR_OK ? HR_OK : hr_fail(error, distributor.status, "%s", distributor.error.text);
}

enum hr_status hr__sweep_ranks_run(const struct hr__sweep_ranks *ranks, const struct hr__sweep_batch *batch,
                                   struct hr_error *error) {
  if (ranks->size == 1) return hr__sweep_run_on_threads(batch, error);
  return ranks->rank == 0 ? distribute(ranks, batch, error) : work(batch->sweep, batch->n_threads, error);
}

#else

static enum hr_status initialize(struct hr__sweep_ranks *ranks, struct hr_error *error) {
  (void)ranks;
  return hr_fail(error, HR_BAD_INPUT,
                 "this is one rank of %ld, but Headroom was built without MPI; build it with MPI, or use "
                 "--shard on each machine and 'headroom merge'",
                 job_size());
}

#endif

enum hr_status hr__sweep_ranks_join(struct hr__sweep_ranks *ranks, struct hr_error *error) {
  *ranks = (struct hr__sweep_ranks){.size = 1};
  return job_size() <= 1 ? HR_OK : initialize(ranks, error);
}
