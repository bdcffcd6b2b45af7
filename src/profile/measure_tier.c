#include "profile/measure_tier.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "base/world.h"
#include "net/negatives.h"
#include "ps/ps.h"
#include "ps/tier_sample.h"
#include "ps/tier_try.h"

#define ENOUGH_S 0.5

static bool in_files(const struct hps_measure_opt *o)
{
    return o->max_rows_bytes > 0 && o->files->file[0];
}

/* ---- requests ---- */

/* Do layers with tables read the same table, or the same rows of tables of one size? Then they are
 * of one request, where they are in one stage. */
static bool together(const struct hps_net *net, const struct hps_layer *a,
                     const struct hps_layer *b)
{
    const struct hps_table_shape *x = &net->table[a->table], *y = &net->table[b->table];

    return a->table == b->table ||
           (x->rows == y->rows && x->sums == y->sums && hps_net_same_ids(a, b));
}

static void find_requests(struct hps_profile *p, const struct hps_net *net)
{
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        int first = 0;
        p->layer[l].rows_with = l;
        if (y->table < 0) continue;
        while (net->layer[first].table < 0 || !together(net, &net->layer[first], y))
            first++;
        p->layer[l].rows_with = p->layer[first].rows_with;
    }
}

static bool is_first(const struct hps_profile *p, const struct hps_net *net, int l)
{
    return net->layer[l].table >= 0 && p->layer[l].rows_with == l;
}

/* ---- the sample ---- */

struct sampler {
    const struct hps_net *net;
    const struct hps_measure_opt *o;
    struct hps_tier_trace **trace;      /* (L) of the first layer of each request; or NULL */
    struct hps_reader *reader;
    struct hps_negatives_sampler *noise;
    struct hps_order order;
    struct hps_steps steps;
};

static void make_traces(struct sampler *s, const struct hps_profile *p)
{
    const struct hps_net *net = s->net;
    const struct hps_layer **list = hps_mem_new((size_t)net->L, sizeof(struct hps_layer *));

    s->trace = hps_mem_new((size_t)net->L, sizeof(struct hps_tier_trace *));
    for (int l = 0; l < net->L; l++) {
        int n = 0;
        if (!is_first(p, net, l)) continue;
        for (int i = l; i < net->L; i++) {
            bool same = i > l && net->layer[i].table >= 0 &&
                        hps_net_same_ids(&net->layer[i], &net->layer[l]);
            if (p->layer[i].rows_with == l && !same) list[n++] = &net->layer[i];
        }
        s->trace[l] = hps_tier_trace_new(n, list, net->table[net->layer[l].table].rows,
                                         s->o->microbatches);
    }
    hps_mem_free(list);
}

/* Steps of all workers, of one pass at most. */
static enum hps_status open_reader(struct sampler *s)
{
    const struct hps_measure_opt *o = s->o;
    bool *slot = hps_mem_new((size_t)o->data->nslot, sizeof *slot);
    bool *all = hps_mem_new((size_t)s->net->L, sizeof *all);

    for (int l = 0; l < s->net->L; l++) {
        all[l] = true;
        if (s->trace[l]) hps_net_slots_of(s->net, l, slot);
    }
    s->noise = hps_negatives_new(s->net, all, o->microbatches);
    s->order = hps_order_of_data(o->data, o->shuffle, false, 1);
    s->steps = hps_steps_of(o->data->N, o->batch * o->workers, o->microbatches, 1, 0);
    struct hps_reader_opt opt = { .label = true, .slot = slot, .parts = 1, .ahead = 1 };
    enum hps_status st = hps_reader_new(&s->reader, o->data, &s->order, &s->steps, &opt, 0);
    hps_mem_free(all);
    hps_mem_free(slot);
    return st;
}

/* False: each has enough. */
static bool add(struct sampler *s, const struct hps_batch *batch)
{
    bool some = false;

    batch = hps_negatives_batches(s->noise, batch, 1);
    for (int l = 0; l < s->net->L; l++)
        if (s->trace[l]) some |= hps_tier_trace_add(s->trace[l], batch);
    return some;
}

/* A short last batch counts only where it is the first. */
static enum hps_status read_steps(struct sampler *s)
{
    const struct hps_measure_opt *o = s->o;
    double run = ceil((double)o->examples * o->epochs / ((double)o->batch * o->workers));
    long long n = o->data->N / (o->batch * o->workers);
    const struct hps_batch *batch;
    enum hps_status st = HPS_OK;
    double t0 = hps_steady_s();
    bool more = true;

    if ((double)n > run) n = (long long)run;
    for (long long i = 0; !st && more && i < (n > 1 ? n : 1); i++) {
        st = hps_reader_next(s->reader, &batch);
        if (!st) more = add(s, batch) && hps_steady_s() - t0 < ENOUGH_S;
    }
    return st;
}

