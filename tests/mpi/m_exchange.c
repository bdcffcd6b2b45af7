/* m_exchange: a pull after a push sees the push, repeats included: tables trained through the store
 * equal a serial twin in double on any number of ranks, rows pulled twice without a push are the
 * same, and a repetition of the run gives the same bits. So do tables of which bags' partial sums
 * are pulled, and these sums are those of the twin's rows. Whether all members own rows or some of
 * them do, and whether rows travel as messages, through memory that ranks share, or, where each
 * rank has a card of its own (m_gpu_group_exchange), between them. Encoded, they are off by no more
 * than what the encoding changes: a row by what its gradients were changed in all steps so far,
 * times the rate, and once more as it travels; cards that exchange by NCCL refuse. Where memory has
 * some of a host's rows, the bits are the same, also where all rows of a step leave
 * before its gradients are applied. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "ps/exchange.h"
#include "tests/lib/gpu_group.h"
#include "tests/lib/ids.h"
#include "tests/lib/paged.h"

enum { DIM = 5, STEPS = HPS_REQUEST_BUFFERS + 3, M = 3 };

struct twin {
    double row[IDS_ROWS][DIM], state[IDS_ROWS][DIM], grad[IDS_ROWS][DIM];
    double size[IDS_ROWS][DIM]; /* sums of the magnitudes that gradients are of */
    double slack[IDS_ROWS][DIM];    /* what rounded gradients changed of a row  */
};

struct world {
    MPI_Comm comm;
    int R, me;
    int owners;                 /* the first of the members own all rows; 0: all members do */
    bool silent;                /* odd members read nothing */
    bool in_place;                  /* rows are read in the table, where one can */
    bool defer;                 /* gradients are said as sums, where one can */
    struct hps_exchange_opt codec;
    bool encodes;               /* what travels can be encoded */
    double share;               /* of a number that this may change */
    bool sums;                  /* owners give partial sums of bags: all ids of one push the same */
    struct ids ids;
    struct hps_net net;
    struct hps_train_opt opt;
    struct hps_dev dev;
};

static bool reads(const struct world *w, int r)
{
    return !w->silent || r % 2 == 0;
}

/* The gradient that one occurrence of a row adds. */
static float push(long long step, int r, int m, int j, int i, int n, int c)
{
    uint64_t key = hps_rng_sub(hps_rng_key(11, "push"), (uint64_t)(step * 8 + r));
    return hps_rng_unit(key, (uint64_t)((((m * 2 + j) * 4 + i) * 64 + n) * 8 + c)) - 0.5f;
}

/* The example of id n of the i-th slot of a layer. */
static int example_of(const struct hps_layer *l, const struct hps_batch *b, int i, int n)
{
    const int *offset = b->offset[l->slot[i]];
    int e = 0;

    while (offset ? offset[e + 1] <= n : e < n)
        e++;
    return e;
}

/* What all members add in a step, and the rule, in double. Returns the sum of squares, and what
 * rounded gradients may change of it. */
static double learn(const struct world *w, struct twin *t, long long step,
                    const struct hps_rule *rule, double *slack)
{
    static bool hit[IDS_ROWS];
    struct ids_batch own;
    struct hps_batch b;
    double norm2 = 0;

    memset(t->grad, 0, sizeof t->grad);
    memset(t->size, 0, sizeof t->size);
    *slack = 0;
    memset(hit, 0, sizeof hit);
    for (int r = 0; r < w->R; r++)
        for (int m = 0; m < M && reads(w, r); m++) {
            ids_make(&own, &b, step, r, m);
            for (int j = 0; j < IDS_LAYERS; j++)
                for (int i = 0; i < w->ids.use[j]->nslot; i++)
                    for (int n = 0; n < ids_count(w->ids.use[j], &b, i); n++) {
                        long long row = ids_row(w->ids.use[j], &b, i, n);
                        int who = w->sums ? example_of(w->ids.use[j], &b, i, n) : n;
                        hit[row] = true;
                        for (int c = 0; c < DIM; c++) {
                            double x = (double)push(step, r, m, j, i, who, c);
                            t->grad[row][c] += x;
                            t->size[row][c] += fabs(x);
                        }
                    }
        }
    for (int row = 0; row < IDS_ROWS; row++)
        for (int c = 0; c < DIM && hit[row]; c++) {
            double g = t->grad[row][c], off = w->share * t->size[row][c];
            norm2 += g * g;
            *slack += 2 * fabs(g) * off + off * off;
            t->slack[row][c] += (double)rule->lr * off;
            t->state[row][c] += g * g;
            t->row[row][c] -= (double)rule->lr * g / (rule->kind == HPS_RULE_SGD ? 1 :
                              sqrt(t->state[row][c]) + (double)rule->eps);
        }
    return norm2;
}

