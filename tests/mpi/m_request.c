/* m_route: the place of every id gives back its row: each distinct row of a step has one place, is
 * asked of its owner by the micro-batch that needs it first, and the owner knows which of the rows
 * that it gives are the same. What owners are told of sums stays as long as the step. With two
 * steps on the way, members that read nothing, any number of micro-batches, what is told sent or
 * read where it was written. */
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "tests/lib/ids.h"
#include "ps/request.h"
#include "ps/table.h"

enum { MAX_N = 8, STEPS = 2 * HPS_REQUEST_BUFFERS + 2 };
enum { MAX_NID = MAX_IDS_M * MAX_IDS_B * (4 + MAX_IDS_BAG) };

struct world {
    MPI_Comm comm;
    struct hps_shm *shm; /* who sees what I tell; or NULL */
    int R, me;
    bool silent;                /* odd members read nothing */
    struct ids ids;
};

static bool reads(const struct world *w, int r)
{
    return !w->silent || r % 2 == 0;
}

/* The global row of an owner's local one: the inverse of hps_cyclic_owner and _local. */
static long long global(int local, int owner, int k)
{
    return ((long long)(local / HPS_CYCLIC_BLOCK) * k + owner) * HPS_CYCLIC_BLOCK
           + local % HPS_CYCLIC_BLOCK;
}

/* What the places hold when every owner gives the rows it was asked for: their numbers. */
static void give(const struct world *w, const struct hps_request_step *s, long long *place)
{
    long long *out = hps_mem_new(s->nsend_all, sizeof *out), *in;
    int give_n[MAX_N] = { 0 }, give_at[MAX_N], ask_n[MAX_N] = { 0 }, ask_at[MAX_N];
    int at = 0, from = 0;

    in = hps_mem_new((size_t)s->nrow, sizeof *in);
    for (size_t i = 0; i < s->nsend_all; i++)
        out[i] = global(s->row[i], w->me, w->R);
    for (int q = 0; q < w->R; q++) {
        for (int m = 0; m < s->M; m++) {
            give_n[q] += s->nsend[m * w->R + q];
            ask_n[q] += s->nrecv[m * w->R + q];
        }
        give_at[q] = from;
        ask_at[q] = at;
        from += give_n[q];
        at += ask_n[q];
    }
    if ((size_t)from != s->nsend_all || at != s->nrow) HPS_DIE("the counts do not add up");
    HPS_MPI(MPI_Alltoallv(out, give_n, give_at, MPI_LONG_LONG, in, ask_n, ask_at, MPI_LONG_LONG,
                          w->comm));
    for (int m = 0, p = 0; m < s->M; m++)               /* by owner, then micro-batch: turned */
        for (int q = 0; q < w->R; q++) {
            for (int i = 0; i < s->nrecv[m * w->R + q]; i++)
                if (hps_cyclic_owner(place[p++] = in[ask_at[q]++], w->R) != q)
                    HPS_DIE("row %lld is not from its owner", place[p - 1]);
            if (q == w->R - 1 && p != s->first[m + 1])
                HPS_DIE("micro-batch %d ends at %d, not %d", m, p, s->first[m + 1]);
        }
    hps_mem_free(in);
    hps_mem_free(out);
}

/* A bag's places against its ids; `used` marks the places that micro-batches so far have seen. */
static void check_bag(const struct hps_layer *l, const struct hps_lookup *lookup,
                      const struct hps_batch *b, const long long *place, int limit, bool *used)
{
    size_t at = 0;
    bool single = true;

    for (int i = 0; i < l->nslot; i++) {
        const int *offset = b->offset[l->slot[i]];
        single = single && !offset;
        for (int e = 0; e <= b->B && !lookup->single && (e < b->B || i == l->nslot - 1); e++)
            if (lookup->offset[i * b->B + e] != (int)at + (offset ? offset[e] : e))
                HPS_DIE("bag %d of slot %d begins at %d", e, i, lookup->offset[i * b->B + e]);
        for (int n = 0; n < ids_count(l, b, i); n++, at++) {
            int p = lookup->of.index[at];
            if (p < 0 || p >= limit || place[p] != ids_row(l, b, i, n))
                HPS_DIE("id %d of slot %d has the wrong row", n, i);
            used[p] = true;
        }
    }
    if (lookup->nslot != l->nslot || lookup->B != b->B || lookup->nid != at ||
        lookup->single != single || (single && lookup->offset))
        HPS_DIE("a bag has the wrong shape");
}

