/* save.c - rank 0 creates the file and its empty datasets with HDF5, all ranks write their bytes
 * in threads, rank 0 adds the checksums with HDF5, and a thread renames the file. The threads
 * use neither MPI nor HDF5: the step agreement tells the ranks when all threads are done. */
#include "train/save.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/part_file.h"
#include "base/say.h"
#include "base/thread.h"
#include "base/wait.h"
#include "base/world.h"
#include "life/watch.h"
#include "train/ckpt_write.h"

struct hps_save {
    const struct hps_ckpt_opt *opt;
    const struct hps_rundir *dir;
    long long step;
    bool only_this, sealed;
    struct hps_part_file file;
    struct hps_ckpt_write write; /* what this rank writes                     */
    struct hps_background *task; /* writes, then renames; NULL: nothing to do */
    double began_s, waited_s, copying_s;
};

static enum hps_status put_texts(struct hps_h5 *h, const struct hps_cursor *c,
                                 const struct hps_ckpt_text *t)
{
    enum hps_status st = hps_h5_put_text(h, "/", "format", "heterps-checkpoint-1");
    if (!st) st = hps_h5_put_text(h, "/", "shape", t->shape);
    if (!st) st = hps_h5_put_text(h, "/", "course", t->course);
    if (!st) st = hps_h5_put_text(h, "/", "planning", t->planning);
    if (!st) st = hps_h5_put_text(h, "/", "deck", t->deck);
    if (!st) st = hps_h5_put_text(h, "/", "plan", t->plan);
    if (!st) st = hps_h5_put_text(h, "/", "pool", t->pool);
    if (!st) st = hps_h5_put_text(h, "/", "precision", hps_dev_precision_word(c->precision));
    if (!st) st = hps_h5_put_text(h, "/", "revision", hps_build.revision);
    if (!st) st = hps_h5_put_long(h, "/", "step", c->step);
    if (!st) st = hps_h5_put_long(h, "/", "examples", c->examples);
    if (!st) st = hps_h5_put_long(h, "/", "updates", c->updates);
    if (!st) st = hps_h5_put_long(h, "/", "workers", c->workers);
    if (!st) st = hps_h5_put_long(h, "/", "next", c->next);
    if (!st) st = hps_h5_put_long(h, "/", "ndone", c->ndone);
    if (!st) st = hps_h5_put_real(h, "/", "seconds", 1, &c->seconds);
    if (!st) st = hps_h5_put_real(h, "/", "usd", 1, &c->usd);
    if (!st) st = hps_h5_put_real(h, "/", "usd_idle", 1, &c->usd_idle);
    if (!st) st = hps_h5_put_real(h, "/", "train_loss", 1, &c->train_loss);
    return st;
}

static enum hps_status put_longs(struct hps_h5 *h, const char *name, long long n,
                                 const long long *x)
{
    enum hps_status st = hps_h5_make(h, name, H5T_NATIVE_LLONG, n, 0, 0);

    return st ? st : hps_h5_put(h, name, H5T_NATIVE_LLONG, 0, n, 0, x);
}

/* The batches that were trained before their turn, and the workers' clocks. */
static enum hps_status put_done(struct hps_h5 *h, const struct hps_cursor *c)
{
    enum hps_status st = HPS_OK;

    if (c->ndone > 0) st = put_longs(h, HPS_CKPT_DONE, c->ndone, c->done);
    if (!st && c->number) st = put_longs(h, HPS_CKPT_NUMBER, c->workers, c->number);
    return st;
}

/* Create the file, without the data of the ranks. Rank 0. */
static enum hps_status make_file(struct hps_save *s, const struct hps_save_request *o)
{
    struct hps_h5 h;
    enum hps_status st = hps_h5_create(&h, s->file.part, MPI_COMM_NULL);

    if (st) return st;
    st = put_texts(&h, o->cursor, o->text);
    if (!st) st = put_done(&h, o->cursor);
    if (!st) st = hps_ckpt_state_make(&h, s->write.n, s->write.item);
    if (!st) return hps_h5_leave(&h);
    hps_h5_drop(&h);
    return st;
}

