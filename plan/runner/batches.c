/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batches of runs: on the threads of a process, and on the ranks of an MPI job.
 *
 * Ranks. MPI takes a quarter of a second to start. A second thread starts it while the main thread reads the input. The
 * main thread waits for the end of the second thread before it calls MPI, so only one thread at a time calls MPI
 * (MPI_THREAD_SERIALIZED). A failed call aborts the job, which is the default of MPI. A rank that fails outside a batch
 * reports it at its next agreement, at the latest when it leaves. Every batch begins with an agreement, so that the
 * other ranks notice the failure.
 *
 * Batches. Each rank reads all input, so only numbers of items are sent to a rank, and only results are returned. A
 * rank requests items and sends the results of those it has finished. Rank 0 answers with a few consecutive numbers (a
 * share), or with none at the end. Each rank has two open requests, so that its next share has arrived when it has
 * computed the current one. To balance the load near the end, rank 0 answers a request only when the rank has nothing
 * to compute. Rank 0 computes items, too: its main thread answers requests while other threads compute. The main thread
 * of rank 0, and every rank that waits, sleeps between polls, because a blocking receive would occupy a processor.
 *
 * Only the thread that has called hr_ranks_join sends and receives.
 */

#include "plan/runner/runner.h"

#include "base/threads.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The rank that divides the work and owns the output. */
enum { FIRST = 0 };

/* ---- Ranks: the environment ------------------------------------------------------------------------- */

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

/* The largest message. MPI counts bytes with an int. */
enum { MAX_MESSAGE = 1 << 30 };

/* ---- Ranks: messages -------------------------------------------------------------------------------- */

/* Sleeps until the request has completed. MPI_Wait then returns at once. */
static void await(MPI_Request *request) {
  enum { SPINS = 100, PAUSE_US = 100 };
  int complete = 0;
  for (unsigned tries = 0; !complete; tries++) {
    MPI_Test(request, &complete, MPI_STATUS_IGNORE);
    if (!complete && tries > SPINS) hr__pause_us(PAUSE_US);
  }
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int next_piece(size_t left) {
  return left < MAX_MESSAGE ? (int)left : MAX_MESSAGE;
}

void hr__ranks_share(void *bytes, size_t count) {
  for (char *at = bytes; count;) {
    MPI_Request request;
    int piece = next_piece(count);
    MPI_Ibcast(at, piece, MPI_BYTE, FIRST, MPI_COMM_WORLD, &request);
    await(&request);
    at += piece;
    count -= (size_t)piece;
  }
}

/* Sends `count` bytes to a rank. */
static void ranks_send(int rank, enum hr__rank_tag tag, const void *bytes, size_t count) {
  for (const char *at = bytes; count;) {
    int piece = next_piece(count);
    MPI_Send(at, piece, MPI_BYTE, rank, (int)tag, MPI_COMM_WORLD);
    at += piece;
    count -= (size_t)piece;
  }
}

/* Receives `count` bytes from a rank, which must send the same number. The thread sleeps until they have arrived. */
static void ranks_receive(int rank, enum hr__rank_tag tag, void *bytes, size_t count) {
  for (char *at = bytes; count;) {
    MPI_Request request;
    int piece = next_piece(count);
    MPI_Irecv(at, piece, MPI_BYTE, rank, (int)tag, MPI_COMM_WORLD, &request);
    await(&request);
    at += piece;
    count -= (size_t)piece;
  }
}

/* Whether a message with the tag can be received. Sets *rank to its sender. */
static bool ranks_poll(enum hr__rank_tag tag, int *rank) {
  MPI_Status message;
  int available = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, (int)tag, MPI_COMM_WORLD, &available, &message);
  if (available) *rank = message.MPI_SOURCE;
  return available;
}

/* Ends all ranks, after a failure that cannot be reported to the other ranks. */
static _Noreturn void ranks_abort(enum hr_status status) {
  MPI_Abort(MPI_COMM_WORLD, hr_status_exit_code(status));
  abort();
}

/* ---- Ranks: starting MPI ---------------------------------------------------------------------------- */

/* State of MPI while a thread starts it. */
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
  await(&request);
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

/* ---- Ranks: agreement ------------------------------------------------------------------------------- */

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

/* ---- Ranks: joining --------------------------------------------------------------------------------- */

/* Starts MPI in a thread. Waits for this thread unless the environment contains the rank and the size. */
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

static void ranks_send(int rank, enum hr__rank_tag tag, const void *bytes, size_t count) {
  (void)rank;
  (void)tag;
  (void)bytes;
  (void)count;
}

