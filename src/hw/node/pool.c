/* pool.c - sorts ranks into resource types: nodes are gathered, sorted and broadcast; link
 * tests. */
#include "hw/pool.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/sort.h"
#include "base/wait.h"

#define NOBODY (-1)

/* Does an entry's `match` fit the hardware of a node? */
static bool fits(const struct hps_resource_opt *e, const struct hps_node *node)
{
    const char *const what[] = { node->host, node->cpu, node->on_gpu ? node->gpu : "" };

    for (int i = 0; i < 3; i++)
        if (fnmatch(e->match, what[i], 0) == 0) return true;
    return false;
}

/* Assign to entry e the ranks that it lists. */
static enum hps_status emulate(const struct hps_pool_opt *opt, int e, int R,
                               const struct hps_node *node, int *entry_of)
{
    const struct hps_resource_opt *o = &opt->entry[e];
    const char *text = o->emulate_ranks;
    int first, last;

    while (hps_pool_range(&text, &first, &last) > 0)
        for (int r = first; r <= last; r++) {
            if (r >= R)
                return hps_deck_wrong(o->item, "emulate", "%s names rank %d, this run has %d",
                                      o->name, r, R);
            if (entry_of[r] != NOBODY)
                return hps_deck_wrong(o->item, "emulate", "%s and %s both name rank %d", o->name,
                                      opt->entry[entry_of[r]].name, r);
            if (!fits(o, &node[r]))
                return hps_deck_wrong(o->item, "match", "'%s' does not fit rank %d (host %s, %s)",
                                      o->match, r, node[r].host, node[r].cpu);
            entry_of[r] = e;
        }
    return HPS_OK;
}

/* Find the entry of each rank. */
static enum hps_status assign(const struct hps_pool_opt *opt, int R, const struct hps_node *node,
                              int *entry_of)
{
    for (int r = 0; r < R; r++)
        entry_of[r] = NOBODY;
    for (int e = 0; e < opt->n; e++) {
        enum hps_status s = emulate(opt, e, R, node, entry_of);
        if (s) return s;
    }
    for (int r = 0; r < R; r++) {
        for (int e = 0; e < opt->n && entry_of[r] == NOBODY; e++)
            if (!opt->entry[e].emulate_ranks[0] && fits(&opt->entry[e], &node[r])) entry_of[r] = e;
        if (entry_of[r] == NOBODY)
            return hps_deck_wrong(opt->entry[0].item, "match",
                                  "no entry of resources fits rank %d (host %s, %s%s%s)", r,
                                  node[r].host, node[r].cpu, node[r].gpu[0] ? ", " : "",
                                  node[r].gpu);
    }
    return HPS_OK;
}

struct key {                    /* what two ranks of a type have in common, and the rank */
    int entry, rank;
    const struct hps_node *node;
};

/* Facts of the system alone: measured rates vary. */
static int compare(const struct key *a, const struct key *b)
{
    int d = (a->entry > b->entry) - (a->entry < b->entry);

    if (!d) d = strcmp(a->node->cpu, b->node->cpu);
    if (!d) d = a->node->cores - b->node->cores;
    if (!d) d = a->node->threads - b->node->threads;
    if (!d) d = strcmp(a->node->gpu, b->node->gpu);
    if (!d) d = a->node->on_gpu - b->node->on_gpu;
    return d;
}

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int d = compare(x, y);
    return d ? d : x->rank - y->rank;
}

/* The median over n ranks of the rate at `offset` in a node. */
static double median_rate(const struct key *k, int n, size_t offset)
{
    double *v = hps_mem_new((size_t)n, sizeof *v);

    for (int i = 0; i < n; i++)
        memcpy(&v[i], (const char *)k[i].node + offset, sizeof *v);
    double m = hps_sort_median(v, (size_t)n);
    hps_mem_free(v);
    return m;
}

static void set_medians(struct hps_node *node, const struct key *k, int n)
{
    node->sgemm_flops_s = median_rate(k, n, offsetof(struct hps_node, sgemm_flops_s));
    node->memory_bytes_s = median_rate(k, n, offsetof(struct hps_node, memory_bytes_s));
    node->gather_rows_s = median_rate(k, n, offsetof(struct hps_node, gather_rows_s));
    node->copy_to_device_bytes_s =
        median_rate(k, n, offsetof(struct hps_node, copy_to_device_bytes_s));
    node->copy_to_host_bytes_s = median_rate(k, n, offsetof(struct hps_node, copy_to_host_bytes_s));
    node->disk_bytes_s = median_rate(k, n, offsetof(struct hps_node, disk_bytes_s));
    node->reads_s = median_rate(k, n, offsetof(struct hps_node, reads_s));
}

