/* ask.c - a step's ids become places: found by first sight, then sorted by owner. */
#include "comm/ask.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/find.h"
#include "base/mem.h"
#include "model/table.h"

enum { CHUNK = 256 };

struct hps_ask {
    struct hps_dev *dev;
    int parts, M, nlayer;
    const struct hps_layer **layer;
    long long rows;
    struct hps_find *seen;
    int *owner, *number, *place;        /* (nplace) scratch, by first sight         */
    int *local;                         /* (nplace) number at the owner, by place    */
    size_t owner_cap, number_cap, place_cap, local_cap;
    int *cursor;                        /* (parts) scratch                          */
};

struct hps_ask *hps_ask_new(const struct hps_route_use *use, long long rows, int M, int parts,
                            struct hps_dev *dev)
{
    struct hps_ask *k = hps_mem_new(1, sizeof *k);

    k->dev = dev;
    k->parts = parts;
    k->M = M;
    k->nlayer = use->nlayer;
    k->layer = hps_mem_new((size_t)use->nlayer, sizeof(struct hps_layer *));
    for (int j = 0; j < use->nlayer; j++)
        k->layer[j] = use->layer[j];
    k->rows = rows;
    k->seen = hps_find_new();
    k->cursor = hps_mem_new((size_t)parts, sizeof *k->cursor);
    return k;
}

void hps_ask_free(struct hps_ask *k)
{
    if (!k)
        return;
    hps_find_free(k->seen);
    hps_mem_free(k->layer);
    hps_mem_free(k->owner);
    hps_mem_free(k->number);
    hps_mem_free(k->place);
    hps_mem_free(k->local);
    hps_mem_free(k->cursor);
    hps_mem_free(k);
}

/* Ids of a slot in a micro-batch. */
static size_t ids_of(const struct hps_batch *b, int slot)
{
    return b->offset[slot] ? (size_t)b->offset[slot][b->B] : (size_t)b->B;
}

static bool all_single(const struct hps_layer *l, const struct hps_batch *b)
{
    for (int i = 0; i < l->nslot; i++)
        if (b->offset[l->slot[i]])
            return false;
    return true;
}

/* The bags' sizes, and room for all of them. */
static void size_bags(struct hps_ask *k, const struct hps_batch *batch, struct hps_bag *bag,
                      struct hps_ints *index, struct hps_ints *offset)
{
    size_t nid = 0, noffset = 0;

    for (int m = 0; m < k->M; m++)
        for (int j = 0; j < k->nlayer; j++, bag++) {
            const struct hps_layer *l = k->layer[j];
            *bag = (struct hps_bag){ .nslot = l->nslot, .B = batch[m].B };
            for (int i = 0; i < l->nslot; i++)
                bag->nid += ids_of(&batch[m], l->slot[i]);
            bag->single = all_single(l, &batch[m]);
            nid += bag->nid;
            if (!bag->single)
                noffset += (size_t)l->nslot * (size_t)bag->B + 1;
        }
    if (nid > INT_MAX)
        HPS_DIE("%zu ids on this rank in one step; it can work with %d", nid, INT_MAX);
    hps_ints_grow(index, nid + 1);              /* there is always somewhere to point at */
    hps_ints_grow(offset, noffset + 1);
}

/* Places, by first sight, of a slot's ids. */
static void find_slot(struct hps_ask *k, const struct hps_layer *l, int i, size_t n,
                      const long long *id, int *place)
{
    long long row[CHUNK], base = l->base[i], modulo = l->modulo[i];

    for (size_t done = 0; done < n; done += CHUNK) {
        size_t now = n - done < CHUNK ? n - done : CHUNK;
        if (modulo > 0)
            for (size_t c = 0; c < now; c++)
                row[c] = base + id[done + c] % modulo;
        else
            for (size_t c = 0; c < now; c++)
                row[c] = base + id[done + c];
        for (size_t c = 0; c < now; c++)
            assert(row[c] >= 0 && row[c] < k->rows);
        hps_find_put(k->seen, now, row, place + done);
    }
}

/* The bags of a layer: index at `index`, offsets at `offset`. */
static void fill_bag(struct hps_ask *k, const struct hps_layer *l, const struct hps_bag *bag,
                     const struct hps_batch *b, int *index, int *offset)
{
    int at = 0;

    for (int i = 0; i < l->nslot; i++) {
        const int *o = b->offset[l->slot[i]];
        size_t n = ids_of(b, l->slot[i]);
        find_slot(k, l, i, n, b->ids[l->slot[i]], index + at);
        if (!bag->single)
            for (int e = 0; e < b->B; e++)
                *offset++ = at + (o ? o[e] : e);
        at += (int)n;
    }
    if (!bag->single)
        *offset = at;
}