/* A copy of the device's that the host may read, to free. */
static void *copy_of(const struct world *w, const void *p, size_t bytes)
{
    struct hps_dev dev = w->dev;
    void *copy = hps_mem_new(1, bytes);

    dev.ops->copy_to_host(&dev, copy, p, bytes);
    return copy;
}

/* The ids of a bag by place, to free. */
static int *index_of(const struct world *w, const struct hps_lookup *lookup)
{
    return copy_of(w, lookup->of.index, lookup->nid * sizeof(int));
}

/* How far a row may be off: fp32 by 1e-5 of numbers near 1. */
static double limit(const struct world *w, const struct twin *t, long long row, int c)
{
    double slack = t->slack[row][c];

    return 1e-5 + slack + w->share * (fabs(t->row[row][c]) + slack);
}

static void check_rows(const struct world *w, const struct twin *t,
                       const struct hps_request_step *s, long long step, int m,
                       const struct hps_exchange *ps)
{
    size_t bytes = (size_t)s->nrow * DIM * sizeof(float);
    float *copy = NULL;
    struct ids_batch own;
    struct hps_batch b;

    ids_make(&own, &b, step, w->me, m);
    for (int j = 0; j < IDS_LAYERS && reads(w, w->me); j++) {
        struct hps_lookup lookup = s->lookup[m * IDS_LAYERS + j];
        int *from = index_of(w, &lookup), *index = from;
        hps_exchange_locate(ps, &lookup);
        if (!w->in_place && !copy) copy = copy_of(w, lookup.rows.gathered, bytes);
        if (copy) lookup.rows.gathered = copy;
        for (int i = 0; i < w->ids.use[j]->nslot; i++)
            for (int n = 0; n < ids_count(w->ids.use[j], &b, i); n++, index++)
                for (int c = 0; c < DIM; c++) {
                    const float *row = hps_lookup_row(&lookup.rows, *index, DIM);
                    long long at = ids_row(w->ids.use[j], &b, i, n);
                    double want = t->row[at][c];
                    if (fabs((double)row[c] - want) > limit(w, t, at, c))
                        HPS_DIE("step %lld row %lld: %.9g, not %.9g", step,
                                ids_row(w->ids.use[j], &b, i, n),
                                (double)row[c], want);
                }
        hps_mem_free(from);
    }
    hps_mem_free(copy);
}

/* Sums of the twin's rows, by bag: the partial ones and hot rows add up to them. */
static void check_sums(const struct world *w, const struct twin *t,
                       const struct hps_request_step *s, long long step, int m,
                       const struct hps_exchange *ps)
{
    static double want[MAX_IDS_B][DIM], off[MAX_IDS_B][DIM];
    struct hps_lookup located = { 0 };
    struct ids_batch own;
    struct hps_batch b;

    ids_make(&own, &b, step, w->me, m);
    hps_exchange_locate(ps, &located);
    const float *rows = located.rows.gathered;
    for (int j = 0; j < IDS_LAYERS && reads(w, w->me); j++) {
        const struct hps_layer *l = w->ids.use[j];
        const struct hps_lookup *lookup = &s->lookup[m * IDS_LAYERS + j];
        for (int i = 0; i < l->nslot; i++) {
            memset(want, 0, sizeof want);
            memset(off, 0, sizeof off);
            for (int n = 0; n < ids_count(l, &b, i); n++)
                for (int c = 0; c < DIM; c++) {
                    long long at = ids_row(l, &b, i, n);
                    want[example_of(l, &b, i, n)][c] += t->row[at][c];
                    off[example_of(l, &b, i, n)][c] += limit(w, t, at, c) - 1e-5;
                }
            for (int e = 0; e < b.B; e++)
                for (int c = 0; c < DIM; c++) {
                    double sum = 0;
                    for (int k = 0; k < ids_nplace(lookup, i * b.B + e); k++)
                        sum += (double)rows[ids_place(lookup, i * b.B + e, k) * DIM + c];
                    if (fabs(sum - want[e][c]) > 1e-5 + off[e][c])
                        HPS_DIE("step %lld, slot %d of layer %d, example %d: %.9g, not %.9g", step,
                                i, j, e, sum, want[e][c]);
                }
        }
    }
}