static void ranks_receive(int rank, enum hr__rank_tag tag, void *bytes, size_t count) {
  (void)rank;
  (void)tag;
  (void)bytes;
  (void)count;
}

static bool ranks_poll(enum hr__rank_tag tag, int *rank) {
  (void)tag;
  (void)rank;
  return false;
}

static _Noreturn void ranks_abort(enum hr_status status) {
  (void)status;
  abort();
}

#endif

enum hr_status hr_ranks_join(struct hr_ranks *ranks, uint64_t command, struct hr_error *error) {
  *ranks = (struct hr_ranks){0};
  return job_size() <= 1 ? HR_OK : initialize(ranks, command, error);
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

/* Bounds of the time between two polls of rank 0, in microseconds. */
enum { MIN_PAUSE_US = 100, MAX_PAUSE_US = 1000 };
/* Open requests of each rank other than 0. */
enum { REQUESTS = 2 };

/* ---- Batches: what a rank sends --------------------------------------------------------------------- */

/* The request of a rank for more items. `size` bytes with the results follow it in messages of their own. */
struct rank_report {
  uint64_t n_threads, n_results, size;
  bool computed;         /* a share was computed; false: a request at the start of a batch */
  double item_s;         /* seconds per item and thread; 0: unknown */
  uint64_t failed;       /* the failed item with the lowest number; UINT64_MAX: none */
  struct hr_error error; /* of that item */
};

/* The items first .. first + count - 1. */
struct item_share {
  uint64_t first, count;
};

/* The failed item with the lowest number. A failure that belongs to no item counts as an item after all others. */
struct item_failure {
  uint64_t item; /* UINT64_MAX: none */
  struct hr_error error;
};

static void failure_add(struct item_failure *failure, uint64_t item, enum hr_status status,
                        const struct hr_error *error) {
  if (item >= failure->item) return;
  failure->item = item;
  failure->error = *error;
  failure->error.status = status;
}

static void failure_no_memory(struct item_failure *failure, const struct hr__run_batch *batch) {
  struct hr_error error = {0};
  hr_fail(&error, HR_NO_MEMORY, "out of memory for the results of a rank");
  failure_add(failure, batch->count, HR_NO_MEMORY, &error);
}

/* ---- Batches: ranks other than 0 -------------------------------------------------------------------- */

struct follower {
  const struct hr__run_batch *batch;
  uint32_t n_threads;
  struct item_share share;
  bool *computed; /* [batch->count] the item has a result that was not sent yet */
  double item_s;
  struct item_failure failure;
  pthread_mutex_t lock;
};

static enum hr_status run_of_share(void *self, size_t task, struct hr_error *error) {
  struct follower *follower = self;
  size_t item = (size_t)follower->share.first + task;
  enum hr_status status = follower->batch->run(follower->batch->self, item, error);
  pthread_mutex_lock(&follower->lock);
  if (status == HR_OK)
    follower->computed[item] = true;
  else
    failure_add(&follower->failure, item, status, error);
  pthread_mutex_unlock(&follower->lock);
  return status;
}

static void compute_share(struct follower *follower) {
  const struct hr__tasks tasks = {.self = follower, .run = run_of_share, .count = (size_t)follower->share.count};
  struct hr_error error = {0};
  double begin_s = hr__clock_s();
  enum hr_status status = hr__pool_run(&tasks, follower->n_threads, &error);
  follower->item_s = (hr__clock_s() - begin_s) * follower->n_threads / (double)follower->share.count;
  if (status != HR_OK) failure_add(&follower->failure, follower->batch->count, status, &error);
}

static void pack_share(struct follower *follower, struct hr__parcel *parcel, struct rank_report *report) {
  const struct hr__run_batch *batch = follower->batch;
  for (uint64_t item = follower->share.first; item < follower->share.first + follower->share.count; item++) {
    if (!follower->computed[item]) continue;
    hr__parcel_bytes(parcel, &item, sizeof item);
    batch->exchange(batch->self, (size_t)item, parcel);
    report->n_results++;
  }
  if (!parcel->failed) return;
  failure_no_memory(&follower->failure, batch);
  report->n_results = 0;
}

/* Sends the results of the current share, and requests another one. */
static void send_report(struct follower *follower) {
  struct hr__parcel parcel = {0};
  struct rank_report report = {.n_threads = follower->n_threads, .item_s = follower->item_s};
  if (follower->computed) pack_share(follower, &parcel, &report);
  report.size = report.n_results ? parcel.used : 0;
  report.failed = follower->failure.item;
  report.error = follower->failure.error;
  report.computed = follower->share.count > 0;
  ranks_send(FIRST, HR__TAG_REPORT, &report, sizeof report);
  ranks_send(FIRST, HR__TAG_RESULTS, parcel.bytes, (size_t)report.size);
  hr__parcel_finish(&parcel);
}

/* Computes items until rank 0 has no more. Rank 0 answers each report with one share. */
static void follow(const struct hr__run_batch *batch, uint32_t n_threads) {
  struct follower follower = {.batch = batch, .n_threads = n_threads, .failure = {.item = UINT64_MAX}};
  follower.computed = calloc(batch->count + 1, sizeof *follower.computed);
  pthread_mutex_init(&follower.lock, NULL);
  if (!follower.computed) failure_no_memory(&follower.failure, batch);
  for (int i = 0; i < REQUESTS; i++) send_report(&follower);
  for (int open = REQUESTS; open > 0;) {
    ranks_receive(FIRST, HR__TAG_ITEMS, &follower.share, sizeof follower.share);
    open--;
    if (follower.share.count == 0) continue;
    compute_share(&follower);
    send_report(&follower);
    open++;
  }
  pthread_mutex_destroy(&follower.lock);
  free(follower.computed);
}

/* ---- Batches: rank 0 -------------------------------------------------------------------------------- */

/* What rank 0 knows about another rank. */
struct other_rank {
  uint32_t asks, shares; /* requests without an answer, and shares without results */
  size_t n_threads;
  double item_s;
};

struct leader {
  const struct hr__run_batch *batch;
  uint32_t n_threads;
  int n_ranks;
  struct other_rank *others; /* [n_ranks] */
  int n_open;                /* requests, also future ones, that must still be answered with the end of the batch */
  long pause_us;             /* time between two polls */
  pthread_mutex_t lock;      /* protects what follows, and the calls of batch->store */
  size_t next;               /* the next item for any rank */
  struct item_share own;     /* items that the threads of this rank have not begun */
  bool computing;            /* the threads of this rank have not ended yet */
  struct item_failure failure;
};

/* Chooses the next items for a rank with `threads` threads, which needs `item_s` seconds for each; 0: unknown. The rank
   gets one item for each thread, or more if items are so short that the exchange of messages would take a considerable
   share of the time. It gets the rest of a group if many groups are left. Near the end it gets fewer items, to balance
   the load. */
static struct item_share next_share(struct leader *leader, size_t threads, double item_s) {
  const double share_s = 0.02;
  size_t left = leader->failure.item == UINT64_MAX ? leader->batch->count - leader->next : 0;
  size_t ranks = ((size_t)leader->n_open + REQUESTS - 1) / REQUESTS + 1, group = leader->batch->group;
  double rounds = item_s > 0 ? share_s / item_s : 1;
  size_t wanted = rounds > 1 ? threads * (size_t)(rounds < 1e6 ? rounds : 1e6) : threads;
  size_t fair = (left + ranks - 1) / ranks, half = (fair + 1) / 2, most = half > threads ? half : threads;
  size_t count = wanted < most ? wanted : most;
  if (count > fair) count = fair;
  if (group > 1 && left >= ranks * group) count = group - leader->next % group;
  struct item_share share = {leader->next, count};
  leader->next += count;
  return share;
}

/* Returns the next item for a thread of this rank; the number of items if none is left. After a failure, only items
   with lower numbers are begun. */
static size_t take_own(struct leader *leader) {
  pthread_mutex_lock(&leader->lock);
  if (leader->own.count == 0) leader->own = next_share(leader, 1, 0);
  size_t item = leader->batch->count;
  if (leader->own.count && leader->own.first < leader->failure.item) {
    item = (size_t)leader->own.first++;
    leader->own.count--;
  }
  pthread_mutex_unlock(&leader->lock);
  return item;
}

/* Stores a result, or records the failure of an item. */
static void end_item(struct leader *leader, size_t item, enum hr_status status, struct hr_error *error) {
  const struct hr__run_batch *batch = leader->batch;
  pthread_mutex_lock(&leader->lock);
  if (status == HR_OK && batch->store) status = batch->store(batch->self, item, error);
  if (status != HR_OK) failure_add(&leader->failure, item, status, error);
  pthread_mutex_unlock(&leader->lock);
}

static enum hr_status compute_items(void *self, size_t thread, struct hr_error *ignored) {
  struct leader *leader = self;
  const struct hr__run_batch *batch = leader->batch;
  (void)thread;
  (void)ignored;
  for (size_t item = take_own(leader); item < batch->count; item = take_own(leader)) {
    struct hr_error error = {0};
    enum hr_status status = batch->run(batch->self, item, &error);
    end_item(leader, item, status, &error);
  }
  return HR_OK;
}

/* The threads of this rank compute items until no item is left. */
static void *compute(void *self) {
  struct leader *leader = self;
  const struct hr__tasks tasks = {.self = leader, .run = compute_items, .count = leader->n_threads};
  struct hr_error error = {0};
  if (hr__pool_run(&tasks, leader->n_threads, &error) != HR_OK) compute_items(leader, 0, &error);
  pthread_mutex_lock(&leader->lock);
  leader->computing = false;
  pthread_mutex_unlock(&leader->lock);
  return NULL;
}

/* Reads the results that follow a report. */
static void receive_results(struct leader *leader, int rank, const struct rank_report *report) {
  const struct hr__run_batch *batch = leader->batch;
  struct hr__parcel parcel = {.bytes = malloc((size_t)report->size + 1), .size = (size_t)report->size, .reading = true};
  if (!parcel.bytes) { /* without an answer the rank would wait forever, so the job is aborted */
    ranks_abort(HR_NO_MEMORY);
  }
  ranks_receive(rank, HR__TAG_RESULTS, parcel.bytes, parcel.size);
  for (uint64_t i = 0; i < report->n_results; i++) {
    struct hr_error error = {0};
    uint64_t item = 0;
    hr__parcel_bytes(&parcel, &item, sizeof item);
    batch->exchange(batch->self, (size_t)item, &parcel);
    enum hr_status status =
        parcel.failed ? hr_fail(&error, HR_NO_MEMORY, "out of memory for the results of a rank") : HR_OK;
    end_item(leader, (size_t)item, status, &error);
  }
  hr__parcel_finish(&parcel);
}

/* Chooses the time between two polls: the longer the items are, the less it matters that a rank waits for its answer.
 */
static long pause_for(double item_s) {
  const double share_of_item = 0.005, us = 1e6;
  double wanted_us = item_s * share_of_item * us;
  return wanted_us < MIN_PAUSE_US ? MIN_PAUSE_US : wanted_us > MAX_PAUSE_US ? MAX_PAUSE_US : (long)wanted_us;
}

/* Answers the requests of a rank. Near the end of the batch, a rank that still computes gets no items, because another
   rank may begin them sooner. */
static void answer(struct leader *leader, int rank) {
  struct other_rank *other = &leader->others[rank];
  while (other->asks > 0) {
    struct item_share share = {0};
    pthread_mutex_lock(&leader->lock);
    size_t left = leader->failure.item == UINT64_MAX ? leader->batch->count - leader->next : 0;
    bool later = other->shares > 0 && left > 0 && left <= (size_t)leader->n_ranks * leader->n_threads;
    if (!later) share = next_share(leader, other->n_threads, other->item_s);
    pthread_mutex_unlock(&leader->lock);
    if (later) return;
    ranks_send(rank, HR__TAG_ITEMS, &share, sizeof share);
    other->asks--;
    other->shares += share.count > 0;
    leader->n_open -= share.count == 0;
  }
}

static void receive_report(struct leader *leader, int rank) {
  struct other_rank *other = &leader->others[rank];
  struct rank_report report;
  ranks_receive(rank, HR__TAG_REPORT, &report, sizeof report);
  receive_results(leader, rank, &report);
  pthread_mutex_lock(&leader->lock);
  failure_add(&leader->failure, report.failed, report.error.status, &report.error);
  pthread_mutex_unlock(&leader->lock);
  if (report.item_s > 0) leader->pause_us = pause_for(report.item_s);
  other->asks++;
  other->shares -= report.computed;
  other->n_threads = (size_t)report.n_threads;
  other->item_s = report.item_s;
}

static bool is_computing(struct leader *leader) {
  pthread_mutex_lock(&leader->lock);
  bool computing = leader->computing;
  pthread_mutex_unlock(&leader->lock);
  return computing;
}

static struct item_failure lead(const struct hr__run_batch *batch, const struct hr_ranks *ranks, uint32_t n_threads) {
  struct leader leader = {.batch = batch,
                          .n_threads = n_threads,
                          .n_ranks = ranks->size,
                          .others = calloc((size_t)ranks->size, sizeof *leader.others),
                          .n_open = REQUESTS * (ranks->size - 1),
                          .pause_us = MIN_PAUSE_US,
                          .next = batch->n_own,
                          .own = {0, batch->n_own},
                          .computing = true,
                          .failure = {.item = UINT64_MAX}};
  pthread_t thread;
  if (!leader.others) ranks_abort(HR_NO_MEMORY);
  pthread_mutex_init(&leader.lock, NULL);
  bool threaded = pthread_create(&thread, NULL, compute, &leader) == 0;
  if (!threaded) compute(&leader); /* the other ranks wait meanwhile, but all items get computed */
  while (leader.n_open > 0 || is_computing(&leader)) {
    int from = 0;
    bool available = ranks_poll(HR__TAG_REPORT, &from);
    if (available) receive_report(&leader, from);
    for (int rank = 1; rank < leader.n_ranks; rank++) answer(&leader, rank);
    if (!available) hr__pause_us(leader.pause_us);
  }
  if (threaded) pthread_join(thread, NULL);
  pthread_mutex_destroy(&leader.lock);
  free(leader.others);
  return leader.failure;
}

/* ---- Batches: all ranks ----------------------------------------------------------------------------- */

/* The end of a batch, as rank 0 announces it. `size` bytes with all results follow if the batch is shared. */
struct batch_outcome {
  uint64_t status, size;
};

/* Sends all results of rank 0 to the other ranks. `first`: this is rank 0. Returns false when out of memory. */
static bool share_results(const struct hr__run_batch *batch, bool first, struct hr__parcel *parcel) {
  if (!first) {
    parcel->reading = true;
    parcel->bytes = malloc(parcel->size + 1);
    if (!parcel->bytes) ranks_abort(HR_NO_MEMORY);
  }
  hr__ranks_share(parcel->bytes, first ? parcel->used : parcel->size);
  for (size_t item = 0; !first && item < batch->count; item++) batch->exchange(batch->self, item, parcel);
  return !parcel->failed;
}

static struct batch_outcome finish_leading(const struct hr__run_batch *batch, struct item_failure *failure,
                                           struct hr__parcel *parcel) {
  for (size_t item = 0; batch->shared && failure->item == UINT64_MAX && item < batch->count; item++)
    batch->exchange(batch->self, item, parcel);
  if (parcel->failed) failure_no_memory(failure, batch);
  return (struct batch_outcome){.status = failure->item == UINT64_MAX ? HR_OK : failure->error.status,
                                .size = parcel->used};
}

static enum hr_status run_on_ranks(const struct hr__run_batch *batch, struct hr_ranks *ranks, uint32_t n_threads,
                                   struct hr_error *error) {
  bool first = ranks->rank == 0;
  struct item_failure failure = {.item = UINT64_MAX};
  struct hr__parcel parcel = {0};
  struct batch_outcome outcome = {0};
  enum hr_status status = hr_ranks_same(ranks, batch->count, "numbers of runs to make", error);
  if (status != HR_OK) return status;
  if (first) {
    failure = lead(batch, ranks, n_threads);
    outcome = finish_leading(batch, &failure, &parcel);
  } else {
    follow(batch, n_threads);
  }
  hr__ranks_share(&outcome, sizeof outcome);
  status = (enum hr_status)outcome.status;
  if (status == HR_OK && batch->shared) {
    if (!first) parcel.size = (size_t)outcome.size;
    if (!share_results(batch, first, &parcel)) status = hr_fail(error, HR_NO_MEMORY, "out of memory for the results");
  } else if (status != HR_OK) {
    ranks->failed = true;
    hr_fail(error, status, "%s", first ? failure.error.text : "");
  }
  hr__parcel_finish(&parcel);
  return status;
}

/* ---- Batches: one or several ranks ------------------------------------------------------------------ */

struct batch_threads {
  const struct hr__run_batch *batch;
  pthread_mutex_t lock; /* held while a result is stored */
};

static enum hr_status run_item(void *self, size_t item, struct hr_error *error) {
  struct batch_threads *threads = self;
  const struct hr__run_batch *batch = threads->batch;
  enum hr_status status = batch->run(batch->self, item, error);
  if (status != HR_OK || !batch->store) return status;
  pthread_mutex_lock(&threads->lock);
  status = batch->store(batch->self, item, error);
  pthread_mutex_unlock(&threads->lock);
  return status;
}

enum hr_status hr__batch_run(const struct hr__run_batch *batch, struct hr_ranks *ranks, uint32_t n_threads,
                             struct hr_error *error) {
  /* Every rank computes a single shared item itself, because otherwise all other ranks would only wait for it. */
  bool alone = !hr__ranks_several(ranks) || (batch->shared && batch->count <= 1);
  if (!alone) return run_on_ranks(batch, ranks, n_threads, error);
  struct batch_threads threads = {.batch = batch};
  const struct hr__tasks tasks = {.self = &threads, .run = run_item, .count = batch->count};
  pthread_mutex_init(&threads.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, n_threads, error);
  pthread_mutex_destroy(&threads.lock);
  return status;
}
