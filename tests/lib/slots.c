/* slots.c - made-up ids, from a counter-based generator. */
#include "slots.h"

#include "base/mem.h"
#include "base/rng.h"

enum { SMALL_ROWS = 100, SMALL_MULTI = 80 };    /* of them those of slot 1 */

static void make_layers(struct slots *s, int nlayer, enum slots_kind kind)
{
    bool few = kind == SLOTS_SMALL;

    s->slot[1] = 1;
    s->base[1] = few ? SMALL_ROWS - SMALL_MULTI : 5000;
    s->base1 = few ? 5 : 100;
    s->modulo1 = 300;
    s->layer[0] = (struct hps_layer){ .nslot = 2, .slot = s->slot, .base = s->base,
                                      .modulo = s->modulo };
    s->layer[1] = (struct hps_layer){ .nslot = 1, .slot = s->slot + 1, .base = &s->base1,
                                      .modulo = &s->modulo1 };
    for (int j = 0; j < nlayer; j++)
        s->use[j] = &s->layer[j];
}

static uint32_t single_id(const struct slots *s, enum slots_kind kind, uint64_t key, int b)
{
    double x = hps_rng_real(key, (uint64_t)b);

    return kind == SLOTS_FLAT ? (uint32_t)b : (uint32_t)((double)s->base[1] * x * x * x);
}

/* Number i. */
static long long multi_id(const struct slots *s, enum slots_kind kind, uint64_t key, int i)
{
    double x = hps_rng_real(key, (uint64_t)i);

    switch (kind) {
    case SLOTS_SKEWED: return (long long)((double)(s->rows - s->base[1]) * x * x * x * x);
    case SLOTS_FLAT: return i;
    default: return (long long)(SMALL_MULTI * x);
    }
}

static void make_ids(struct slots *s, enum slots_kind kind, int m, int B, int turn)
{
    uint64_t key = hps_rng_key((uint64_t)(m + SLOTS_M * turn), "ids");
    uint64_t multi_key = hps_rng_key((uint64_t)(m + SLOTS_M * turn), "ids of bags");
    int *offset = s->offset[m] = hps_mem_new((size_t)B + 1, sizeof *offset);

    s->single[m] = hps_mem_new((size_t)B, sizeof *s->single[m]);
    for (int b = 0; b < B; b++) {
        s->single[m][b] = single_id(s, kind, key, b);
        offset[b + 1] = offset[b] + (int)(hps_rng_bits(key, (uint64_t)b) % (MAX_SLOTS_BAG + 1));
    }
    s->multi[m] = hps_mem_new((size_t)offset[B], sizeof *s->multi[m]);
    for (int i = 0; i < offset[B]; i++)
        s->multi[m][i] = multi_id(s, kind, multi_key, i);
    s->ids[m][0] = (struct hps_ids){ s->single[m], false };
    s->ids[m][1] = (struct hps_ids){ s->multi[m], true };
    s->offsets[m][1] = offset;
}

struct slots *slots_make(int nlayer, enum slots_kind kind, long long rows, int B, int turn)
{
    struct slots *s = hps_mem_new(1, sizeof *s);

    s->rows = kind == SLOTS_SMALL ? SMALL_ROWS : rows;
    make_layers(s, nlayer, kind);
    for (int m = 0; m < SLOTS_M; m++) {
        make_ids(s, kind, m, B, turn);
        s->batch[m] = (struct hps_batch){ .B = m == turn ? B - 3 : B / (turn + 1),
                                          .ids = s->ids[m], .offset = s->offsets[m] };
    }
    return s;
}

void slots_free(struct slots *s)
{
    for (int m = 0; m < SLOTS_M; m++) {
        hps_mem_free(s->single[m]);
        hps_mem_free(s->multi[m]);
        hps_mem_free(s->offset[m]);
    }
    hps_mem_free(s);
}

long long slots_row(const struct hps_layer *l, int i, long long id)
{
    return l->base[i] + (l->modulo[i] ? id % l->modulo[i] : id);
}