/* Every partial sum has the gradient of its bag, hot rows those of theirs. */
static void add_bag_grads(const struct world *w, const struct hps_request_step *s, long long step,
                          float *grad)
{
    for (int m = 0; m < M && reads(w, w->me); m++)
        for (int j = 0; j < IDS_LAYERS; j++) {
            const struct hps_lookup *lookup = &s->lookup[m * IDS_LAYERS + j];
            for (int sum = 0; sum < lookup->nslot * lookup->B; sum++)
                for (int k = 0; k < ids_nplace(lookup, sum); k++)
                    for (int c = 0; c < DIM; c++)
                        grad[ids_place(lookup, sum, k) * DIM + c] +=
                            push(step, w->me, m, j, sum / lookup->B, sum % lookup->B, c);
        }
}

static void add_grads(const struct world *w, const struct hps_request_step *s, long long step,
                      float *grad)
{
    struct ids_batch own;
    struct hps_batch b;

    for (int m = M - 1; m >= 0 && reads(w, w->me); m--) {
        ids_make(&own, &b, step, w->me, m);
        for (int j = 0; j < IDS_LAYERS; j++) {
            int *from = index_of(w, &s->lookup[m * IDS_LAYERS + j]), *index = from;
            for (int i = 0; i < w->ids.use[j]->nslot; i++)
                for (int n = 0; n < ids_count(w->ids.use[j], &b, i); n++, index++)
                    for (int c = 0; c < DIM; c++)
                        grad[*index * DIM + c] += push(step, w->me, m, j, i, n, c);
            hps_mem_free(from);
        }
    }
}

static void pull(const struct world *w, const struct twin *t, struct hps_exchange *ps,
                 const struct hps_request_step *s, long long step)
{
    hps_exchange_pull_begin(ps, s);
    for (int m = 0; m < M; m++) {
        hps_exchange_poll(ps);
        hps_exchange_pull_end(ps, m);
        if (w->sums)
            check_sums(w, t, s, step, m, ps);
        else
            check_rows(w, t, s, step, m, ps);
    }
}

static void step_of(const struct world *w, const struct paged *p, struct twin *t,
                    struct hps_exchange *ps, const struct hps_request_step *s, long long step)
{
    struct hps_rule rule =
        hps_opt_rule(&w->opt, &w->net.table[0].override, hps_update_of(step, STEPS));

    pull(w, t, ps, s, step);
    if (step % 2 == 1)
        pull(w, t, ps, s, step);                        /* reading alone changes nothing */
    if (s->nrow > 0 || step % 3 == 0) {                 /* who has no gradient need not ask */
        size_t n = (size_t)s->nrow * DIM;
        float *grad = hps_mem_new(n, sizeof *grad);
        struct hps_row_grad *there = hps_exchange_grad(ps, w->defer);
        struct hps_dev dev = w->dev;
        if (w->sums)
            add_bag_grads(w, s, step, grad);
        else
            add_grads(w, s, step, grad);
        hps_row_grad_adds(there);
        if (there->may_defer)
            ids_defer(s->nrow, DIM, grad, &there->deferred);
        else
            dev.ops->copy_to_device(&dev, there->row, grad, n * sizeof *grad);
        hps_mem_free(grad);
    }
    hps_exchange_push_begin(ps);
    hps_exchange_poll(ps);
    hps_exchange_push_end(ps);
    double slack, norm2 = hps_exchange_norm2(ps), want = learn(w, t, step, &rule, &slack);
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &norm2, 1, MPI_DOUBLE, MPI_SUM, w->comm));
    if (fabs(norm2 - want) > 1e-5 * want + slack)
        HPS_DIE("step %lld: squares %.9g, not %.9g", step, norm2, want);
    paged_change(p, step % 2 > 0);
    hps_exchange_apply(ps, &rule);
}

static void start(const struct world *w, struct twin *t)
{
    static float row[IDS_ROWS * DIM];

    hps_net_init_rows(&w->net, 0, hps_net_rows_key(&w->net, 0, 1), 0, IDS_ROWS, row, DIM);
    for (int i = 0; i < IDS_ROWS; i++)
        for (int c = 0; c < DIM; c++) {
            t->row[i][c] = (double)row[i * DIM + c];
            t->state[i][c] = w->opt.initial_accumulator;
            t->slack[i][c] = 0;
        }
}

