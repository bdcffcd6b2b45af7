/* ps.h - the parameter server: the tables of a network, each sharded over the ranks whose stages
 * read it, or all over dedicated servers (comm/team.h), which train nothing. This is the only door
 * to them; floors above include no other header of ps, but for ps/cyclic.h (which owner has which
 * row), ps/snapshot.h (rows as a checkpoint reads them), and for workers that are not synchronous
 * ps/dense.h (dense weights on servers), ps/clock.h (who is served when), ps/versions.h.
 *
 * A step is begin; for each micro-batch, pull before a forward and, where one learns, gradients
 * into the lookup in its backward; then push_begin, push_end, norm2 where gradients are clipped,
 * apply. The rows that a step needs were requested ahead (hps_ps_prefetch). Without a push rows
 * stay as they are, and the next step may begin at once.
 *
 * All ranks that work call the same verbs in the same order. */
#ifndef HPS_PS_PS_H
#define HPS_PS_PS_H

#include "comm/team.h"
#include "data/data.h"
#include "hw/lookup.h"
#include "net/net.h"
#include "net/opt.h"
#include "ps/cyclic.h"
#include "ps/storage_opt.h"
#include "ps/tier_count.h"
#include "ps/versions.h"

struct hps_ps_opt {
    const struct hps_train_opt *train;  /* borrowed */
    const struct hps_storage_opt *storage;
    uint64_t seed;                      /* of the rows' initial values */
    int worker;                         /* that reads the tables; HPS_TEAM_ALL_WORKERS */
    struct hps_ps *tables;              /* on a server, whose tables these are, not new ones;
                                           borrowed, or NULL                          */
};

struct hps_ps;
/* The tables that stages of this rank read, or that it serves, with rows initialised; none on ranks
 * of other workers than opt's. Collective over team->world; errors (a shard that is too large, keys
 * of layers that cannot be met, messages to be encoded that travel by NCCL) are shared. Net, team
 * and device are borrowed. */
enum hps_status hps_ps_new(struct hps_ps **ps, const struct hps_net *net,
                           const struct hps_plan *plan, const struct hps_team *team,
                           struct hps_dev *dev, const struct hps_ps_opt *opt);
void hps_ps_free(struct hps_ps *ps);    /* Collective over team->world; NULL is fine. */

/* ---- requests, a step ahead ---- */

/* The requests of one sequence of steps of M micro-batches: that of a training, or of an evaluation
 * beside it. `learns`: a training; there is one at a time. Collective over the ranks that work. */
struct hps_ps_requests;
enum hps_status hps_ps_requests_new(struct hps_ps_requests **requests, struct hps_ps *ps, int M,
                                    bool learns);
/* Steps that were prefetched and not begun are waited for: all ranks prefetched as many.
 * Collective over the ranks that work; NULL is fine. */
void hps_ps_requests_free(struct hps_ps_requests *requests);
/* The next step of the sequence: find the distinct rows of its batch (M; NULL: this rank reads
 * nothing, or could not) and ask their owners. At most two steps are prefetched and not begun. The
 * batch is not needed afterwards. Collective; does not wait for other ranks. */
void hps_ps_prefetch(struct hps_ps_requests *requests, const struct hps_batch *batch);
/* Let requests make progress; with `time`, what has come is put in order, which takes as long as it
 * takes. Never blocks. */
void hps_ps_prefetch_poll(struct hps_ps_requests *requests, bool time);
/* Have the requests of the oldest step that was prefetched and not begun come? Then begin does not
 * wait. Never blocks. */
bool hps_ps_requests_arrived(struct hps_ps_requests *requests);
double hps_ps_requests_bytes(const struct hps_ps_requests *requests);    /* sent so far, by me */
/* Add what of it was encoded. */
void hps_ps_requests_count(const struct hps_ps_requests *requests, struct hps_message_count *ids);

/* ---- a step ---- */

/* Take the oldest step that was prefetched and not begun, wait for its requests, and start to send
 * the rows that others asked of me. Rows are as the last apply left them. Collective. */
void hps_ps_begin(struct hps_ps *ps, struct hps_ps_requests *requests);
/* The rows of layer l and micro-batch m have come: call it for m = 0..M-1 in order, for each layer
 * of my stages that reads a table (NULL for the others). Borrowed until the next begin. */
const struct hps_lookup *hps_ps_pull(struct hps_ps *ps, int m, int l);
/* On a server of asynchronous workers, in whose memory not all rows are: are those of the step that
 * begin takes next there, or those whose gradients apply takes next, so that it does not wait for
 * them? Those that are not begin to be read with `may_begin`, while those of other workers may
 * leave; one worker at a time may, until its rows are there: so none waits for memory that another
 * one needs (ps/paging.h). Never blocks. Local. */
