/* measure_layer.c - trains some steps and times each layer in place. Medians, since other
 * processes of the host may disturb. */
#include "profile/measure_layer.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/thread.h"
#include "hw/stopwatch.h"
#include "net/load.h"
#include "net/negatives.h"
#include "net/slice.h"
#include "plan/budget.h"
#include "profile/measure_table.h"

#define TABLE_BYTES 268435456.0
#define ENOUGH_S    0.05        /* of a size, if it had MIN_SAMPLES passes                     */

enum { MIN_SAMPLES = 4, MAX_SAMPLES = 48 };     /* micro-batches of a size, after the first */
enum { WARM_UP = 4 };           /* steps that are pulled before: as many buffers has a server */
enum part { FORWARD, BACKWARD, PARTS };

struct bench {
    const struct hps_net *net;
    struct hps_dev *dev;
    const struct hps_measure_opt *opt;
    struct hps_slice *slice;
    struct hps_small_team alone;
    struct hps_measure_table *table;  /* (L)                                              */
    bool *first;                /* (L) no earlier layer requests the same rows            */
    const struct hps_lookup **lookup; /* (M, L) of the step under way                     */
    struct hps_reader *reader;
    struct hps_negatives_sampler *noise;
    const struct hps_batch *batch; /* (M) of the step under way                          */
    struct hps_load load;       /* of its columns: raw (M) as the device has them         */
    struct hps_load_raw *raw;
    struct hps_feed feed;
    double *sample[PARTS];      /* (MAX_SAMPLES, L) seconds                                      */
    double *once_s, *rows_s;    /* (L) a micro-batch's share of update, of finding rows   */
    double (*clock_s)(void);
    double look_s;              /* of reading the clock                                   */
    struct hps_stopwatch watch; /* of updates                                             */
};

/* ---- making ---- */

/* Do owners send partial pooled sums of an embedding layer? */
static bool gets_sums(const struct bench *w, const struct hps_layer *y)
{
    return w->net->table[y->table].sums && w->dev->host;
}

/* Do two layers request the same rows? Then a training requests them once. */
static bool same_rows(const struct bench *w, const struct hps_layer *a, const struct hps_layer *b)
{
    return b->table >= 0 && w->net->table[a->table].rows == w->net->table[b->table].rows &&
           gets_sums(w, a) == gets_sums(w, b) &&
           a->type->host_needs_no_index == b->type->host_needs_no_index && hps_net_same_ids(a, b);
}

static enum hps_status make_tables(struct bench *w)
{
    enum hps_status st = hps_small_team_new(&w->alone, 1, 0, MPI_COMM_SELF);

    for (int l = 0; !st && l < w->net->L; l++) {
        const struct hps_layer *y = &w->net->layer[l];
        if (y->table < 0) continue;
        w->first[l] = true;
        for (int i = 0; i < l; i++)
            w->first[l] &= !same_rows(w, y, &w->net->layer[i]);
        int nreader = hps_net_layers_of_table(w->net, y->table);
        struct hps_measure_table_opt opt = { w->opt->microbatches, TABLE_BYTES / nreader,
                                             w->opt->train, w->opt->storage };
        st = hps_measure_table_new(&w->table[l], w->net, l, &w->alone, w->dev, &opt);
    }
    return st;
}

static enum hps_status make_reader(struct bench *w)
{
    const struct hps_data *data = w->opt->data;
    struct hps_order order = hps_order_of_data(data, w->opt->shuffle, false, 1);
    struct hps_steps steps =
        hps_steps_of(data->N, w->opt->batch, w->opt->microbatches, 0, INT32_MAX);
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    for (int l = 0; l < w->net->L; l++)
        hps_net_slots_of(w->net, l, slot);
    struct hps_reader_opt opt = {
        .label = true, .dense = true, .slot = slot, .part = 0, .parts = 1, .ahead = 1
    };
    enum hps_status st = hps_reader_new(&w->reader, data, &order, &steps, &opt, 0);
    hps_mem_free(slot);
    return st;
}

