/* negatives.c - negative sampling: classes that are drawn, and batches with them. */
#include "net/negatives.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { TURNS = 2 };                     /* steps that live at once */

/* What one layer drew for a micro-batch. */
struct drawn {
    long long *id;
    int *offset;
    size_t id_cap, offset_cap;
};

struct turn {
    struct hps_batch *batch;            /* (M)             */
    struct hps_ids *ids;                /* (M, all slots)  */
    const int **offset;                 /* (M, all slots)  */
    struct drawn *drawn;                /* (M, nlayer)     */
};

struct hps_negatives_batch {
    const struct hps_net *net;
    const struct hps_layer **layer;     /* (nlayer) */
    int nlayer, M;
    struct turn turn[TURNS];
    long long taken;
};

long long hps_negatives_class(const struct hps_negatives *negatives, uint64_t key, uint64_t index)
{
    double u = hps_rng_real(key, index), n = (double)negatives->classes;
    long long c = (long long)(negatives->log_uniform ? exp(u * log(n + 1)) - 1 : u * n);

    return c < negatives->classes ? c : negatives->classes - 1;
}

struct hps_negatives_batch *hps_negatives_new(const struct hps_net *net, const bool *mine, int M)
{
    size_t slots = (size_t)M * (size_t)(net->nslot + net->ndrawn);
    struct hps_negatives_batch *k = hps_mem_new(1, sizeof *k);

    *k = (struct hps_negatives_batch){ .net = net, .M = M };
    k->layer = hps_mem_new((size_t)net->L, sizeof *k->layer);
    for (int l = 0; l < net->L; l++)
        if (mine[l] && net->layer[l].negatives.n > 0) k->layer[k->nlayer++] = &net->layer[l];
    if (k->nlayer == 0) {
        hps_negatives_free(k);
        return NULL;
    }
    for (int t = 0; t < TURNS; t++)
        k->turn[t] = (struct turn){
            .batch = hps_mem_new((size_t)M, sizeof *k->turn->batch),
            .ids = hps_mem_new(slots, sizeof *k->turn->ids),
            .offset = hps_mem_new(slots, sizeof *k->turn->offset),
            .drawn = hps_mem_new((size_t)M * (size_t)k->nlayer, sizeof *k->turn->drawn),
        };
    return k;
}

void hps_negatives_free(struct hps_negatives_batch *k)
{
    if (!k) return;
    for (int t = 0; t < TURNS; t++) {
        for (int i = 0; k->turn[t].drawn && i < k->M * k->nlayer; i++) {
            hps_mem_free(k->turn[t].drawn[i].id);
            hps_mem_free(k->turn[t].drawn[i].offset);
        }
        hps_mem_free(k->turn[t].drawn);
        hps_mem_free(k->turn[t].batch);
        hps_mem_free(k->turn[t].ids);
        hps_mem_free(k->turn[t].offset);
    }
    hps_mem_free(k->layer);
    hps_mem_free(k);
}

static void draw(struct drawn *d, const struct hps_layer *l, const struct hps_batch *b,
                 uint64_t key)
{
    size_t n = (size_t)l->negatives.n + 1, B = (size_t)b->B;

    hps_mem_grow(&d->id, &d->id_cap, B * n, sizeof *d->id);
    hps_mem_grow(&d->offset, &d->offset_cap, B + 1, sizeof *d->offset);
    for (size_t e = 0; e < B; e++) {
        uint64_t mine = hps_rng_sub(key, (uint64_t)b->example[e]);
        long long *id = d->id + e * n;
        d->offset[e] = (int)(e * n);
        id[0] = hps_ids_get(b->ids[l->negatives.slot], e);
        for (size_t j = 1; j < n; j++)
            id[j] = hps_negatives_class(&l->negatives, mine, j);
    }
    d->offset[B] = (int)(B * n);
}

const struct hps_batch *hps_negatives_step(struct hps_negatives_batch *k,
                                           const struct hps_batch *batch, uint64_t key)
{
    if (!k || !batch) return batch;
    struct turn *t = &k->turn[k->taken++ % TURNS];
    size_t all = (size_t)(k->net->nslot + k->net->ndrawn), n = (size_t)k->net->nslot;
    for (int m = 0; m < k->M; m++) {
        struct hps_ids *ids = t->ids + (size_t)m * all;
        const int **offset = t->offset + (size_t)m * all;
        t->batch[m] = batch[m];
        t->batch[m].ids = ids;
        t->batch[m].offset = offset;
        memcpy(ids, batch[m].ids, n * sizeof *ids);
        memcpy(offset, batch[m].offset, n * sizeof *offset);
        for (int i = 0; i < k->nlayer; i++) {
            const struct hps_layer *l = k->layer[i];
            struct drawn *d = &t->drawn[m * k->nlayer + i];
            draw(d, l, &batch[m], hps_rng_sub(key, hps_rng_key(0, l->name)));
            ids[l->slot[0]] = (struct hps_ids){ d->id, true };
            offset[l->slot[0]] = d->offset;
        }
    }
    return t->batch;
}
