/* generate.c - the verb `generate`: synthetic data of the deck's shape, whose best AUC is known. */
#include "app/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/options.h"
#include "app/verbs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"
#include "data/generate.h"

const struct hps_field hps_shape_fields[] = {
    HPS_FIELD(hps_shape_opt, dense, HPS_INT, "13", 0, 1e6, "", "dense features: I1, I2, ..."),
    HPS_FIELD(hps_shape_opt, slots, HPS_INT, "26", 0, 1e5, "", "slots: C1, C2, ..."),
    HPS_FIELD(hps_shape_opt, buckets, HPS_LIST, "[1000001]", 0, 0, "",
              "ids of a slot; one number for all, or one a slot"),
    HPS_FIELD(hps_shape_opt, ids, HPS_LIST, "[0]", 0, 0, "",
              "0: exactly one id an example; else the mean of any number; for all or each slot"),
    HPS_CHOICE(hps_shape_opt, lengths, "varied", "varied|even",
               "any number: from 0 to twice the mean, or always the mean"),
    HPS_FIELD(hps_shape_opt, alike, HPS_BOOL, "false", 0, 0, "",
              "the same ids are frequent in all slots, as in slots that read one table"),
    HPS_FIELD(hps_shape_opt, zipf, HPS_REAL, "1.05", 0, 10, "",
              "the k-th most frequent id has a share k^-zipf"),
    HPS_FIELD(hps_shape_opt, drift, HPS_LONG, "0", 0, 1e15, "examples",
              "95 % of a slot's ids are from a window that moves by its length in so many; 0: all "
              "by zipf"),
    HPS_FIELD(hps_shape_opt, window, HPS_REAL, "0.05", 1e-6, 1, "",
              "share of a slot's ids in that window, all alike frequent"),
    HPS_FIELD(hps_shape_opt, positives, HPS_REAL, "0.25", 0.001, 0.999, "", "share of label 1"),
    HPS_FIELD(hps_shape_opt, strength, HPS_REAL, "2", 0, 100, "",
              "standard deviation of the hidden teacher's log-odds"),
    { 0 }
};

/* A key with one number, or one for each slot; integers where `whole`, at least `min`. */
struct numbers {
    const struct hps_item *item;    /* the section of the deck */
    const char *key;
    const struct hps_list *list;
    bool whole;
    double min;
};

/* The number of slot i of n. */
static enum hps_status number(const struct numbers *k, int i, int n, double *value)
{
    const struct hps_list *list = k->list;
    if (list->n != 1 && list->n != n)
        return hps_deck_wrong(k->item, k->key,
                              "%d numbers for %d slots: wanted is one, or one a slot", list->n, n);
    const char *text = list->item[list->n == 1 ? 0 : i];
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= k->min && *value <= 1e15) ||
        (k->whole && *value != floor(*value)))
        return hps_deck_wrong(k->item, k->key, "'%s' is no %s from %g on", text,
                              k->whole ? "whole number" : "number", k->min);
    return HPS_OK;
}

/* Names and numbers of every slot and feature, for data/generate.h. */
struct shape {
    char **dense, **slot;
    long long *buckets;
    double *bag;
};

static enum hps_status fill(struct shape *s, const struct hps_options *o)
{
    const struct hps_shape_opt *g = &o->generate;
    const struct hps_item *item;
    enum hps_status st = hps_deck_map(o->deck, "generate", &item);

    const struct numbers sizes = { item, "buckets", &g->buckets, true, 1 };
    const struct numbers bags = { item, "ids", &g->ids, false, 0 };
    s->dense = hps_mem_new((size_t)g->dense, sizeof *s->dense);
    s->slot = hps_mem_new((size_t)g->slots, sizeof *s->slot);
    s->buckets = hps_mem_new((size_t)g->slots, sizeof *s->buckets);
    s->bag = hps_mem_new((size_t)g->slots, sizeof *s->bag);
    for (int i = 0; i < g->dense; i++)
        s->dense[i] = hps_mem_print("I%d", i + 1);
    for (int i = 0; !st && i < g->slots; i++) {
        double buckets = 0;
        s->slot[i] = hps_mem_print("C%d", i + 1);
        st = number(&sizes, i, g->slots, &buckets);
        if (!st) st = number(&bags, i, g->slots, &s->bag[i]);
        s->buckets[i] = (long long)buckets;
    }
    return st;
}