bool hps_ps_bring(struct hps_ps_requests *requests, bool may_begin);
bool hps_ps_bring_again(struct hps_ps *ps, bool may_begin);
/* In place of the pulls of a rank that reads nothing: my rows have left for the others. Waits until
 * these have begun the step. */
void hps_ps_serve(struct hps_ps *ps);
/* After the last backward: gradients travel to the owners and are summed there in the order of
 * ranks, so that bits do not depend on arrival. Begin does not wait for others; end does. */
void hps_ps_push_begin(struct hps_ps *ps);
void hps_ps_push_end(struct hps_ps *ps);
/* Sum of squares of the gradients of my rows, between push_end and apply. Local. */
double hps_ps_norm2(struct hps_ps *ps);
/* The rule of an update (hps_opt_rule), for each table that `stage` is the first of my stages to
 * read (on a server 0, for all): on my rows that this step read. Gradients are scaled first.
 * Local. */
void hps_ps_apply(struct hps_ps *ps, int stage, struct hps_update update, float scale);
/* On a server with train.aggregate above 1, in place of apply: hold the gradients, times scale; and
 * the rule with the sum of all that were held, whosever tables' they are, which waits for those of
 * their rows that have left memory meanwhile. Local. */
void hps_ps_hold(struct hps_ps *ps, float scale);
void hps_ps_apply_held(struct hps_ps *ps, struct hps_update update);
/* On a server, of a parameter server of one worker: how stale the gradients of rows were that it
 * applied. Local. */
struct hps_staleness hps_ps_staleness(const struct hps_ps *ps);
/* On a server, of the step under way: the rows that it sends, and the distinct ones among them, of
 * which it applies gradients. Local. */
struct hps_ps_rows {
    long long pulled, pushed;
};
struct hps_ps_rows hps_ps_rows(const struct hps_ps *ps);
/* Has all come that serve or push_end would wait for? Never blocks. */
bool hps_ps_arrived(struct hps_ps *ps);
/* At a cut of asynchronous workers: all gradients that caches of rows hold travel to their owners,
 * as in a step that reads nothing, and the caches are empty. Apply it next on a server. A step that
 * was prefetched and not begun is dropped, since it would use the caches: then true, and it is to
 * be prefetched again. Waits. Collective over the ranks of a channel. */
bool hps_ps_flush(struct hps_ps *ps, struct hps_ps_requests *requests);
/* Let rows and gradients make progress. Never blocks. */
void hps_ps_poll(struct hps_ps *ps);
double hps_ps_bytes(const struct hps_ps *ps);   /* sent by this rank so far, less requests */
/* Add what of it was encoded to counts by kind. */
void hps_ps_count(const struct hps_ps *ps, struct hps_message_count count[HPS_MESSAGES]);

/* Of my tables of which memory has some rows, what moved so far: at the first table of each request
 * in `count` (ntable of the net), which is zero before. Local. */
void hps_ps_tiers(const struct hps_ps *ps, struct hps_tier_count *count);
/* What has gone wrong with them: then rows are wrong, and the step is not to count. Local. */
enum hps_status hps_ps_status(const struct hps_ps *ps);
/* My tables that are kept in fewer bytes: as they are, as fp32 rows, and the error of roundings. */
struct hps_message_count hps_ps_encoded(const struct hps_ps *ps);

/* Of the cache of a rank that has one (train.cache_clocks): rows that its batches read so far, each
 * once a clock; those of them that came from the cache; gradients that were sent in a clock of
 * their own; bytes that were not sent, less those of the latter. Local. */
struct hps_ps_cached {
    long long rows, hits, returned;
    double bytes;
};
struct hps_ps_cached hps_ps_cached(const struct hps_ps *ps);
/* Add the numbers of one cache to those of others. */
void hps_ps_cached_add(struct hps_ps_cached *to, const struct hps_ps_cached *more);

/* ---- checkpoints ---- */

/* The shard of table t (of the net) that this rank owns; false: it owns none. And its owners, by
 * part; borrowed. */
bool hps_ps_shard(const struct hps_ps *ps, int t, struct hps_shard *shard);
MPI_Comm hps_ps_owners(const struct hps_ps *ps, int t);
/* Of a server, all servers in the order of the team; borrowed. */
MPI_Comm hps_ps_servers(const struct hps_ps *ps);
/* Its rows as they are now, for another thread to read (ps/snapshot.h). At most that share of them
 * is held twice. */
struct hps_snapshot *hps_ps_save(struct hps_ps *ps, int t, double share);
/* n of its rows, from the local number `first` on, become x (n, stride), in host memory. Local. */
void hps_ps_load(struct hps_ps *ps, int t, long long first, long long n, const float *x);

#endif
