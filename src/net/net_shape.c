/* net_shape.c - questions about a network: boundaries, slots, initial weights, the printed table.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/say.h"
#include "net/net.h"

int hps_net_boundary(const struct hps_net *net, int b, int *list, int *width, int *grad_width)
{
    int n = 0;

    *width = *grad_width = 0;
    for (int l = 0; l < b && b < net->L; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use < b) continue;
        if (list) list[n] = l;
        n++;
        *width += x->width;
        *grad_width += x->grad ? x->width : 0;
    }
    return n;
}

bool hps_net_same_ids(const struct hps_layer *a, const struct hps_layer *b)
{
    size_t n = (size_t)a->nslot;

    return a->nslot == b->nslot && memcmp(a->slot, b->slot, n * sizeof *a->slot) == 0 &&
           memcmp(a->base, b->base, n * sizeof *a->base) == 0 &&
           memcmp(a->modulo, b->modulo, n * sizeof *a->modulo) == 0;
}

int hps_net_layers_of_table(const struct hps_net *net, int table)
{
    int n = 0;

    for (int l = 0; l < net->L; l++)
        n += net->layer[l].table == table;
    return n;
}

double hps_net_ids_per_example(const struct hps_net *net, const struct hps_layer *l)
{
    double ids = 0;

    for (int i = 0; i < l->nslot; i++)
        ids += net->slot_ids[l->slot[i]];
    return ids;
}

void hps_net_slots_of(const struct hps_net *net, int l, bool *slot)
{
    const struct hps_layer *y = &net->layer[l];

    for (int i = 0; i < y->nslot; i++)
        slot[y->slot[i] < net->nslot ? y->slot[i] : y->negatives.slot] = true;
}

static bool learns_by(const struct hps_net *net, const struct hps_train_opt *opt, const char *name)
{
    bool any = false;

    for (int l = 0; l < net->L; l++)
        any |= net->layer[l].nparam > 0 &&
               strcmp(hps_opt_name(opt, &net->layer[l].override), name) == 0;
    for (int t = 0; t < net->ntable; t++)
        any |= strcmp(hps_opt_name(opt, &net->table[t].override), name) == 0;
    return any;
}

enum hps_status hps_net_check_optimizers(const struct hps_net *net,
                                         const struct hps_train_opt *opt,
                                         const struct hps_item *train)
{
    static const char *const key[][2] = {
        { "l1", "ftrl" }, { "ftrl_beta", "ftrl" }, { "momentum", "momentum" },
        { "nesterov", "momentum" },
    };

    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (hps_item_has(train, key[i][0]) && !learns_by(net, opt, key[i][1]))
            return hps_deck_wrong(train, key[i][0], "is of the optimizer %s, by which no layer and "
                                  "no table learns", key[i][1]);
    return HPS_OK;
}

static uint64_t stream(uint64_t seed, const char *what, const char *name)
{
    char text[96];

    snprintf(text, sizeof text, "%s %s", what, name);
    return hps_rng_key(seed, text);
}

void hps_net_init_param(const struct hps_net *net, int l, uint64_t seed, float *param)
{
    const struct hps_layer *layer = &net->layer[l];

    if (layer->nparam) layer->type->init(layer, stream(seed, "layer", layer->name), param);
}

void hps_net_init_running(const struct hps_net *net, int l, float *running)
{
    const struct hps_layer *layer = &net->layer[l];

    memset(running, 0, layer->nrunning * sizeof *running);
    if (layer->type->init_running) layer->type->init_running(layer, running);
}

/* Two normal numbers from one index (Box-Muller, in single precision for speed). */
static void normal_pair(uint64_t key, uint64_t index, float scale, float out[2])
{
    const float two_pi = 6.2831853f;
    uint64_t bits = hps_rng_bits(key, index);
    float u = ((float)(bits >> 40) + 0.5f) * 0x1p-24f;          /* never 0: the log is finite */
    float angle = two_pi * (float)(bits & 0xffffff) * 0x1p-24f;
    float radius = scale * sqrtf(-2.0f * logf(u));

    out[0] = radius * cosf(angle);
    out[1] = radius * sinf(angle);
}

uint64_t hps_net_rows_key(const struct hps_net *net, int table, uint64_t seed)
{
    return stream(seed, "table", net->table[table].name);
}

void hps_net_init_rows(const struct hps_net *net, int table, uint64_t key, long long first,
                       long long n, float *rows, size_t stride)
{
    const struct hps_table_shape *t = &net->table[table];
    uint64_t pairs = ((uint64_t)t->dim + 1) / 2;
    float two[2];

    assert(first >= 0 && first + n <= t->rows);
    for (long long r = 0; r < n; r++) {
        float *row = rows + (size_t)r * stride;
        uint64_t at = (uint64_t)(first + r) * pairs;
        for (int d = 0; d < t->dim; d += 2) {
            normal_pair(key, at + (uint64_t)d / 2, (float)t->init_std, two);
            row[d] = two[0];
            if (d + 1 < t->dim) row[d + 1] = two[1];
        }
    }
}

static void print_inputs(const struct hps_net *net, const struct hps_layer *l, char *text,
                         size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < l->ninput && n + 1 < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
                              net->layer[l->input[i]].name);
    for (int i = 0; i < l->nslot && l->nslot <= 3 && n + 1 < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
                              net->slot_name[l->slot[i]]);
    if (l->nslot > 3) snprintf(text, size, "%d slots", l->nslot);
    if (l->wants_dense) snprintf(text, size, "%d features", net->D);
}

void hps_net_print(const struct hps_net *net)
{
    char inputs[48];
    long long sum = 0;

    hps_out("%-16s %-12s %-32s %7s %14s\n", "layer", "type", "inputs", "width", "weights");
    for (int i = 0; i < net->L; i++) {
        const struct hps_layer *l = &net->layer[i];
        const struct hps_table_shape *t = l->table >= 0 ? &net->table[l->table] : NULL;
        long long weights = t ? t->rows * t->dim : (long long)l->nparam;
        for (int k = 0; t && k < i; k++)
            if (net->layer[k].table == l->table) t = NULL; /* shared: told and counted once */
        if (l->table >= 0 && !t) weights = 0;
        sum += weights;
        print_inputs(net, l, inputs, sizeof inputs);
        hps_out("%-16s %-12s %-32.32s %7d %14lld\n", l->name, l->type->name, inputs, l->width,
                weights);
    }
    hps_out("%-16s %-12s %-32s %7s %14lld\n", "", "", "", "", sum);
}