static void check_places(const struct world *w, const struct hps_request_step *s, long long step,
                         const long long *place)
{
    static bool used[MAX_NID], row_seen[IDS_ROWS];
    static struct ids_batch own;
    struct hps_batch b;

    memset(used, 0, sizeof used);
    memset(row_seen, 0, sizeof row_seen);
    for (int p = 0; p < s->nrow; p++) {
        if (row_seen[place[p]])
            HPS_DIE("row %lld has two places", place[p]);
        row_seen[place[p]] = true;
    }
    for (int m = 0; m < s->M; m++) {
        ids_make(&own, &b, step, w->me, m);
        for (int j = 0; j < IDS_LAYERS && reads(w, w->me); j++)
            check_bag(w->ids.use[j], &s->lookup[m * IDS_LAYERS + j], &b, place, s->first[m + 1],
                      used);
        for (int p = s->first[m]; p < s->first[m + 1]; p++)
            if (!used[p])
                HPS_DIE("place %d is asked for by micro-batch %d, which does not need it", p, m);
    }
    if (!reads(w, w->me) && s->nrow != 0) HPS_DIE("who reads nothing asks for nothing");
}

/* Owners know where in a member's places the rows lie that it asked of them. */
static void check_told(const struct world *w, const struct hps_request_step *s)
{
    int mine[MAX_N], told[MAX_N];

    for (int m = 0; m < s->M; m++) {
        for (int q = 0, at = s->first[m]; q < w->R; q++) {
            mine[q] = at;
            at += s->nrecv[m * w->R + q];
        }
        HPS_MPI(MPI_Alltoall(mine, 1, MPI_INT, told, 1, MPI_INT, w->comm));
        for (int q = 0; q < w->R; q++)
            if (told[q] != s->send_index[m * w->R + q])
                HPS_DIE("member %d has its rows of micro-batch %d at %d, not at %d", q, m, told[q],
                        s->send_index[m * w->R + q]);
    }
}

/* Where member q's i-th row for me has its gradient. */
static int lies(const struct world *w, const struct hps_request_step *s, int q, int m, int i)
{
    if (q != w->me && hps_shm_is(w->shm, q))
        return hps_shm_first(w->shm, q) + s->send_index[m * w->R + q] + i;
    int at = q == w->me ? s->first[m] : s->nrow;

    for (int k = 0; k < (q == w->me ? w->me : q); k++)
        for (int n = 0; n < s->M; n++)
            at += q == w->me ? (n == m ? s->nrecv[n * w->R + k] : 0)
                             : (k == w->me || hps_shm_is(w->shm, k) ? 0 : s->nsend[n * w->R + k]);
    for (int n = 0; n < m && q != w->me; n++)
        at += s->nsend[n * w->R + q];
    return at + i;
}

/* The i-th merged row gets the gradients of all members that asked for it, in their order. */
static void check_merge(const struct world *w, const struct hps_request_step *s)
{
    static int next[IDS_ROWS], merged[IDS_ROWS];
    const int *row = s->row;

    for (int i = 0; i < IDS_ROWS; i++)
        merged[i] = -1;
    for (int i = 0; i < s->nmerge; i++) {
        if (merged[s->merged[i]] >= 0)
            HPS_DIE("row %d is merged twice", s->merged[i]);
        merged[s->merged[i]] = i;
        next[i] = s->merge_start ? s->merge_start[i] : 0;
    }
    for (int q = 0; q < w->R && s->merge_start; q++)
        for (int m = 0; m < s->M; m++)
            for (int i = 0; i < s->nsend[m * w->R + q]; i++, row++) {
                int at = merged[*row];
                if (at < 0 || next[at] >= s->merge_start[at + 1] ||
                    s->merge_from[next[at]++] != lies(w, s, q, m, i))
                    HPS_DIE("the gradient of row %d goes elsewhere", *row);
            }
    for (int i = 0; i < s->nmerge && s->merge_start; i++)
        if (next[i] != s->merge_start[i + 1])
            HPS_DIE("row %d gets too much", s->merged[i]);
    if (!s->merge_start && (w->R > 1 || s->merged != s->row || s->nmerge != s->nrow))
        HPS_DIE("alone, what is asked is what is merged");
}