/* The entry's name; for further hardware of the entry with "-2", "-3" .., the first unused. */
static void set_name(struct hps_pool *pool, struct hps_type *type, const struct hps_pool_opt *opt)
{
    const char *name = opt->entry[type->entry].name;
    bool first = type == pool->type || type[-1].entry != type->entry;

    snprintf(type->name, sizeof type->name, "%s", name);
    for (int i = 2; !first; i++) {
        bool taken = false;
        snprintf(type->name, sizeof type->name, "%.*s-%d", HPS_NODE_TEXT - 16, name, i);
        for (const struct hps_type *t = pool->type; t < type && !taken; t++)
            taken = strcmp(t->name, type->name) == 0;
        for (int e = 0; e < opt->n && !taken; e++)
            taken = strcmp(opt->entry[e].name, type->name) == 0;
        if (!taken) return;
    }
}

/* The smallest memory among n ranks: of the GPU, or the host's share of a rank, or both. */
static double least_memory(const struct key *k, int n, int R, const struct hps_node *node)
{
    double least = 0;

    for (int i = 0; i < n; i++) {
        int there = 0;
        for (int r = 0; r < R; r++)
            there += strcmp(node[r].host, k[i].node->host) == 0;
        double share = k[i].node->memory_bytes / there;
        if (k[i].node->on_gpu && k[i].node->gpu_memory_bytes > 0)
            share = k[i].node->gpu_memory_bytes + (k[i].node->rows_on_host ? share : 0);
        if (i == 0 || share < least) least = share;
    }
    return least;
}

/* Make a type of the n ranks at k. */
static void set_type(struct hps_pool *pool, struct hps_type *type, const struct key *k, int n,
                     const struct hps_pool_opt *opt)
{
    const struct hps_resource_opt *e = &opt->entry[k->entry];

    type->node = *k->node;
    set_medians(&type->node, k, n);
    type->gpu = type->node.on_gpu;
    type->entry = k->entry;
    type->nrank = n;
    type->first = k->rank;
    type->limit = e->limit;
    type->slow = e->emulate_ranks[0] ? e->emulate_slow : 1;
    type->price_usd_hour = e->price_usd_hour;
    if (strcmp(e->price_per, "core") == 0) type->price_usd_hour *= type->node.threads;
    type->memory_bytes = e->memory > 0 ? e->memory : least_memory(k, n, pool->R, pool->node);
    set_name(pool, type, opt);
}

enum hps_status hps_pool_make(struct hps_pool **pool, int R, const struct hps_node *node,
                              const struct hps_pool_opt *opt)
{
    int *entry_of = hps_mem_new((size_t)R, sizeof *entry_of);
    enum hps_status s = assign(opt, R, node, entry_of);

    *pool = NULL;
    if (s) {
        hps_mem_free(entry_of);
        return s;
    }
    struct hps_pool *p = hps_mem_new(1, sizeof *p);
    struct key *k = hps_mem_new((size_t)R, sizeof *k);
    p->R = R;
    p->type_of = entry_of;                      /* overwritten by types below */
    p->node = hps_mem_new((size_t)R, sizeof *p->node);
    memcpy(p->node, node, (size_t)R * sizeof *p->node);
    for (int r = 0; r < R; r++)
        k[r] = (struct key){ entry_of[r], r, &p->node[r] };
    qsort(k, (size_t)R, sizeof *k, by_key);
    for (int i = 0; i < R; i++)
        p->T += i == 0 || compare(&k[i], &k[i - 1]) != 0;
    p->type = hps_mem_new((size_t)p->T, sizeof *p->type);
    p->link = hps_mem_new((size_t)p->T * (size_t)p->T, sizeof *p->link);
    for (int i = 0, t = 0; t < p->T; t++) {
        int n = 1;
        while (i + n < R && compare(&k[i], &k[i + n]) == 0)
            n++;
        set_type(p, &p->type[t], &k[i], n, opt);
        for (int end = i + n; i < end; i++)
            p->type_of[k[i].rank] = t;
    }
    hps_mem_free(k);
    *pool = p;
    return HPS_OK;
}

void hps_pool_free(struct hps_pool *pool)
{
    if (!pool) return;
    hps_mem_free(pool->type);
    hps_mem_free(pool->node);
    hps_mem_free(pool->type_of);
    hps_mem_free(pool->link);
    hps_mem_free(pool);
}

