/* negatives.c - negative sampling: the draws, and batches with slots for them. */
#include "net/negatives.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { NBUFFER = 2 };                   /* steps whose batches are valid at once */

/* The classes of one layer for a micro-batch. */
struct drawn {
    long long *id;
    int *offset;
    size_t id_cap, offset_cap;
};

struct buffer {
    struct hps_batch *batch;            /* (M)             */
    struct hps_ids *ids;                /* (M, all slots)  */
    const int **offset;                 /* (M, all slots)  */
    struct drawn *drawn;                /* (M, nlayer)     */
};

struct hps_negatives_sampler {
    const struct hps_net *net;
    const struct hps_layer **layer;     /* (nlayer) */
    int nlayer, M;
    struct buffer buffer[NBUFFER];
    long long nstep;
};

long long hps_negatives_draw(const struct hps_negatives *negatives, uint64_t key, uint64_t index)
{
    double u = hps_rng_real(key, index), n = (double)negatives->classes;
    long long c = (long long)(negatives->log_uniform ? exp(u * log(n + 1)) - 1 : u * n);

    return c < negatives->classes ? c : negatives->classes - 1;
}

struct hps_negatives_sampler *hps_negatives_new(const struct hps_net *net, const bool *mine, int M)
{
    size_t slots = (size_t)M * (size_t)(net->nslot + net->ndrawn);
    struct hps_negatives_sampler *k = hps_mem_new(1, sizeof *k);

    *k = (struct hps_negatives_sampler){ .net = net, .M = M };
    k->layer = hps_mem_new((size_t)net->L, sizeof *k->layer);
    for (int l = 0; l < net->L; l++)
        if (mine[l] && net->layer[l].negatives.n > 0) k->layer[k->nlayer++] = &net->layer[l];
    if (k->nlayer == 0) {
        hps_negatives_free(k);
        return NULL;
    }
    for (int t = 0; t < NBUFFER; t++)
        k->buffer[t] = (struct buffer){
            .batch = hps_mem_new((size_t)M, sizeof *k->buffer->batch),
            .ids = hps_mem_new(slots, sizeof *k->buffer->ids),
            .offset = hps_mem_new(slots, sizeof *k->buffer->offset),
            .drawn = hps_mem_new((size_t)M * (size_t)k->nlayer, sizeof *k->buffer->drawn),
        };
    return k;
}

void hps_negatives_free(struct hps_negatives_sampler *k)
{
    if (!k) return;
    for (int t = 0; t < NBUFFER; t++) {
        for (int i = 0; k->buffer[t].drawn && i < k->M * k->nlayer; i++) {
            hps_mem_free(k->buffer[t].drawn[i].id);
            hps_mem_free(k->buffer[t].drawn[i].offset);
        }
        hps_mem_free(k->buffer[t].drawn);
        hps_mem_free(k->buffer[t].batch);
        hps_mem_free(k->buffer[t].ids);
        hps_mem_free(k->buffer[t].offset);
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
            id[j] = hps_negatives_draw(&l->negatives, mine, j);
    }
    d->offset[B] = (int)(B * n);
}

const struct hps_batch *hps_negatives_batches(struct hps_negatives_sampler *k,
                                              const struct hps_batch *batch, uint64_t key)
{
    if (!k || !batch) return batch;
    struct buffer *t = &k->buffer[k->nstep++ % NBUFFER];
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
