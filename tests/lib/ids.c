/* ids.c - made-up batches for the tests of routes and stores. */
#include "ids.h"

#include "base/rng.h"

static int slots[IDS_LAYERS][4] = { { 0, 1 }, { 0, 1, 2, 1 } };
static long long bases[IDS_LAYERS][4] = {
    { 0, IDS_BUCKETS }, { 0, IDS_BUCKETS, 2 * IDS_BUCKETS, 3 * IDS_BUCKETS }
};
static long long modulos[IDS_LAYERS][4] = { { 0, 0 }, { 0, 0, 0, 40 } };

void ids_layers(struct ids *ids)
{
    for (int j = 0; j < IDS_LAYERS; j++) {
        ids->layer[j] = (struct hps_layer){ .nslot = j == 0 ? 2 : 4, .slot = slots[j],
                                            .base = bases[j], .modulo = modulos[j] };
        ids->use[j] = &ids->layer[j];
    }
}

static long long draw(uint64_t key, uint64_t i)
{
    double u = hps_rng_real(key, i);

    return (long long)(u * u * u * IDS_BUCKETS);
}

void ids_make(struct ids_batch *own, struct hps_batch *batch, long long step, int r, int m)
{
    uint64_t key = hps_rng_sub(hps_rng_sub(hps_rng_key(3, "ids"), (uint64_t)step),
                               (uint64_t)(r * MAX_IDS_M + m));
    uint64_t next = 1;
    int B = (int)(hps_rng_bits(key, 0) % (MAX_IDS_B + 1)), n = 0;

    for (int b = 0; b < B; b++) {
        own->id[0][b] = draw(key, next++);
        own->id[1][b] = draw(key, next++);
        own->offset[b] = n;
        for (int many = (int)(hps_rng_bits(key, next++) % (MAX_IDS_BAG + 1)); many > 0; many--)
            own->id[2][n++] = draw(key, next++);
    }
    own->offset[B] = n;
    for (int i = 0; i < IDS_SLOTS; i++) {
        own->ids[i] = (struct hps_ids){ own->id[i], true };
        own->offsets[i] = i == 2 ? own->offset : NULL;
    }
    *batch = (struct hps_batch){ .B = B, .ids = own->ids, .offset = own->offsets };
}

long long ids_row(const struct hps_layer *l, const struct hps_batch *batch, int i, int at)
{
    long long id = hps_ids_get(batch->ids[l->slot[i]], (size_t)at);

    return l->base[i] + (l->modulo[i] ? id % l->modulo[i] : id);
}

int ids_count(const struct hps_layer *l, const struct hps_batch *batch, int i)
{
    const int *offset = batch->offset[l->slot[i]];

    return offset ? offset[batch->B] : batch->B;
}

int ids_nplace(const struct hps_lookup *lookup, int bag)
{
    return lookup->offset[bag + 1] - lookup->offset[bag] + lookup->hot.begin[bag + 1] -
           lookup->hot.begin[bag];
}

int ids_place(const struct hps_lookup *lookup, int bag, int k)
{
    int nsum = lookup->offset[bag + 1] - lookup->offset[bag];

    return k < nsum ? lookup->of.index[lookup->offset[bag] + k]
                    : lookup->by_row.row[(int)lookup->by_row.n - lookup->hot.n +
                                         lookup->hot.number[lookup->hot.begin[bag] + k - nsum]];
}

void ids_defer(int n, int dim, const float *grad, struct hps_row_sums *deferred)
{
    static float half[2 * IDS_ROWS * IDS_DIM];
    static int start_at[IDS_ROWS + 1], from[2 * IDS_ROWS];

    for (int i = 0; i < n; i++) {
        from[2 * i] = i;
        from[2 * i + 1] = 2 * n - 1 - i;
        start_at[i + 1] = 2 * (i + 1);
        for (int c = 0; c < dim; c++)
            half[i * dim + c] = half[(2 * n - 1 - i) * dim + c] = 0.5f * grad[i * dim + c];
    }
    *deferred = (struct hps_row_sums){ half, start_at, from };
}