/* Does an earlier rank compute on r's GPU? */
static bool is_counted(const struct hps_pool *pool, int r)
{
    const struct hps_node *mine = &pool->node[r];

    for (const struct hps_node *n = pool->node; n < mine; n++)
        if (n->on_gpu && memcmp(n->gpu_uuid, mine->gpu_uuid, sizeof mine->gpu_uuid) == 0)
            return true;
    return false;
}

int hps_pool_find(const struct hps_pool *pool, const char *name)
{
    for (int t = 0; t < pool->T; t++)
        if (strcmp(pool->type[t].name, name) == 0) return t;
    return -1;
}

double hps_pool_gpu_sum(const struct hps_pool *pool, const double *of_rank)
{
    double sum = 0;
    int n = 0;

    for (int r = 0; r < pool->R; r++) {
        if (!pool->node[r].on_gpu || is_counted(pool, r)) continue;
        sum += of_rank[r];
        n++;
    }
    return n > 0 ? sum : NAN;
}

struct pair { int t, u, a, b; };                /* two types, and a rank of each */

/* The pairs of types, in the same order on all ranks; b is NOBODY for a type of one rank. */
static struct pair *list_pairs(const struct hps_pool *pool, int *npair)
{
    int T = pool->T, n = 0;
    struct pair *list = hps_mem_new((size_t)T * ((size_t)T + 1) / 2, sizeof *list);

    for (int t = 0; t < T; t++)
        for (int u = t; u < T; u++) {
            int a = pool->type[t].first, b = pool->type[u].first;
            if (t == u)
                for (b = a + 1; b < pool->R && pool->type_of[b] != t; b++)
                    continue;
            list[n++] = (struct pair){ t, u, a, b < pool->R ? b : NOBODY };
        }
    *npair = n;
    return list;
}

/* The pairs measure one after the other, so that they do not disturb each other. */
static void pass_turn(int from, int to, int me, MPI_Comm world)
{
    MPI_Request request;
    char turn = 0;

    if (from == to || (me != from && me != to)) return;
    if (me == from)
        HPS_MPI(MPI_Isend(&turn, 1, MPI_BYTE, to, HPS_TAG_BENCH, world, &request));
    else
        HPS_MPI(MPI_Irecv(&turn, 1, MPI_BYTE, from, HPS_TAG_BENCH, world, &request));
    hps_wait_sleeping(&request);
}

static void measure_links(struct hps_pool *pool, MPI_Comm world)
{
    int n, me, T = pool->T;
    struct pair *list = list_pairs(pool, &n);
    struct hps_link *mine = hps_mem_new((size_t)T * (size_t)T, sizeof *mine);
    MPI_Request request;

    HPS_MPI(MPI_Comm_rank(world, &me));
    for (int i = 0; i < n; i++) {
        struct pair p = list[i];
        struct hps_link link = { 0, pool->type[p.t].node.memory_bytes_s };
        if (i > 0) pass_turn(list[i - 1].a, p.a, me, world);
        if (p.b != NOBODY && (me == p.a || me == p.b))
            link = hps_bench_pair(me == p.a ? p.b : p.a, me == p.a, world);
        if (me == p.a) mine[p.t * T + p.u] = mine[p.u * T + p.t] = link;
    }
    HPS_MPI(MPI_Iallreduce(mine, pool->link, 2 * T * T, MPI_DOUBLE, MPI_SUM, world, &request));
    hps_wait_sleeping(&request);
    hps_mem_free(mine);
    hps_mem_free(list);
}

/* Gather the facts as bytes and broadcast them: all ranks then sort the same list. */
enum hps_status hps_pool_gather(struct hps_pool **pool, const struct hps_node *node,
                                const struct hps_pool_opt *opt, bool links, MPI_Comm world)
{
    int R = 1, bytes = (int)sizeof *node;

    if (world == MPI_COMM_NULL) return hps_pool_make(pool, 1, node, opt);
    HPS_MPI(MPI_Comm_size(world, &R));
    struct hps_node *all = hps_mem_new((size_t)R, sizeof *all);
    HPS_MPI(MPI_Gather(node, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, world));
    HPS_MPI(MPI_Bcast(all, R * bytes, MPI_BYTE, 0, world));
    enum hps_status s = hps_pool_make(pool, R, all, opt);
    if (!s && links) measure_links(*pool, world);
    hps_mem_free(all);
    return s;
}