static void check_step(const struct world *w, const struct hps_request_step *s, long long step)
{
    long long *place = hps_mem_new((size_t)s->nrow, sizeof *place);

    give(w, s, place);
    check_places(w, s, step, place);
    check_told(w, s);
    check_merge(w, s);
    hps_mem_free(place);
}

static void begin(const struct world *w, struct hps_request *request, int M, long long step)
{
    static struct ids_batch own[MAX_IDS_M];
    struct hps_batch batch[MAX_IDS_M];

    for (int m = 0; m < M; m++)
        ids_make(&own[m], &batch[m], step, w->me, m);
    hps_request_begin(request, reads(w, w->me) ? batch : NULL);
}

/* Of all that members told me of their bags. */
static uint64_t sum_of(const struct hps_request_step *s)
{
    uint64_t sum = 0;

    for (int i = 0; i < s->M * s->parts; i++) {
        const struct hps_merge_list *l = &s->sums[i];
        for (int k = 0; k <= l->n; k++)
            sum = hps_rng_mix(sum + (uint64_t)l->begin[k]);
        for (int k = 0; k < l->begin[l->n]; k++)
            sum = hps_rng_mix(sum + (uint64_t)l->row[k]);
    }
    return sum;
}

/* Two steps on the way at times; a step is looked at again after the next one was taken. `told`:
 * members see what they are told where it was written; `delta`: else as differences. */
static void run(struct world *w, struct hps_dev *dev, int M, bool told, bool sums, bool delta)
{
    static const int dim[HPS_REQUEST_BUFFERS] = { 1, 1, 1, 1, 1, 1 };
    struct hps_request_opt use = { reads(w, w->me) ? IDS_LAYERS : 0, w->ids.use, true, sums,
                                   told ? 0 : -1, 0, false, NULL, delta };
    const struct hps_request_step *before = NULL;
    struct hps_request *request;
    uint64_t heard = 0;

    w->shm = hps_shm_new(told, HPS_REQUEST_BUFFERS, dim, w->comm);
    if (hps_request_new(&request, &use, IDS_ROWS, M, dev, w->shm, w->comm) != HPS_OK)
        HPS_DIE("no request");
    begin(w, request, M, 0);
    for (long long step = 0; step < STEPS; step++) {
        if (step + 1 < STEPS) begin(w, request, M, step + 1);
        hps_request_poll(request, true);
        const struct hps_request_step *now = hps_request_take(request);
        if (!sums)
            check_step(w, now, step);
        if (before && !sums)
            check_step(w, before, step - 1);
        if (before && sums && sum_of(before) != heard)
            HPS_DIE("what was told for step %lld changed", step - 1);
        heard = sums ? sum_of(now) : 0;
        hps_request_poll(request, true);
        before = now;
    }
    begin(w, request, M, STEPS);      /* a run that stops leaves one begun, */
    hps_request_begin(request, NULL); /* and one for which nothing was read  */
    const struct hps_message_count *count = hps_request_count(request);
    bool messages = w->R > 1 && !(told && w->shm) && reads(w, w->me);
    if (delta && messages && !(count->bytes > 0 && (sums || count->bytes < count->plain_bytes / 2)))
        HPS_DIE("%g bytes of %g as differences", count->bytes, count->plain_bytes);
    if (!delta && count->bytes != 0) HPS_DIE("%g bytes as differences", count->bytes);
    hps_request_free(request);
    hps_shm_free(w->shm);
}

int main(int argc, char **argv)
{
    struct world w = { .comm = hps_begin(&argc, &argv, true) };
    struct hps_dev dev;

    w.R = hps_nrank();
    w.me = hps_rank();
    ids_layers(&w.ids);
    if (hps_dev_cpu.open(&dev, 0, 1) != HPS_OK)
        HPS_DIE("no device");
    for (int far = 0; far < 2; far++) {                 /* as if device memory were elsewhere */
        dev.host = !far;
        for (int M = 1; M <= MAX_IDS_M; M++)
            for (w.silent = false; ; w.silent = true) {
                for (int how = 0; how < 4; how++)       /* on a host: told in place, of sums */
                    for (int delta = 0; delta < 2; delta++)
                        if (how == 0 || (dev.host && (how < 2 || w.R > 1)))
                            run(&w, &dev, M, how % 2, how / 2, delta);
                if (w.silent)
                    break;
            }
    }
    hps_dev_cpu.close(&dev);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
