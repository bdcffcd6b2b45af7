#include "plan/measure_rows.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

void hps_measure_rows_free(struct hps_measure_rows *r)
{
    hps_mem_free(r->map);
    hps_mem_free(r->at);
    hps_mem_free(r->index);
    hps_mem_free(r->offset);
}

void hps_measure_rows_begin(struct hps_measure_rows *r)
{
    if (r->slots) memset(r->map, 0, r->slots * sizeof *r->map);
    r->n = r->first = 0;
}

/* Where a row is in the map, or the free place for it. */
static size_t probe(const struct hps_measure_rows *r, int row)
{
    size_t i = (size_t)hps_rng_mix((uint64_t)row) & (r->slots - 1);

    while (r->map[i] && r->at[r->map[i] - 1] != row)
        i = (i + 1) & (r->slots - 1);
    return i;
}

/* Room for n distinct rows a step. */
static void make_room(struct hps_measure_rows *r, size_t n)
{
    if (2 * n <= r->slots) return;
    hps_mem_free(r->map);
    for (r->slots = r->slots ? r->slots : 64; r->slots < 4 * n; r->slots *= 2)
        ;
    hps_mem_grow(&r->at, &r->at_cap, r->slots / 2, sizeof *r->at);
    r->map = hps_mem_new(r->slots, sizeof *r->map);
    for (int i = 0; i < r->n; i++)
        r->map[probe(r, r->at[i])] = i + 1;
}

static int place_of(struct hps_measure_rows *r, int row)
{
    size_t i = probe(r, row);

    if (!r->map[i]) {
        r->at[r->n++] = row;
        r->map[i] = r->n;
    }
    return r->map[i] - 1;
}

static size_t ids_of(const struct hps_batch *b, int slot, int B)
{
    return b->offset[slot] ? (size_t)b->offset[slot][B] : (size_t)B;
}

/* Places of the ids of slot i of the layer, from k on. Answers where they end. */
static int find_slot(struct hps_measure_rows *r, const struct hps_batch *b, int i, int B, int k)
{
    const struct hps_layer *y = r->layer;
    const long long *id = b->ids[y->slot[i]];
    const int *off = b->offset[y->slot[i]];

    for (int e = 0; e < B; e++) {
        r->offset[i * B + e] = k;
        for (int j = off ? off[e] : e; j < (off ? off[e + 1] : e + 1); j++) {
            long long row = y->base[i] + (y->modulo[i] ? id[j] % y->modulo[i] : id[j]);
            r->index[k++] = place_of(r, (int)(row % r->nrow));
        }
    }
    return k;
}

struct hps_bag hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *b, int B)
{
    const struct hps_layer *y = r->layer;
    struct hps_bag bag = { .nslot = y->nslot, .B = B, .single = true };
    int k = 0;

    for (int i = 0; i < y->nslot; i++) {
        bag.nid += ids_of(b, y->slot[i], B);
        bag.single &= !b->offset[y->slot[i]];
    }
    r->first = r->n;
    make_room(r, (size_t)r->n + bag.nid + 1);
    hps_mem_grow(&r->index, &r->index_cap, bag.nid + 1, sizeof *r->index);
    hps_mem_grow(&r->offset, &r->offset_cap, (size_t)y->nslot * (size_t)B + 1, sizeof *r->offset);
    for (int i = 0; i < y->nslot; i++)
        k = find_slot(r, b, i, B, k);
    r->offset[y->nslot * B] = k;
    bag.index = r->index;
    bag.offset = r->offset;
    return bag;
}