/* Broadcast the offsets. */
static void bcast_offsets(struct hps_save *s, MPI_Comm world)
{
    uint64_t *at = hps_mem_new((size_t)s->write.n, sizeof *at);

    for (int i = 0; i < s->write.n; i++)
        at[i] = s->write.item[i].offset;
    HPS_MPI(MPI_Bcast(at, s->write.n, MPI_UINT64_T, 0, world));
    for (int i = 0; i < s->write.n; i++)
        s->write.item[i].offset = at[i];
    hps_mem_free(at);
}

static bool have_part(const struct hps_save *s)
{
    for (int i = 0; i < s->write.n; i++)
        if (s->write.item[i].copy || s->write.item[i].snapshot) return true;
    return false;
}

enum hps_status hps_save_begin(struct hps_save **save, const struct hps_save_request *o,
                               MPI_Comm world)
{
    double t0 = hps_now_s();
    double bytes = hps_ckpt_bytes(o->step->net, o->step->train) +
                   hps_step_residual_bytes(o->step);
    enum hps_status st = hps_ckpt_ready(o->opt, o->dir, bytes, world);

    *save = NULL;
    if (st) return st;
    struct hps_save *s = hps_mem_new(1, sizeof *s);
    s->opt = o->opt;
    s->dir = o->dir;
    s->step = o->cursor->step;
    s->only_this = o->only_this;
    s->began_s = t0;
    char *path = hps_ckpt_path(o->opt, o->dir, s->step);
    s->file = hps_part_file(path);
    hps_mem_free(path);
    s->write.path = s->file.part;
    s->write.n = hps_ckpt_state_new(&s->write.item, o->step, o->snapshot_share);
    st = hps_agree(world, hps_rank() == 0 ? make_file(s, o) : HPS_OK);
    if (st) {
        hps_save_free(s);
        return st;
    }
    bcast_offsets(s, world);
    s->write.gather = hps_gather_new(s->write.n, s->write.item);
    if (have_part(s)) s->task = hps_background_new(hps_ckpt_write, &s->write);
    s->waited_s = hps_now_s() - t0;
    *save = s;
    return HPS_OK;
}

struct hps_save_poll hps_save_poll(const struct hps_save *s)
{
    struct hps_save_poll poll = { false, HPS_OK };

    if (!s) return poll;
    poll.ready = !s->task || hps_background_done(s->task, 0);
    if (s->task && poll.ready) poll.status = hps_background_end(s->task)->status;
    if (!poll.status && s->write.gather) poll.ready &= hps_gather_sent(s->write.gather);
    return poll;
}

/* ---- checksums, renaming ---- */

static double copying_s(const struct hps_save *s)
{
    double sum = 0;
    for (int i = 0; i < s->write.n; i++)
        if (s->write.item[i].snapshot) sum += hps_snapshot_cost_s(s->write.item[i].snapshot);
    return sum;
}

/* Write the checksums, which are summed at rank 0. */
static enum hps_status put_sums(const struct hps_save *s, const unsigned long long *sum)
{
    struct hps_h5 h;
    enum hps_status st = hps_h5_change(&h, s->file.part);

    for (int i = 0; !st && i < s->write.n; i++)
        st = hps_h5_put_long(&h, s->write.item[i].name, "checksum", (long long)sum[i]);
    if (!st) return hps_h5_leave(&h);
    hps_h5_drop(&h);
    return st;
}

/* Rename the file once its content is on the disk. */
static void name_it(void *save, struct hps_background_end *end)
{
    struct hps_save *s = save;
    bool renamed = false;

    if (hps_file_sync(s->file.part) && hps_part_file_commit(&s->file, &renamed)) {
        hps_ckpt_remove_old(s->opt, s->dir, s->step, s->only_this); /* after the rename */
        return;
    }
    end->status = HPS_OUTPUT;
    snprintf(end->why, sizeof end->why,
             renamed ? "%s is whole, but its name may not last: %s"
                     : "cannot name the checkpoint %s: %s",
             s->file.path, strerror(errno));
}

static enum hps_status seal(struct hps_save *s, MPI_Comm world)
{
    int n = s->write.n;
    unsigned long long *mine = hps_mem_new((size_t)n, sizeof *mine);
    unsigned long long *sum = hps_mem_new((size_t)n, sizeof *sum);
    bool root = hps_rank() == 0;

