/* small_tables.c - takes ids modulo, as the key `hash: mod` does. */
#include "profile/small_tables.h"

#include <string.h>

#include "base/mem.h"

/* The range of ids of slot i of a layer. */
static long long ids_of(const struct hps_net *net, const struct hps_layer *y, int i)
{
    return y->modulo[i] > 0 ? y->modulo[i] : net->slot_buckets[y->slot[i]];
}

/* Of the slots of layer y: bases, then modulos, in `number`, for a table smaller by `times`. */
static void shrink_layer(struct hps_layer *y, const struct hps_net *net, long long times,
                         long long *number)
{
    long long *base = number, *modulo = number + y->nslot;

    for (int i = 0; i < y->nslot; i++) {
        long long ids = ids_of(net, y, i) / times;
        base[i] = y->base[i] / times;
        modulo[i] = ids > 0 ? ids : 1;
    }
    y->base = base;
    y->modulo = modulo;
}

static long long times_of(const struct hps_table_shape *table, const struct hps_train_opt *train,
                          double max_bytes)
{
    struct hps_rule rule = hps_opt_rule(train, &table->override, hps_update_of(0, 1));
    double row_bytes = (double)hps_rule_stride(&rule, table->dim) * sizeof(float);

    return (long long)(1 + (double)table->rows * row_bytes / max_bytes);
}

void hps_small_tables_init(struct hps_small_tables *s, const struct hps_net *from,
                           const struct hps_train_opt *train, double max_bytes)
{
    size_t L = (size_t)from->L, ntable = (size_t)from->ntable, nslot = 0;

    s->net = *from;
    s->net.layer = s->layer = hps_mem_new(L, sizeof *s->layer);
    s->net.table = s->table = hps_mem_new(ntable, sizeof *s->table);
    memcpy(s->layer, from->layer, L * sizeof *s->layer);
    memcpy(s->table, from->table, ntable * sizeof *s->table);
    for (size_t l = 0; l < L; l++)
        nslot += (size_t)from->layer[l].nslot;
    long long *number = s->number = hps_mem_new(2 * nslot, sizeof *number);
    for (size_t l = 0; l < L; l++) {
        struct hps_layer *y = &s->layer[l];
        if (y->table < 0) continue;
        long long times = times_of(&from->table[y->table], train, max_bytes);
        if (times < 2) continue;
        shrink_layer(y, from, times, number);
        number += 2 * y->nslot;
        s->table[y->table].rows = from->table[y->table].rows / times + 1;
    }
}

void hps_small_tables_done(struct hps_small_tables *s)
{
    hps_mem_free(s->layer);
    hps_mem_free(s->table);
    hps_mem_free(s->number);
}
