#include "plan/measure_rows.h"

#include "base/mem.h"

enum { CHUNK = 256 };

void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer,
                          long long nrow)
{
    *r = (struct hps_measure_rows){ .layer = layer, .nrow = nrow, .find = hps_find_new() };
}

void hps_measure_rows_free(struct hps_measure_rows *r)
{
    if (r->find) hps_find_free(r->find);
    hps_mem_free(r->at);
    hps_mem_free(r->index);
    hps_mem_free(r->offset);
}

static size_t ids_of(const struct hps_batch *b, int slot, int B)
{
    return b->offset[slot] ? (size_t)b->offset[slot][B] : (size_t)B;
}

/* Places of n ids of slot i of the layer. */
static void find_slot(struct hps_measure_rows *r, int i, size_t n, const long long *id, int *place)
{
    long long row[CHUNK], base = r->layer->base[i], modulo = r->layer->modulo[i];

    for (size_t done = 0; done < n; done += CHUNK) {
        size_t now = n - done < CHUNK ? n - done : CHUNK;
        for (size_t c = 0; c < now; c++)
            row[c] = base + (modulo > 0 ? id[done + c] % modulo : id[done + c]);
        hps_find_put(r->find, now, row, place + done);
    }
}

/* The table has fewer rows than the layer's: some of its rows stand for several. */
static void list_rows(struct hps_measure_rows *r)
{
    r->n = hps_find_count(r->find);
    hps_mem_grow(&r->at, &r->at_cap, (size_t)r->n + 1, sizeof *r->at);
    for (int k = 0; k < r->n; k++)
        r->at[k] = (int)(hps_find_keys(r->find)[k] % r->nrow);
}

/* The bag of B examples: its places at `index`, its offsets at `offset`. */
static struct hps_bag fill_bag(struct hps_measure_rows *r, const struct hps_batch *b, int B,
                               int *index, int *offset)
{
    const struct hps_layer *y = r->layer;
    struct hps_bag bag = { .nslot = y->nslot, .B = B, .single = true };
    int k = 0;

    for (int i = 0; i < y->nslot; i++) {
        const int *off = b->offset[y->slot[i]];
        size_t n = ids_of(b, y->slot[i], B);
        find_slot(r, i, n, b->ids[y->slot[i]], index + k);
        for (int e = 0; e < B; e++)
            offset[i * B + e] = k + (off ? off[e] : e);
        k += (int)n;
        bag.single &= !off;
    }
    offset[y->nslot * B] = k;
    bag.nid = (size_t)k;
    bag.index = index;
    bag.offset = offset;
    return bag;
}

void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *b, int M, int most,
                           struct hps_bag *bag)
{
    size_t nid = 0, noffset = 0, at = 0, offset = 0;

    for (int m = 0; m < M; m++) {
        int B = b[m].B < most ? b[m].B : most;
        noffset += (size_t)r->layer->nslot * (size_t)B + 1;
        for (int i = 0; i < r->layer->nslot; i++)
            nid += ids_of(&b[m], r->layer->slot[i], B);
    }
    hps_mem_grow(&r->index, &r->index_cap, nid + 1, sizeof *r->index);
    hps_mem_grow(&r->offset, &r->offset_cap, noffset, sizeof *r->offset);
    hps_find_begin(r->find);
    for (int m = 0; m < M; m++) {
        int B = b[m].B < most ? b[m].B : most;
        bag[m] = fill_bag(r, &b[m], B, r->index + at, r->offset + offset);
        at += bag[m].nid;
        offset += (size_t)r->layer->nslot * (size_t)B + 1;
    }
    list_rows(r);
}