static void done(struct shape *s, const struct hps_shape_opt *g)
{
    for (int i = 0; s->dense && i < g->dense; i++)
        hps_mem_free(s->dense[i]);
    for (int i = 0; s->slot && i < g->slots; i++)
        hps_mem_free(s->slot[i]);
    hps_mem_free(s->dense);
    hps_mem_free(s->slot);
    hps_mem_free(s->buckets);
    hps_mem_free(s->bag);
}

struct range {
    long long first, rows;
};

static enum hps_status generate(const struct hps_options *o, struct range range,
                                const char *output)
{
    const struct hps_shape_opt *g = &o->generate;
    struct shape s = { 0 };
    double auc = NAN, began = hps_now_s();
    enum hps_status st = fill(&s, o);

    if (!st) {
        struct hps_generate_opt opt = { .first = range.first,
                                        .rows = range.rows,
                                        .D = g->dense,
                                        .nslot = g->slots,
                                        .dense_name = (const char *const *)s.dense,
                                        .slot_name = (const char *const *)s.slot,
                                        .buckets = s.buckets,
                                        .bag = s.bag,
                                        .even = strcmp(g->lengths, "even") == 0,
                                        .alike = g->alike,
                                        .zipf = g->zipf,
                                        .drift = g->drift,
                                        .window = g->window,
                                        .positives = g->positives,
                                        .strength = g->strength,
                                        .seed = (uint64_t)o->run.seed,
                                        .source = "heterps generate" };
        st = hps_generate(output, &opt, &auc);
    }
    if (!st)
        hps_out("%s: %lld rows, %d dense features, %d slots; no model can pass AUC %.4f; %.2f s\n",
                output, range.rows, g->dense, g->slots, auc, hps_now_s() - began);
    done(&s, g);
    return st ? st : hps_out_flush();
}

static enum hps_status count_of(const char *name, const char *text, int min, long long *count)
{
    char *end;
    double n = text ? strtod(text, &end) : 0;
    if (text && end != text && *end == 0 && n >= min && n <= 1e13 && n == floor(n)) {
        *count = (long long)n;
        return HPS_OK;
    }
    HPS_SAY(HPS_ERROR, "heterps generate: wants --%s N, a whole number from %d on", name, min);
    return HPS_USAGE;
}

enum hps_status hps_app_generate(int argc, char **argv, MPI_Comm world)
{
    const char *rows = NULL, *first = NULL, *output = NULL;
    struct hps_arg_list set = { 0 }, deck = { 0 };
    struct hps_options o = { 0 };
    const struct hps_arg table[] = { { .name = "rows", .text = &rows },
                                     { .name = "first", .text = &first },
                                     { .name = "output", .text = &output },
                                     { .name = "set", .list = &set },
                                     { 0 } };
    struct range range = { 0 };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &deck);

    if (!st) st = count_of("rows", rows, 1, &range.rows);
    if (!st && first) st = count_of("first", first, 0, &range.first);
    if (!st && !output) {
        HPS_SAY(HPS_ERROR, "heterps generate: --output FILE.h5 is missing");
        st = HPS_USAGE;
    }
    if (!st) st = hps_outputs_add("output", &output, HPS_OUTPUT_NEW);
    if (!st) st = hps_options_load(&o, deck.item[0], set.n, set.item, world);
    if (!st) st = generate(&o, range, output);
    hps_options_done(&o);
    hps_args_done(&set);
    hps_args_done(&deck);
    return st;
}
