/* measure.c - who measures when, and how the pieces become a profile; one layer's seconds are
 * measure_layer.c's. */
#include "plan/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/measure_layer.h"
#include "plan/measure_sync.h"

/* Types whose first ranks share a host take turns: the turn of each type. Equal on all ranks. */
static int turns_of(const struct hps_pool *pool, int *turn)
{
    int most = 0;
    for (int t = 0; t < pool->T; t++) {
        turn[t] = 0;
        for (int u = 0; u < t; u++) {
            const char *a = pool->node[pool->type[t].first].host,
                       *b = pool->node[pool->type[u].first].host;
            if (strcmp(a, b) == 0 && turn[u] >= turn[t]) turn[t] = turn[u] + 1;
        }
        if (turn[t] > most) most = turn[t];
    }
    return most + 1;
}

void hps_measure_types(struct hps_profile *p, const struct hps_pool *pool,
                       const struct hps_measure_opt *o)
{
    long long rows = (o->batch + o->microbatches - 1) / o->microbatches;
    p->engine.batch = (double)o->batch;
    p->engine.microbatches = o->microbatches;
    p->engine.latency_s = 0;
    for (int i = 0; i < pool->T * pool->T; i++)
        if (pool->link[i].latency_s > p->engine.latency_s)
            p->engine.latency_s = pool->link[i].latency_s;
    for (int t = 0; t < pool->T; t++) {
        const struct hps_type *from = &pool->type[t];
        struct hps_profile_type *to = &p->type[t];
        long long limit = from->limit > 0 && from->limit < rows ? from->limit : rows;
        if (o->present && limit > from->nrank) limit = from->nrank;
        snprintf(to->name, sizeof to->name, "%s", from->name);
        to->gpu = from->gpu;
        to->price_usd_hour = from->price_usd_hour;
        to->limit = limit;
        to->memory_bytes = from->memory_bytes;
    }
}

/* The slowest link from type t to any type of the pool. */
static struct hps_link slowest(const struct hps_pool *pool, int t)
{
    struct hps_link worst = { 0, INFINITY };
    for (int u = 0; u < pool->T; u++) {
        const struct hps_link *k = &pool->link[t * pool->T + u];
        if (k->latency_s > worst.latency_s) worst.latency_s = k->latency_s;
        if (k->bytes_s > 0 && k->bytes_s < worst.bytes_s) worst.bytes_s = k->bytes_s;
    }
    return worst;
}

static double carry_s(struct hps_link k, double bytes)
{
    return bytes > 0 ? 2 * k.latency_s + bytes / k.bytes_s : 0; /* there, and gradients back */
}

static void fill_boundaries(struct hps_profile *p, const struct hps_net *net,
                            const struct hps_pool *pool)
{
    for (int l = 0; l < p->L; l++) {
        int before, before_grad, after, after_grad;
        hps_net_boundary(net, l, NULL, &before, &before_grad);
        hps_net_boundary(net, l + 1, NULL, &after, &after_grad);
        for (int t = 0; t < p->T; t++) {
            struct hps_link k = slowest(pool, t);
            p->recv[l * p->T + t] = carry_s(k, p->batch * 4.0 * (before + before_grad));
            p->send[l * p->T + t] = carry_s(k, p->batch * 4.0 * (after + after_grad));
        }
    }
}

/* Seconds of a layer's parameter communication where a type has one unit, from its link: half of
 * what two units need lies at the other. */
static double sync_s(const struct hps_net *net, int l, const struct hps_measured *m,
                     struct hps_link k, double step_share)
{
    const struct hps_layer *y = &net->layer[l];
    if (y->table >= 0) return carry_s(k, m->rows * y->dim * 4.0); /* half the rows, pull and push */
    if (y->nparam == 0) return 0;
    return step_share * carry_s(k, 2.0 * (double)y->nparam * 4.0); /* reduce and spread */
}