    hps_background_free(s->task);
    s->task = NULL;
    hps_gather_free(s->write.gather);
    s->write.gather = NULL;
    for (int i = 0; i < n; i++)
        mine[i] = s->write.item[i].sum;
    HPS_MPI(MPI_Reduce(mine, sum, n, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, world));
    enum hps_status st = hps_agree(world, root ? put_sums(s, sum) : HPS_OK);
    s->copying_s = copying_s(s);
    hps_ckpt_state_free(n, s->write.item);
    s->write.n = 0;
    s->write.item = NULL;
    s->sealed = true;
    if (root && !st) s->task = hps_background_new(name_it, s);
    hps_mem_free(mine);
    hps_mem_free(sum);
    return st;
}

enum hps_status hps_save_next(struct hps_save *s, bool *complete, MPI_Comm world)
{
    double t0 = hps_now_s();
    enum hps_status st = HPS_OK;

    *complete = s->sealed;
    if (!s->sealed) st = seal(s, world);
    s->waited_s += hps_now_s() - t0;
    return st;
}

/* ---- waiting ---- */

/* What ranks exchange while they wait. */
enum { READY, TROUBLE, BYTES, NWORD };

/* Wait, not for long, until this rank is ready or has failed. */
static struct hps_save_poll wait_a_while(const struct hps_save *s)
{
    const double most_s = 0.2, nap_s = 0.0005;
    double began = hps_now_s();
    struct hps_save_poll poll = hps_save_poll(s);

    while (!poll.ready && hps_now_s() - began < most_s) {
        double left_s = s->write.gather ? nap_s : most_s;
        if (s->write.gather) hps_gather_poll(s->write.gather);
        if (hps_background_done(s->task, left_s)) hps_sleep_s(nap_s);
        poll = hps_save_poll(s);
    }
    return poll;
}

/* Agree on ranks that are ready, the worst status and all bytes written. Sleeps. Collective. */
static void round_of(const struct hps_save *s, long long all[NWORD], MPI_Comm world)
{
    struct hps_save_poll poll = wait_a_while(s);
    long long mine[NWORD] = { poll.ready, 0, s->write.bytes }, worst = poll.status;
    MPI_Request request[2];

    HPS_MPI(MPI_Iallreduce(mine, all, NWORD, MPI_LONG_LONG, MPI_SUM, world, &request[0]));
    hps_wait_sleeping(&request[0]);
    HPS_MPI(MPI_Iallreduce(&worst, &all[TROUBLE], 1, MPI_LONG_LONG, MPI_MAX, world, &request[1]));
    hps_wait_sleeping(&request[1]);
}

/* The lowest rank that failed prints why. Collective. */
static void print_failure(const struct hps_save *s, MPI_Comm world)
{
    int me = hps_save_poll(s).status ? hps_rank() : INT_MAX, first;

    HPS_MPI(MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, world));
    if (me == first && me < INT_MAX) HPS_SAY_ALL(HPS_ERROR, "%s", hps_background_end(s->task)->why);
}

enum hps_status hps_save_wait(struct hps_save *s, MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    double t0 = hps_now_s(), before_s = s->waited_s;
    long long bytes = -1, all[NWORD];
    bool complete = false;

    while (!st && !complete) {
        round_of(s, all, world);
        if (all[BYTES] != bytes) hps_watch_heartbeat(-1);
        bytes = all[BYTES];
        st = (enum hps_status)all[TROUBLE];
        if (!st && all[READY] == hps_nrank()) st = hps_save_next(s, &complete, world);
    }
    s->waited_s = before_s + hps_now_s() - t0;     /* includes that of hps_save_next */
    if (st) print_failure(s, world);
    return st;
}

struct hps_save_cost hps_save_cost(const struct hps_save *s)
{
    return (struct hps_save_cost){ hps_now_s() - s->began_s,
                                   s->waited_s + (s->sealed ? s->copying_s : copying_s(s)) };
}

void hps_save_free(struct hps_save *s)
{
    if (!s) return;
    s->write.quit = true;
    hps_background_free(s->task);
    if (s->write.gather) hps_gather_stop(s->write.gather);
    hps_gather_free(s->write.gather);
    hps_ckpt_state_free(s->write.n, s->write.item);
    hps_part_file_done(&s->file, hps_rank() == 0);
    hps_mem_free(s);
}