static enum hps_status sample(struct hps_profile *p, const struct hps_net *net,
                              const struct hps_measure_opt *o)
{
    struct sampler s = { .net = net, .o = o };

    make_traces(&s, p);
    enum hps_status st = open_reader(&s);
    if (!st) st = read_steps(&s);
    for (int l = 0; l < net->L; l++) {
        if (s.trace[l] && !st) p->layer[l].sample = hps_tier_trace_end(s.trace[l]);
        hps_tier_trace_free(s.trace[l]);
    }
    hps_reader_free(s.reader);
    hps_negatives_free(s.noise);
    hps_mem_free(s.trace);
    return st;
}

enum hps_status hps_measure_tier_rows(struct hps_profile *p, const struct hps_net *net,
                                      const struct hps_measure_opt *o, MPI_Comm world)
{
    enum hps_status st = HPS_OK;

    if (!in_files(o)) return HPS_OK;
    find_requests(p, net);
    if (hps_rank() == 0) st = sample(p, net, o);
    hps_barrier_sleeping(world);
    for (int l = 0; l < p->L && world != MPI_COMM_NULL; l++)
        HPS_MPI(MPI_Bcast(&p->layer[l].sample, (int)sizeof p->layer[l].sample, MPI_BYTE, 0,
                          world));
    return hps_agree(world, st);
}

/* ---- what rows take ---- */

/* A unit may have all of them: its steps are as large as they can be. */
static enum hps_status try_request(struct hps_tier_cost *cost, const struct hps_profile *p,
                                   const struct hps_net *net, int l, const struct hps_node *node,
                                   struct hps_dev *dev, const struct hps_measure_opt *o)
{
    int *table = hps_mem_new((size_t)net->L, sizeof *table), n = 0;

    for (int i = l; i < net->L; i++) {
        bool listed = p->layer[i].rows_with != l;
        for (int k = 0; k < n; k++)
            listed |= table[k] == net->layer[i].table;
        if (!listed) table[n++] = net->layer[i].table;
    }
    struct hps_tier_try_opt opt = { net, n, table, o->train, o->files, p->layer[l].sample.asked,
                                    node->cores > node->threads * node->sharing };
    enum hps_status st = hps_tier_try(cost, &opt, dev);
    hps_mem_free(table);
    return st;
}

static enum hps_status try_all(struct hps_tier_cost *cost, const struct hps_profile *p,
                               const struct hps_net *net, const struct hps_node *node,
                               struct hps_dev *dev, const struct hps_measure_opt *o)
{
    enum hps_status st = HPS_OK;

    for (int l = 0; !st && l < net->L && dev->host && node->reads_s > 0; l++)
        if (is_first(p, net, l)) st = try_request(&cost[l], p, net, l, node, dev, o);
    return st;
}

static void set_type(struct hps_profile *p, int t, const struct hps_tier_cost *cost,
                     double reads_s)
{
    for (int l = 0; l < p->L; l++) {
        size_t at = (size_t)l * (size_t)p->T + (size_t)t;
        p->tier.take_s[at] = cost[l].take_s;
        p->tier.make_s[at] = cost[l].make_s;
        p->tier.read_s[at] = cost[l].read_s;
        p->tier.write_s[at] = cost[l].write_s;
    }
    p->tier.reads_s[t] = reads_s;
}

enum hps_status hps_measure_tier(struct hps_profile *p, const int *round, int nround,
                                 const struct hps_net *net, const struct hps_pool *pool,
                                 struct hps_dev *dev, const struct hps_measure_opt *o,
                                 MPI_Comm world)
{
    size_t L = (size_t)p->L;
    struct hps_tier_cost *mine = hps_mem_new(L, sizeof *mine), *got = hps_mem_new(L, sizeof *got);
    int me = hps_rank();
    enum hps_status st = HPS_OK;

    for (int i = 0; i < nround && in_files(o); i++) {
        if (round[me] == i) st = try_all(mine, p, net, &pool->node[me], dev, o);
        hps_barrier_sleeping(world);
    }
    st = hps_agree(world, st);
    for (int t = 0; !st && t < pool->T && in_files(o); t++) {
        int by = pool->type[t].first;
        memcpy(got, mine, L * sizeof *got);
        if (world != MPI_COMM_NULL)
            HPS_MPI(MPI_Bcast(got, (int)(L * sizeof *got), MPI_BYTE, by, world));
        set_type(p, t, got, pool->type[t].node.reads_s);
    }
    hps_mem_free(mine);
    hps_mem_free(got);
    return st;
}
