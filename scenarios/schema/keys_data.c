/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of `data`: storage systems, data sets, links, caches, and what jobs read. Bytes are decimal. */

#include "headroom/trace.h"
#include "headroom/unstable/data.h"
#include "scenarios/schema/keys.h"

#define MAX_GB 1e9 /* an exabyte */
#define MIN_GB 1e-9
#define MAX_GB_S 1e6 /* HR__MAX_BYTES_S */
#define GB(low) REAL(low, MAX_GB), .unit = "GB"
#define GB_S REAL(MIN_GB, MAX_GB_S), .unit = "GB/s"
#define AS_GB(type, member) SCALED(1e9, type, member)

#define STORAGE struct hr_data_storage
static const struct hr__key storage_keys[] = {
    {"name", NAME, MUST, AT(TEXT, STORAGE, name), HELP("Name, different from those of other storage systems.")},
    {"location", NAME, MUST, AT(TEXT, STORAGE, location),
     HELP("Name of a pool, a cluster or a region. Pools in this place read from it without a link.")},
    {"gb_s", GB_S, MUST, AS_GB(STORAGE, bytes_s),
     HELP("Bandwidth of all clients together, in units of 10^9 bytes a second. Shared max-min fair.")},
    {"client_gb_s", GB_S, OTHERWISE("no limit"), AS_GB(STORAGE, client_bytes_s), HELP("Bandwidth of one node.")},
    {"usd_per_gb_month", USD, DEFAULT("0"), AS_UUSD(STORAGE, uusd_per_gb_month),
     HELP("Price of stored data sets, per 10^9 bytes and month of 730 hours.")},
    {"checkpoints", BOOLEAN, DEFAULT("true"), AT(INTEGER, STORAGE, checkpoints),
     HELP("Jobs in its location write checkpoints to it, unless their pool has 'storage_gb_s'. Needs the size of a "
          "checkpoint.")},
    END};

static const struct hr__key tier_keys[] = {
    {"above_gb", GB(MIN_GB), MUST, AS_GB(struct hr_data_tier, above_bytes),
     HELP("Amount in a month above which this price holds.")},
    {"usd_per_gb", USD, MUST, AS_UUSD(struct hr_data_tier, uusd_per_gb), HELP("Price per 10^9 bytes.")},
    END};

#define LINK struct hr_data_link
static const struct hr__key link_keys[] = {
    {"from", NAME, MUST, AT(TEXT, LINK, from), HELP("Location of storage systems.")},
    {"to", NAME, MUST, AT(TEXT, LINK, to), HELP("Location of pools, or of storage systems that get copies.")},
    {"gb_s", GB_S, OTHERWISE("no limit, if 'client_gb_s' is known"), AS_GB(LINK, bytes_s),
     HELP("Bandwidth, shared max-min fair. 1 GB/s is 8 Gbit/s.")},
    {"client_gb_s", GB_S, OTHERWISE("the catalogue's, for two regions that it has; else no limit"),
     AS_GB(LINK, client_bytes_s), HELP("Bandwidth of one node.")},
    {"latency_s", SECONDS, OTHERWISE("the catalogue's; else 0"), AS_US(LINK, latency_us),
     HELP("Time until the first byte of a copy arrives.")},
    {"usd_per_gb", USD, OTHERWISE("the catalogue's; else 0"), AS_UUSD(LINK, uusd_per_gb),
     HELP("Price of transferred data, per 10^9 bytes.")},
    {"tiers", LIST(1, 100, EACH(OBJECT(tier_keys))), OTHERWISE("one price"), AS_ARRAY(LINK, tiers, n_tiers),
     HELP("Other prices for the transfers of a month of 730 hours beyond an amount, in rising order.")},
    END};

static const char *const copy_times[] = {"start", "on-demand", NULL};