/* hps_table_owner and hps_table_local by one short division: half of the sorting was divisions. */
static void deal(long long row, int parts, int *owner, int *local)
{
    long long block = row / HPS_TABLE_BLOCK;

    if (block > UINT32_MAX) {
        *owner = hps_table_owner(row, parts);
        *local = (int)hps_table_local(row, parts);
        return;
    }
    uint32_t turn = (uint32_t)block / (uint32_t)parts;
    *owner = (int)((uint32_t)block - turn * (uint32_t)parts);
    *local = (int)(turn * HPS_TABLE_BLOCK + (uint32_t)(row % HPS_TABLE_BLOCK));
}

/* Rows first seen in micro-batch m get their places: sorted by owner, else in the order of sight.
 * k->local then holds the owner's number of each row by place. */
static void sort_places(struct hps_ask *k, struct hps_route_step *step, int m)
{
    const long long *key = hps_find_keys(k->seen);
    int first = step->first[m], end = step->first[m + 1], at = first;
    int *ask = step->ask + (size_t)m * (size_t)k->parts;

    hps_mem_grow(&k->owner, &k->owner_cap, (size_t)end, sizeof *k->owner);
    hps_mem_grow(&k->number, &k->number_cap, (size_t)end, sizeof *k->number);
    hps_mem_grow(&k->local, &k->local_cap, (size_t)end, sizeof *k->local);
    hps_mem_grow(&k->place, &k->place_cap, (size_t)end, sizeof *k->place);
    memset(ask, 0, (size_t)k->parts * sizeof *ask);
    if (k->parts == 1) {
        for (int i = first; i < end; i++)
            k->local[i] = (int)key[i];
        ask[0] = end - first;
        return;
    }
    for (int i = first; i < end; i++) {
        deal(key[i], k->parts, &k->owner[i], &k->number[i]);
        ask[k->owner[i]]++;
    }
    for (int q = 0; q < k->parts; q++) {
        k->cursor[q] = at;
        at += ask[q];
    }
    for (int i = first; i < end; i++) {
        k->place[i] = k->cursor[k->owner[i]]++;
        k->local[k->place[i]] = k->number[i];
    }
}

static void find_rows(struct hps_ask *k, const struct hps_batch *batch,
                      struct hps_route_step *step, int *index, int *offset)
{
    struct hps_bag *bag = step->bag;

    hps_find_begin(k->seen);
    for (int m = 0; m < k->M; m++) {
        int *begin = index;
        for (int j = 0; batch && j < k->nlayer; j++, bag++) {
            fill_bag(k, k->layer[j], bag, &batch[m], index, offset);
            bag->index = index;
            bag->offset = bag->single ? NULL : offset;
            index += bag->nid;
            offset += bag->single ? 0 : (size_t)bag->nslot * (size_t)bag->B + 1;
        }
        step->first[m + 1] = hps_find_count(k->seen);
        sort_places(k, step, m);
        for (int *i = begin; k->parts > 1 && i < index; i++)
            *i = k->place[*i];
    }
    step->nplace = step->first[k->M];
}

/* The bags as the device sees them. */
static void show_bags(struct hps_ask *k, struct hps_bag *bag, struct hps_ints *indices,
                      struct hps_ints *offsets)
{
    size_t nid = 0, noffset = 0, nbag = (size_t)k->M * (size_t)k->nlayer;

    for (size_t i = 0; i < nbag; i++) {
        nid += bag[i].nid;
        noffset += bag[i].single ? 0 : (size_t)bag[i].nslot * (size_t)bag[i].B + 1;
    }
    const int *index = hps_ints_show(indices, nid, k->dev);
    const int *offset = hps_ints_show(offsets, noffset, k->dev);
    for (size_t i = 0; i < nbag; i++) {
        bag[i].index = index + (bag[i].index - indices->host);
        if (!bag[i].single)
            bag[i].offset = offset + (bag[i].offset - offsets->host);
    }
}

void hps_ask_step(struct hps_ask *k, const struct hps_batch *batch, struct hps_route_step *step,
                  struct hps_ints *index, struct hps_ints *offset)
{
    if (batch)
        size_bags(k, batch, step->bag, index, offset);
    find_rows(k, batch, step, index->host, offset->host);
    if (batch && !k->dev->host)
        show_bags(k, step->bag, index, offset);
}

const int *hps_ask_rows(const struct hps_ask *k)
{
    return k->local;
}