/* Encoded, it is half of the bytes, and off by what the encoding may change. */
static void check_count(const struct world *w, const struct hps_exchange *ps)
{
    struct hps_message_count all[HPS_MESSAGES] = { { 0 } };

    hps_exchange_count(ps, all);
    for (int kind = 0; kind < HPS_MESSAGES; kind++) {
        const struct hps_message_count *c = &all[kind];
        if (c->plain_bytes != 2 * c->bytes || c->bytes > hps_exchange_bytes(ps) ||
            (c->bytes > 0 && w->share == 0))
            HPS_DIE("%s: %g bytes of %g", hps_message_name[kind], c->bytes, c->plain_bytes);
        if (c->n > 0 && !(hps_message_error(c) <= w->share))
            HPS_DIE("%s: an error of %g", hps_message_name[kind], hps_message_error(c));
    }
}

/* The table's rows, on the host, to free. */
static float *shard_of(const struct world *w, const struct paged *p, const struct hps_table *table,
                       size_t bytes)
{
    if (!p->store) return copy_of(w, table->row, bytes);
    float *x = hps_mem_new(1, bytes);
    paged_read(p, table, x);
    return x;
}

/* A run of STEPS steps; returns the shard, on the host. Caller frees. `direct`: members that share
 * memory read requests where they were written; else, on a host, memory has some rows. */