#define SET struct hr_data_set
static const struct hr__key set_keys[] = {
    {"name", NAME, MUST, AT(TEXT, SET, name), HELP("Name of the data set or model artifact.")},
    {"gb", GB(0), MUST, AS_GB(SET, bytes), HELP("Size, in units of 10^9 bytes.")},
    {"storage", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), MUST,
     AS_ARRAY(SET, storage_names, n_storage), HELP("Storage systems that have it.")},
    {"copies", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT)), OTHERWISE("none"),
     AS_ARRAY(SET, copy_names, n_copies), HELP("Storage systems to which it is copied during the run.")},
    {"copy", CHOICE(copy_times), DEFAULT("start"), AT(INTEGER, SET, when),
     HELP(
         "When it is copied. start: at the begin of the run. on-demand: when the first job that reads it starts in the "
         "location of the copy; until the copy is complete, jobs read from farther away.")},
    END};

static const char *const cachings[] = {"uniform", "lru", NULL};

#define CACHE struct hr_data_cache
static const struct hr__key cache_keys[] = {
    {"location", NAME, MUST, AT(TEXT, CACHE, location),
     HELP("Pool, cluster or region of the nodes that have the cache.")},
    {"gb_per_node", GB(0), MUST, AS_GB(CACHE, node_bytes),
     HELP("Size on each node. The nodes of a job divide its data set among them.")},
    {"kind", CHOICE(cachings), DEFAULT("uniform"), AT(INTEGER, CACHE, caching),
     HELP("Share of hits after the first epoch if a part x of the data set fits. uniform: x, as nothing is evicted. "
          "lru: "
          "x "
          "+ (1 - x) ln(1 - x), as each epoch has a new random order.")},
    {"prefetch", BOOLEAN, DEFAULT("false"), AT(INTEGER, CACHE, prefetch),
     HELP("A job fills the cache before it works. Its first epoch then has the hits of later ones.")},
    END};

#define READ struct hr_data_read
static const struct hr__key read_keys[] = {
    {"set", NAME, OTHERWISE("the job's 'data_set' in the trace"), AT(TEXT, READ, set_name),
     HELP("Name of the data set. Jobs with another 'data_set' in the trace do not match.")},
    {"class", CHOICE(hr__class_keys + 1), OTHERWISE("all"), .first_choice = 1, AT(INTEGER, READ, class_),
     HELP("Only jobs of this class.")},
    {"tenant", NAME, OTHERWISE("all"), AT(TEXT, READ, tenant), HELP("Only jobs of this tenant.")},
    {"model", NAME, OTHERWISE("all"), AT(TEXT, READ, model), HELP("Only jobs of this model.")},
    {"epochs", REAL(MIN_SCALE, 1e9), OTHERWISE("from 'gb_s_per_gpu'"), AT(DOUBLE, READ, epochs),
     HELP("How often a job reads the data set. Either this or 'gb_s_per_gpu'.")},
    {"gb_per_epoch", GB(MIN_GB), OTHERWISE("the size of the data set"), AS_GB(READ, epoch_bytes),
     HELP("What a job reads in an epoch.")},
    {"gb_s_per_gpu", GB_S, OTHERWISE("from 'epochs'"), AS_GB(READ, gpu_bytes_s),
     HELP("What a job reads at full speed, for each GPU that it requests.")},
    END};

#define DATA struct hr_data_spec
const struct hr__key hr__data_keys[] = {
    {"storage", LIST(1, MAX_MEMBERS, EACH(OBJECT(storage_keys))), MUST, AS_ARRAY(DATA, storage, n_storage),
     HELP("Storage systems.")},
    {"sets", LIST(0, MAX_MEMBERS, EACH(OBJECT(set_keys))), AS_ARRAY(DATA, sets, n_sets),
     HELP("Data sets and model artifacts.")},
    {"links", LIST(0, MAX_MEMBERS, EACH(OBJECT(link_keys))), AS_ARRAY(DATA, links, n_links),
     HELP("Links between locations, in one direction each.")},
    {"caches", LIST(0, MAX_MEMBERS, EACH(OBJECT(cache_keys))), AS_ARRAY(DATA, caches, n_caches),
     HELP("Caches of nodes. If several match a pool, the first one counts.")},
    {"reads", LIST(0, MAX_MEMBERS, EACH(OBJECT(read_keys))), AS_ARRAY(DATA, reads, n_reads),
     HELP("What jobs read. If several match a job, the first one counts; others read nothing.")},
    END};