static enum hps_status next_batch(struct bench *w)
{
    enum hps_status st = hps_reader_next(w->reader, &w->batch);
    for (int l = 0; l < w->net->L; l++) {
        const struct hps_layer *y = &w->net->layer[l];
        for (int m = 0; !st && y->type->check_batch && m < w->opt->microbatches; m++)
            st = y->type->check_batch(y, &w->batch[m]);
    }
    if (st) w->batch = NULL;
    w->batch = hps_negatives_batches(w->noise, w->batch, 1);
    w->dev->ops->stream_wait(w->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    if (w->batch) hps_load_batch(&w->load, w->dev, w->opt->microbatches, w->batch, w->raw);
    w->dev->ops->stream_wait(w->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    return st;
}

static void make_noise(struct bench *w)
{
    bool *all = hps_mem_new((size_t)w->net->L, sizeof *all);
    for (int l = 0; l < w->net->L; l++)
        all[l] = true;
    w->noise = hps_negatives_new(w->net, all, w->opt->microbatches);
    hps_mem_free(all);
}

static enum hps_status make(struct bench *w, int Bo)
{
    size_t L = (size_t)w->net->L, M = (size_t)w->opt->microbatches;
    enum hps_status st;

    w->table = hps_mem_new(L, sizeof *w->table);
    w->first = hps_mem_new(L, sizeof *w->first);
    w->lookup = hps_mem_new(M * L, sizeof *w->lookup);
    w->once_s = hps_mem_new(L, sizeof *w->once_s);
    w->rows_s = hps_mem_new(L, sizeof *w->rows_s);
    hps_stopwatch_init(&w->watch, w->dev, hps_core_s);
    w->raw = hps_mem_new(M, sizeof *w->raw);
    for (int p = 0; p < PARTS; p++)
        w->sample[p] = hps_mem_new(L * MAX_SAMPLES, sizeof *w->sample[p]);
    st = make_reader(w);
    make_noise(w);
    if (!st) st = next_batch(w);
    if (!st)
        st = hps_slice_new(&w->slice, w->net, w->dev,
                           &(struct hps_slice_opt){ 0, w->net->L - 1, Bo, 1,
                                                    w->opt->train, 1, true });
    if (!st) st = make_tables(w);
    return st;
}

static void done(struct bench *w)
{
    for (int l = 0; l < w->net->L; l++)
        hps_measure_table_free(&w->table[l]);
    hps_small_team_free(&w->alone);
    hps_slice_free(w->slice);
    hps_reader_free(w->reader);
    hps_negatives_free(w->noise);
    hps_mem_free(w->table);
    hps_mem_free(w->first);
    hps_mem_free(w->lookup);
    hps_mem_free(w->once_s);
    hps_mem_free(w->rows_s);
    hps_load_free(&w->load, w->dev);
    hps_stopwatch_done(&w->watch);
    hps_mem_free(w->raw);
    for (int p = 0; p < PARTS; p++)
        hps_mem_free(w->sample[p]);
}

/* ---- measuring ---- */

/* CPU time of this thread, which other processes do not affect. A GPU is timed by events, or by
 * wall time where the host takes part. */
static void set_clock(struct bench *w)
{
    enum { LOOKS = 200 };

    w->clock_s = w->dev->host ? hps_core_s : hps_now_s;
    double t0 = w->clock_s();
    for (int i = 0; i < LOOKS; i++)
        w->clock_s();
    w->look_s = (w->clock_s() - t0) / (LOOKS + 1);
}

/* Request and pull the rows of layer l. Returns seconds of the step. Layers with the same rows
 * request them once, and it counts for the first one. */
static double pull_one(struct bench *w, int l, int B)
{
    struct hps_measure_table *t = &w->table[l];
    const struct hps_batch *batch = hps_measure_table_batch(t, w->batch, B);
    double t0 = w->clock_s();

    hps_ps_prefetch(t->requests, batch);
    if (!w->first[l]) {
        w->dev->ops->sync(w->dev);
        t0 = w->clock_s();
    }
    hps_ps_begin(t->ps, t->requests);
    for (int m = 0; m < w->opt->microbatches; m++)
        w->lookup[m * w->net->L + l] = hps_ps_pull(t->ps, m, 0);
    w->dev->ops->sync(w->dev);
    return w->clock_s() - t0;
}

/* Begin a step of micro-batches of at most B examples. */
static void pull(struct bench *w, int B)
{
    for (int l = 0; l < w->net->L; l++)
        if (w->table[l].ps)
            w->rows_s[l] = fmin(w->rows_s[l], pull_one(w, l, B) / w->opt->microbatches);
}

/* An emulated rank sleeps after its work, in short pieces as in training; not for as long as there
 * where that takes seconds. */
static void nap(const struct bench *w, double core, double began)
{
    const double longest_s = 200e-6, shortest_s = 50e-6, enough_s = 0.01;
    double end = began + fmin(core * w->dev->slow, core + enough_s), left;

    while (w->dev->slow > 1 && (left = end - hps_now_s()) > shortest_s)
        hps_sleep_s(fmin(left, longest_s));
}

static void half_pass(struct bench *w, bool backward, double *seconds)
{
    double began = hps_now_s(), core = hps_core_s(), device = 0;

    hps_slice_measure(w->slice, &w->feed, backward, w->clock_s, seconds);
    for (int l = 0; l < w->net->L; l++)
        device += seconds[l];
    nap(w, w->dev->host ? hps_core_s() - core : device, began);
    for (int l = 0; l < w->net->L && w->dev->host; l++)
        seconds[l] = fmax(seconds[l] - w->look_s, 0);
}

/* Pass the first B examples of micro-batch m through all layers; seconds to row `at` of the
 * samples. */
static void pass(struct bench *w, int m, int B, int at)
{
    const struct hps_load_raw *raw = &w->raw[m];
    size_t row = (size_t)at * (size_t)w->net->L;

    w->feed.B = B;
    w->feed.example = raw->example;
    w->feed.label = raw->label;
    w->feed.dense = raw->dense;
    w->feed.weight = 1.0f / (float)w->opt->batch;
    w->feed.lookup = w->lookup + m * w->net->L;
    half_pass(w, false, w->sample[FORWARD] + row);
    half_pass(w, true, w->sample[BACKWARD] + row);
}

/* End a step, and record a micro-batch's share of the update. */
static void update(struct bench *w, long long step)
{
    struct hps_update u = hps_update_of(step, INT32_MAX);

    for (int l = 0; l < w->net->L; l++) {
        const struct hps_layer *y = &w->net->layer[l];
        struct hps_rule rule = hps_opt_rule(w->opt->train, &y->override, u);
        hps_stopwatch_begin(&w->watch);
        if (w->table[l].ps) {
            hps_ps_push_begin(w->table[l].ps);
            hps_ps_push_end(w->table[l].ps);
            hps_ps_apply(w->table[l].ps, 0, u, 1);
        }
        hps_slice_update_layer(w->slice, l, &rule);
        w->once_s[l] = fmin(w->once_s[l], hps_stopwatch_end(&w->watch) / w->opt->microbatches);
    }
}

/* Measure steps of micro-batches of B examples until there are enough samples, *n [out]. */
static enum hps_status run_size(struct bench *w, int B, int *n)
{
    double began_s = hps_now_s();
    enum hps_status st = HPS_OK;
    bool warm = false, enough = false;

    *n = 0;
    for (int l = 0; l < w->net->L; l++)
        w->once_s[l] = w->rows_s[l] = INFINITY;
    for (long long step = 0; !st && !enough; step++) {
        if (w->batch[0].B < B) {        /* the last of an epoch */
            st = next_batch(w);
            continue;
        }
        pull(w, B);
        for (int m = 0; m < w->opt->microbatches && !enough; m++) {
            pass(w, m, B, *n);
            bool hurry = hps_budget_over(0);
            *n += warm || hurry;        /* the first one touches new memory */
            if (!warm) began_s = hps_now_s();
            warm = true;
            enough = *n == MAX_SAMPLES || (*n >= MIN_SAMPLES && hps_now_s() - began_s > ENOUGH_S) ||
                     (*n > 0 && hurry);
        }
        update(w, step);
        if (!enough) st = next_batch(w);
    }
    return st;
}

/* Touch all memory that requests of the largest size need. */
static void warm_up(struct bench *w, int B)
{
    for (int l = 0; l < w->net->L; l++)
        for (int i = 0; w->table[l].ps && i < WARM_UP && !hps_budget_over(0); i++)
            pull_one(w, l, B);
}

static double median(const struct bench *w, enum part p, int l, int n)
{
    double x[MAX_SAMPLES];

    for (int i = 0; i < n; i++)
        x[i] = w->sample[p][(size_t)i * (size_t)w->net->L + (size_t)l];
    return hps_sort_median(x, (size_t)n);
}

/* On a request to stop, a smaller size is not measured but scaled from the first one. */
static void share_of_first(struct hps_layer_time *m, int L, int i, double share)
{
    for (int l = 0; l < L; l++) {
        m[l].batch[i] = share * m[l].batch[0];
        m[l].work_s[i] = share * m[l].work_s[0];
        m[l].rows_s[i] = share * m[l].rows_s[0];
    }
}

/* The rows, or partial pooled sums, of layer l in the current step. */
static double rows_of(const struct bench *w, int l)
{
    return w->lookup[l] ? (double)w->lookup[l]->grad->nrow : 0;
}

static enum hps_status measure_all(struct bench *w, struct hps_layer_time *m, int Bo)
{
    int most = w->batch[0].B < Bo ? w->batch[0].B : Bo, n;
    double scale = (double)Bo / most; /* a dataset smaller than Bo */
    enum hps_status st = HPS_OK;

    warm_up(w, most);
    for (int i = 0; !st && i < 3; i++) {
        int B = most >> i > 0 ? most >> i : 1;
        if (i > 0 && hps_budget_over(0)) {
            share_of_first(m, w->net->L, i, (double)B / most);
            continue;
        }
        st = run_size(w, B, &n);
        for (int l = 0; !st && l < w->net->L; l++) {
            double forward_s = median(w, FORWARD, l, n);
            m[l].batch[i] = scale * B;
            m[l].work_s[i] = scale * (forward_s + median(w, BACKWARD, l, n) + w->once_s[l]);
            m[l].rows_s[i] = w->table[l].ps ? scale * w->rows_s[l] : 0;
            if (i > 0) continue;
            m[l].forward_s = scale * forward_s;
            m[l].once_s = scale * w->once_s[l];
            m[l].rows = scale * rows_of(w, l) / w->opt->microbatches;
        }
    }
    return st;
}

enum hps_status hps_measure_layers(struct hps_layer_time *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo)
{
    struct bench w = { .net = net, .dev = dev, .opt = opt };
    enum hps_status st = make(&w, Bo);

    set_clock(&w);
    if (!st) st = measure_all(&w, m, Bo);
    done(&w);
    return st;
}