static void fill_layers(struct hps_profile *p, const struct hps_net *net,
                        const struct hps_measure_opt *o)
{
    int nstate = hps_opt_rule(o->train, 0, 1).nstate;
    for (int l = 0; l < p->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        double in = 0, weights = (double)y->nparam;
        for (int i = 0; i < y->ninput; i++)
            in += net->layer[y->input[i]].width * 4.0;
        if (y->wants_dense) in += net->D * 4.0;
        for (int i = 0; i < y->nslot; i++)
            in += net->slot_ids[y->slot[i]] * 8.0;
        if (y->table >= 0) weights = (double)net->table[y->table].rows * net->table[y->table].dim;
        snprintf(p->layer[l].name, sizeof p->layer[l].name, "%s", y->name);
        snprintf(p->layer[l].type, sizeof p->layer[l].type, "%s", y->kind->name);
        p->layer[l].input_bytes = in;
        p->layer[l].weight_bytes = weights * 4;
        p->layer[l].state_bytes = weights * 4 * (nstate + (y->table < 0 ? 1 : 0)); /* gradients */
    }
}

/* The fit a + b B through three sizes, and what of it grows with B. */
static double parallel_part(const double *B, const double *s)
{
    double mb = (B[0] + B[1] + B[2]) / 3, ms = (s[0] + s[1] + s[2]) / 3, up = 0, down = 0;
    for (int i = 0; i < 3; i++) {
        up += (B[i] - mb) * (s[i] - ms);
        down += (B[i] - mb) * (B[i] - mb);
    }
    if (down <= 0) return 1;
    double b = up / down, a = ms - b * mb, all = a + b * B[0];
    if (all <= 0) return 1;
    return fmin(fmax(b * B[0] / all, 0), 1);
}

/* Rows are split over the units of a stage, so their traffic is parallel; a sum over more units of
 * the same weights takes no less time. */
static void fill_type(struct hps_profile *p, const struct hps_net *net, const struct hps_pool *pool,
                      int t, const struct hps_measured *m, double step_share, double *rows)
{
    for (int l = 0; l < p->L; l++) {
        size_t at = (size_t)l * (size_t)p->T + (size_t)t;
        p->oct[at] = m[l].seconds[0] * pool->type[t].slow;
        p->alpha[at] = parallel_part(m[l].batch, m[l].seconds);
        p->sync[at] = sync_s(net, l, &m[l], pool->link[t * pool->T + t], step_share);
        p->beta[at] = net->layer[l].nparam > 0 && net->layer[l].table < 0 ? 0 : 1;
        rows[at] = m[l].rows;
    }
}

enum hps_status hps_measure_profile(struct hps_profile **out, const struct hps_net *net,
                                    const struct hps_pool *pool, struct hps_dev *dev,
                                    const struct hps_measure_opt *o, MPI_Comm world)
{
    struct hps_profile *p = hps_profile_new(net->L, pool->T);
    struct hps_measured *m = hps_mem_new((size_t)net->L, sizeof *m);
    struct hps_measured *told = hps_mem_new((size_t)net->L, sizeof *told);
    double *rows = hps_mem_new((size_t)net->L * (size_t)pool->T, sizeof *rows), share;
    int *turn = hps_mem_new((size_t)pool->T, sizeof *turn), turns = turns_of(pool, turn);
    enum hps_status st = HPS_OK;
    int me = hps_rank(), mine = pool->type_of[me];
    bool measuring = pool->type[mine].first == me;

    p->batch = (double)((o->batch + o->microbatches - 1) / o->microbatches);
    p->examples = (double)o->examples;
    p->epochs = o->epochs;
    p->throughput_limit = o->throughput_limit;
    share = p->batch / (double)o->batch;
    for (int i = 0; i < turns; i++) {
        if (measuring && turn[mine] == i) st = hps_measure_layers(m, net, dev, o, (int)p->batch);
        hps_barrier_quiet(world);
    }
    st = hps_agree(world, st);
    hps_measure_types(p, pool, o);
    fill_layers(p, net, o);
    fill_boundaries(p, net, pool);
    for (int t = 0; !st && t < pool->T; t++) {
        size_t bytes = (size_t)net->L * sizeof *m;
        if (me == pool->type[t].first) memcpy(told, m, bytes);
        HPS_MPI(MPI_Bcast(told, (int)bytes, MPI_BYTE, pool->type[t].first, world));
        fill_type(p, net, pool, t, told, share, rows);
    }
    if (!st) hps_measure_sync(p->sync, rows, net, pool, share, world);
    hps_mem_free(rows);
    hps_mem_free(turn);
    hps_mem_free(told);
    hps_mem_free(m);
    if (st) {
        hps_profile_free(p);
        p = NULL;
    }
    *out = p;
    return st;
}
