/* measure.c - decides which ranks measure when, and makes a profile of the results. */
#include "profile/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/count.h"
#include "plan/memory.h"
#include "profile/fit.h"
#include "profile/measure_read.h"
#include "profile/measure_sync.h"
#include "profile/measure_tier.h"
#include "profile/measure_trial.h"

static bool overlap(const struct hps_pool *pool, int r, int q)
{
    const struct hps_node *x = &pool->node[r], *y = &pool->node[q];
    if (strcmp(x->host, y->host) != 0) return false;
    for (int i = 0; i < HPS_NODE_MASK; i++)
        if (x->mask[i] & y->mask[i]) return true;
    return false;
}

/* Does rank r have free cores beside the ranks that measure in the same round? */
static bool is_free(const struct hps_pool *pool, const int *round, int r, int i)
{
    double load = 0;
    for (int q = 0; q < pool->R; q++)
        if (q == r || (round[q] == i && overlap(pool, r, q)))
            load += pool->node[q].threads / pool->type[pool->type_of[q]].slow;
    return load <= pool->node[r].cores * (1 + 1e-9);
}

/* In a training all cores of a host compute, and compete for memory and clock. So they do when
 * types are measured: the first rank of every type measures, as many at a time as have cores of
 * their own (an emulated rank needs a part of one), and other ranks do the same where cores are
 * free. round (R) [out]: the round of each rank, -1: none. Returns the number of rounds; equal on
 * all ranks. */
static int rounds_of(const struct hps_pool *pool, int *round)
{
    int max_rounds = 0;
    for (int r = 0; r < pool->R; r++)
        round[r] = -1;
    for (int t = 0; t < pool->T; t++) {
        int r = pool->type[t].first, i = 0;
        while (i < max_rounds && !is_free(pool, round, r, i))
            i++;
        round[r] = i;
        if (i == max_rounds) max_rounds++;
    }
    for (int r = 0; r < pool->R; r++) {
        int i = round[pool->type[pool->type_of[r]].first];
        if (round[r] < 0 && is_free(pool, round, r, i)) round[r] = i;
    }
    return max_rounds;
}

/* For the largest micro-batch. */
static long long micro_rows(const struct hps_measure_opt *o)
{
    return (o->batch + o->microbatches - 1) / o->microbatches;
}