static float *run(struct world *w, bool direct, size_t *bytes)
{
    static struct twin twin;
    static struct ids_batch own[M];
    struct hps_request_opt use = { reads(w, w->me) ? IDS_LAYERS : 0, w->ids.use, true, w->sums,
                                   direct ? HPS_EXCHANGE_BUFFERS : -1, w->owners, false, NULL,
                                   w->share > 0 };
    struct hps_batch batch[M];
    struct hps_table *table;
    struct hps_request *route;
    struct hps_exchange *ps;
    const int dim[HPS_EXCHANGE_BUFFERS + HPS_REQUEST_BUFFERS] = { DIM, DIM, DIM, 1, 1, 1, 1, 1, 1 };

    start(w, &twin);
    struct hps_shm *shm =
        hps_shm_new(w->dev.host, HPS_EXCHANGE_BUFFERS + HPS_REQUEST_BUFFERS, dim, w->comm);
    int owners = w->owners > 0 ? w->owners : w->R;
    bool some = !direct && w->dev.host;
    struct paged p = { .slots = some ? paged_slots(hps_cyclic_nlocal(IDS_ROWS, w->me, owners))
                                     : NULL };
    const struct hps_table_opt opt = { w->me, owners, &w->opt, 1,
                                       p.slots ? &hps_tier_file : &hps_tier_device, p.slots,
                                       HPS_AS_FP32, HPS_AS_FP32 };
    if (hps_table_new(&table, &w->net, 0, &w->dev, &opt) != HPS_OK ||
        hps_request_new(&route, &use, IDS_ROWS, M, &w->dev, shm, w->comm) != HPS_OK ||
        hps_exchange_new(&ps, table, &w->dev, shm, 0, &w->codec, w->comm) != HPS_OK)
        HPS_DIE("no store");
    if (w->in_place && table->nrow > 0) hps_exchange_read_in_place(ps);
    if (p.slots) paged_open(&p, table, (size_t)use.nlayer);
    for (long long step = -1; step < STEPS; step++) {
        const struct hps_request_step *s = step < 0 ? NULL : hps_request_take(route);
        if (s && p.steps) s = hps_paging_take(p.steps, s);
        for (int m = 0; m < M; m++)
            ids_make(&own[m], &batch[m], step + 1, w->me, m);
        if (step + 1 < STEPS) hps_request_begin(route, reads(w, w->me) ? batch : NULL);
        if (!s) continue;
        if (step % 3 != 0) paged_look_ahead(&p, route);
        w->dev.ops->stream_wait(&w->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
        step_of(w, &p, &twin, ps, s, step);
        w->dev.ops->stream_wait(&w->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    }
    if (w->R > 1 && !w->silent && hps_exchange_bytes(ps) == 0) HPS_DIE("nothing was counted");
    check_count(w, ps);
    *bytes = (size_t)table->nrow * table->stride * sizeof(float);
    float *shard = shard_of(w, &p, table, *bytes);
    paged_close(&p);
    hps_exchange_free(ps);
    hps_request_free(route);
    hps_shm_free(shm);
    hps_table_free(table);
    hps_slots_free(p.slots);
    return shard;
}

static void run_twice(struct world *w)
{
    size_t bytes;
    float *a = run(w, true, &bytes), *b = run(w, false, &bytes);

    if (memcmp(a, b, bytes) != 0)
        HPS_DIE("the same run gave other bits");
    hps_mem_free(a);
    hps_mem_free(b);
}

/* As rows, and where they may be as sums. */
static void run_both(struct world *w)
{
    bool in_place = w->in_place;

    run_twice(w);
    w->sums = w->dev.host;
    w->in_place &= !w->sums;
    if (w->sums) run_twice(w);
    w->sums = false;
    w->in_place = in_place;
}

/* Cards that exchange by NCCL refuse another encoding. */
static void refuse(const struct world *w)
{
    const struct hps_exchange_opt opt = { &hps_codec_bf16, &hps_codec_fp32 };
    const struct hps_table_opt own = { w->me, w->R, &w->opt, 1, &hps_tier_device, NULL,
                                       HPS_AS_FP32, HPS_AS_FP32 };
    struct hps_dev dev = w->dev;
    struct hps_table *table;
    struct hps_exchange *ps;

    if (hps_table_new(&table, &w->net, 0, &dev, &own) != HPS_OK) HPS_DIE("no table");
    if (hps_exchange_new(&ps, table, &dev, NULL, 0, &opt, w->comm) != HPS_DECK)
        HPS_DIE("bf16 by NCCL is not refused");
    hps_exchange_free(ps);
    hps_table_free(table);
}

/* As fp32; and, where the rule is sgd, encoded: the one or the other, or both. */
static void run_encoded(struct world *w, int i)
{
    const struct hps_exchange_opt some[] = { { &hps_codec_bf16, &hps_codec_fp32 },
                                             { &hps_codec_fp32, &hps_codec_fp16 },
                                             { &hps_codec_fp16, &hps_codec_bf16 } };

    w->codec = (struct hps_exchange_opt){ &hps_codec_fp32, &hps_codec_fp32 };
    w->share = 0;
    run_both(w);
    if (!w->encodes && w->R > 1) refuse(w);
    for (size_t k = 0; k < sizeof some / sizeof *some && i % 2 == 0 && w->encodes; k++) {
        w->codec = some[k];
        w->share = fmax(some[k].rows->share, some[k].gradients->share);
        run_both(w);
    }
}

/* Which members share memory: 0 none, 1 all, 2 those of even number. */
static void share_memory(const struct world *w, int who)
{
    bool may = who == 1 || (who == 2 && w->me % 2 == 0);
    setenv("HETERPS_SHARED_MEMORY", may ? "1" : "0", 1);
}

int main(int argc, char **argv)
{
    static const char *const rules[] = { "sgd", "adagrad" };
    static struct hps_table_shape shape = { .name = "ids", .rows = IDS_ROWS, .dim = DIM,
                                            .init_std = 0.5 };
    struct world w = { .comm = hps_begin(&argc, &argv, true),
                       .net = { .ntable = 1, .table = &shape },
                       .opt = { .learning_rate = 0.1, .epsilon = 1e-8, .decay = "none",
                                .initial_accumulator = 0.1, .decay_to = 1 } };

    bool on_host = false;

    w.R = hps_nrank();
    w.me = hps_rank();
    ids_layers(&w.ids);
    for (int how = GPU_GROUP_FIRST; how <= GPU_GROUP_LAST; how++) {
        gpu_group_open(&w.dev, (enum gpu_group)how);
        on_host |= w.dev.host;
        w.encodes = how != GPU_GROUP_APART;
        for (int i = 0; i < 4; i++) {
            if (how == GPU_GROUP_FORBIDDEN ||
                (how >= GPU_GROUP_APART && i % 3 == 0)) /* they take long */
                continue;
            w.owners = (how + i) % w.R;
            w.opt.optimizer = rules[i & 1];
            w.silent = i & 2;
            w.in_place = w.dev.host && i % 3 == 0;
            w.defer = i % 3 == 0;
            for (int who = 0; who < (w.dev.host ? 3 : 1); who++) {
                share_memory(&w, who);
                run_encoded(&w, i);
            }
        }
        w.dev.ops->close(&w.dev);
    }
    double nread = paged_nread();
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &nread, 1, MPI_DOUBLE, MPI_SUM, w.comm));
    if (on_host && nread == 0) HPS_DIE("no row was read from a file");
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