void hps_measure_types(struct hps_profile *p, const struct hps_pool *pool,
                       const struct hps_measure_opt *o)
{
    long long rows = micro_rows(o) * o->workers;
    p->workers = o->workers;
    p->engine.batch = (double)o->batch;
    p->engine.microbatches = o->microbatches;
    p->server_type = o->server_type;
    p->server_auto = isinf(o->servers);
    p->server_dense = o->servers > 0 && hps_train_is_async(o->train) &&
                      !hps_train_sums_dense(o->train);
    p->server_units = p->server_auto ? 0 : (long long)o->servers;
    p->max_rows_bytes = o->max_rows_bytes;
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

/* The slowest link from type t to another one: neighbours in a pipeline are of unlike types. */
static struct hps_link slowest(const struct hps_pool *pool, int t)
{
    struct hps_link worst = { 0, INFINITY };
    for (int u = 0; u < pool->T; u++) {
        if (u == t && pool->T > 1) continue;
        const struct hps_link *k = &pool->link[t * pool->T + u];
        if (k->latency_s > worst.latency_s) worst.latency_s = k->latency_s;
        if (k->bytes_s > 0 && k->bytes_s < worst.bytes_s) worst.bytes_s = k->bytes_s;
    }
    return worst;
}

static void fill_boundaries(struct hps_profile *p, const struct hps_net *net,
                            const struct hps_pool *pool, const struct hps_storage_opt *storage)
{
    double bytes = (double)hps_storage_codec(storage, HPS_MESSAGE_ACTIVATIONS)->bytes(1);

    for (int l = 0; l < p->L; l++) {
        int before, before_grad, after, after_grad;
        hps_net_boundary(net, l, NULL, &before, &before_grad);
        hps_net_boundary(net, l + 1, NULL, &after, &after_grad);
        for (int t = 0; t < p->T; t++) {
            struct hps_link k = slowest(pool, t);
            double in = p->batch * bytes * (before + before_grad);
            double out = p->batch * bytes * (after + after_grad);
            p->recv[l * p->T + t] = hps_measure_transfer_s(k, in);
            p->send[l * p->T + t] = hps_measure_transfer_s(k, out);
        }
    }
}

static void fill_layers(struct hps_profile *p, const struct hps_net *net,
                        const struct hps_measure_opt *o)
{
    for (int l = 0; l < p->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        double in = 0, weights = (double)y->nparam;
        for (int i = 0; i < y->ninput; i++)
            in += net->layer[y->input[i]].width * 4.0;
        if (y->wants_dense) in += net->D * 4.0;
        in += hps_net_ids_per_example(net, y) * 8.0;
        struct hps_rule rule = hps_opt_rule(o->train, &y->override, hps_update_of(0, 1));
        bool left = hps_storage_dense_share(o->storage) > 0;
        double states = (rule.nstate + 1 + left) * weights; /* and gradients, and what is left */
        if (y->table >= 0) {
            const struct hps_table_shape *t = &net->table[y->table];
            struct hps_row_format f = hps_storage_row_format(o->storage, t, o->train);
            /* the units of all stages that read it have its rows */
            double part = (double)t->rows / hps_net_layers_of_table(net, y->table);
            weights += part * (double)f.state_at / 4;
            states += part * (double)(f.bytes - f.state_at) / 4;
            if (o->servers > 0 && hps_train_is_async(o->train)) states += part; /* versions */
        }
        snprintf(p->layer[l].name, sizeof p->layer[l].name, "%s", y->name);
        snprintf(p->layer[l].type, sizeof p->layer[l].type, "%s", y->type->name);
        p->layer[l].input_bytes = in;
        p->layer[l].weight_bytes = weights * 4;
        p->layer[l].state_bytes = states * 4;
    }
}

/* Fit a + b B to three sizes; the share of b B in it. */
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

/* The reader thread takes time from the rank's cores, unless some are idle or an emulated rank
 * sleeps. */
static struct hps_read_time reading(const struct hps_type *type, struct hps_read_time read)
{
    const struct hps_node *node = &type->node;
    bool spare = node->cores > node->threads * node->sharing || type->slow > 1;

    return spare ? (struct hps_read_time){ 0, 0 } : read;
}

/* One layer on one type. The dense update takes the same time for any number of examples, as does
 * sorting the step's rows, which counts for the first layer that reads them. Finding rows is not
 * slower on an emulated rank. */
static void fill_layer(struct hps_profile *p, const struct hps_net *net, int l, int t,
                       const struct hps_layer_time *m, double slow, struct hps_read_time read)
{
    size_t at = (size_t)l * (size_t)p->T + (size_t)t;
    const struct hps_layer *y = &net->layer[l];
    double byte_s = read.byte_s * hps_measure_bytes(net, l), all[3];
    bool first = p->layer[l].reads = y->wants_dense || y->wants_label || y->nslot > 0;

    for (int e = 0; e < l; e++)
        first &= !p->layer[e].reads;
    for (int i = 0; i < 3; i++)
        all[i] = slow * m->work_s[i] + m->rows_s[i] + byte_s * m->batch[i] +
                 (first ? read.order_s * p->batch : 0);
    p->oct[at] = all[0];
    p->alpha[at] = parallel_part(m->batch, all);
    p->engine.forward_s[at] = slow * m->forward_s;
    p->engine.once_s[at] = all[0] - slow * (m->work_s[0] - m->once_s);
}

/* What is done once a step for the rows of a layer, or its weights, and finding the rows. */
struct of_tables {
    double once, find;          /* seconds, as those of the profile */
};

static struct of_tables of_layer(const struct hps_layer_time *m, double slow)
{
    return (struct of_tables){ slow * m->once_s, m->rows_s[0] };
}

/* Servers send the rows, and apply their gradients; of dense weights that they hold they copy and
 * apply all. The units of a stage are spared the latter. */
static void move_to_servers(struct hps_profile *p, const struct of_tables *x)
{
    for (int l = 0; hps_profile_served(p) && l < p->L; l++) {
        bool rows = hps_profile_has_table(&p->layer[l]);
        if (!rows && !p->server_dense) continue;
        for (size_t at = (size_t)(l * p->T), end = at + (size_t)p->T; at < end; at++) {
            double all = p->oct[at], left = fmax(all - x[at].once, 0);
            p->serve[at] = x[at].once + (rows ? x[at].find : 0);
            p->oct[at] = left;
            if (left > 0) p->alpha[at] = fmin(p->alpha[at] * all / left, 1);
            p->engine.once_s[at] = fmax(p->engine.once_s[at] - x[at].once, 0);
        }
    }
}

/* What the ranks of a type measure, and its first rank broadcasts. A micro-batch enters so many
 * regions. */
enum { REGIONS = 9 };
struct facts {
    struct hps_read_time read;
    struct hps_count_cost count;
    struct hps_trial alone;
    struct hps_layer_time layer[];
};

/* Fit the layers to the trial of one unit, whose reader thread took its time; without a trial they
 * are as they were measured, and reading is added. */
static void fit_type(struct hps_profile *p, int t, double slow, struct facts *m)
{
    double micro_s = REGIONS * m->count.region_s;
    int M = (int)p->engine.microbatches;

    p->engine.step_s[t] = m->count.window_s;
    p->engine.micro_s[t] = micro_s;
    if (m->alone.n == 0) return;
    struct hps_fit_rest rest = hps_fit_layers(m->layer, p->L, M, slow, &m->alone, micro_s);
    p->engine.step_s[t] = rest.step_s;
    p->engine.micro_s[t] = rest.micro_s;
    p->engine.unsure[t] = m->alone.unsure;
    m->read = (struct hps_read_time){ 0, 0 };
}

static void fill_type(struct hps_profile *p, const struct hps_net *net, const struct hps_pool *pool,
                      int t, struct facts *m, const struct hps_storage_opt *storage,
                      double *rows)
{
    struct hps_read_time read = reading(&pool->type[t], m->read);

    p->engine.read_s[t] = read.order_s;
    fit_type(p, t, pool->type[t].slow, m);
    read = reading(&pool->type[t], m->read);
    for (int l = 0; l < p->L; l++) {
        size_t at = (size_t)l * (size_t)p->T + (size_t)t;
        fill_layer(p, net, l, t, &m->layer[l], pool->type[t].slow, read);
        hps_measure_sync_link(p, net, l, t, pool->link[t * pool->T + t], m->layer[l].rows,
                              storage);
        rows[at] = m->layer[l].rows;
    }
}

/* The profile before measurements: layers, types, and a check that each layer fits a type's
 * memory. The same on all ranks. Pure but for the message. */
static enum hps_status begin_profile(struct hps_profile *p, const struct hps_net *net,
                                     const struct hps_pool *pool, const struct hps_measure_opt *o)
{
    char lack[512];

    p->batch = (double)micro_rows(o);
    p->examples = (double)o->examples;
    p->epochs = o->epochs;
    p->throughput_limit = o->throughput_limit;
    hps_measure_types(p, pool, o);
    fill_layers(p, net, o);
    if (!hps_memory_unplaceable(p, lack, sizeof lack)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "no plan fits the memory of its units: %s", lack);
    return HPS_DECK;
}

/* Is the run shorter than a trial of it? Then its layers are measured one by one, and no more. */
static bool is_short(const struct hps_measure_opt *o)
{
    const double min_steps = 16;

    return (double)o->examples * o->epochs < min_steps * (double)o->batch;
}

/* What a rank measures in its round. */
static enum hps_status measure_round(struct facts *m, const struct hps_net *net,
                                     struct hps_dev *dev, const struct hps_measure_opt *o)
{
    enum hps_status st = hps_measure_layers(m->layer, net, dev, o, (int)micro_rows(o));

    if (!st) st = hps_measure_read(&m->read, net, o);
    m->count = hps_count_cost();
    if (st || is_short(o)) return st;
    return hps_measure_trial(&m->alone, net, 0, dev, o, MPI_COMM_SELF);
}

/* Measure in rounds. */
static enum hps_status measure_mine(struct facts *m, const int *round, int nround,
                                    const struct hps_net *net, struct hps_dev *dev,
                                    const struct hps_measure_opt *o, MPI_Comm world)
{
    enum hps_status st = HPS_OK;

    for (int i = 0; i < nround; i++) {
        if (round[hps_rank()] == i) st = measure_round(m, net, dev, o);
        hps_barrier_sleeping(world);
    }
    return hps_agree(world, st);
}

/* The trials that a profile is fitted to are of one worker without servers. */
static void as_in_trials(struct hps_profile *p)
{
    p->workers = 1;
    p->server_units = 0;
    p->server_auto = p->server_dense = false;
}

enum hps_status hps_measure_profile(struct hps_profile **out, const struct hps_net *net,
                                    const struct hps_pool *pool, struct hps_dev *dev,
                                    const struct hps_measure_opt *o, MPI_Comm world)
{
    struct hps_profile *p = hps_profile_new(net->L, pool->T);
    size_t bytes = sizeof(struct facts) + (size_t)net->L * sizeof(struct hps_layer_time);
    struct facts *m = hps_mem_new(bytes, 1), *received = hps_mem_new(bytes, 1);
    size_t n = (size_t)net->L * (size_t)pool->T;
    struct of_tables *tables = hps_mem_new(n, sizeof *tables);
    double *rows = hps_mem_new(n, sizeof *rows);
    int *round = hps_mem_new((size_t)pool->R, sizeof *round), nround = rounds_of(pool, round);
    enum hps_status st = begin_profile(p, net, pool, o);

    as_in_trials(p);
    if (!st) st = measure_mine(m, round, nround, net, dev, o, world);
    fill_boundaries(p, net, pool, o->storage);
    for (int t = 0; !st && t < pool->T; t++) {
        int by = pool->type[t].first;
        if (hps_rank() == by) memcpy(received, m, bytes);
        HPS_MPI(MPI_Bcast(received, (int)bytes, MPI_BYTE, by, world));
        fill_type(p, net, pool, t, received, o->storage, rows);
        for (int l = 0; l < p->L; l++)
            tables[l * p->T + t] = of_layer(&received->layer[l], pool->type[t].slow);
    }
    if (!st) hps_measure_sync(p, rows, net, pool, dev, o->storage, world);
    if (!st && !is_short(o)) st = hps_measure_pairs(p, round, nround, net, pool, dev, o, world);
    if (!st && !is_short(o)) st = hps_measure_move(p, net, pool, dev, o, world);
    if (!st) st = hps_measure_tier_rows(p, net, o, world);
    if (!st) st = hps_measure_tier(p, round, nround, net, pool, dev, o, world);
    hps_measure_types(p, pool, o);
    move_to_servers(p, tables);
    if (!st && !is_short(o)) st = hps_measure_serve(p, net, pool, dev, o, world);
    hps_mem_free(rows);
    hps_mem_free(tables);
    hps_mem_free(round);
    hps_mem_free(received);
    hps_mem_free(m);
    if (st) {
        hps_profile_free(p);
        p = NULL;
    }
    *out = p;
    return st;
}
