/* generate.c - synthetic datasets whose best possible AUC is known. */
#include "data/generate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/writer.h"

enum { PILOT = 4096, SAMPLE = 1000000 };
static const double in_window = 0.95;       /* of the ids, where they drift */

struct slot {
    uint64_t id, weight, place, length;     /* keys */
    double power, span;                     /* of the inverse of the Zipf distribution */
};

struct teacher {
    const struct hps_generate_opt *opt;
    uint64_t label, *dense;                 /* keys; (D) */
    double *dense_weight;                   /* (D)       */
    struct slot *slot;                      /* (nslot)   */
    double unit, bias;                      /* a weight's standard deviation */
};

/* A row: what the writer needs, and its probability. */
struct row {
    float *dense;                           /* (D)                                     */
    long long *id;                          /* ids of all slots, one after the other   */
    size_t id_cap;
    int *nid;                               /* (nslot)                                 */
    double odds;                            /* log-odds without the bias               */
};

static void begin_slot(struct slot *s, const struct hps_generate_opt *o, int j)
{
    uint64_t all = hps_rng_key(o->seed, "generate slot"), key = hps_rng_sub(all, (uint64_t)j);
    uint64_t meaning = hps_rng_sub(all, o->alike ? 0 : (uint64_t)j);

    s->id = hps_rng_sub(key, 0);
    s->weight = hps_rng_sub(meaning, 1);
    s->place = hps_rng_sub(meaning, 2);
    s->length = hps_rng_sub(key, 3);
    s->power = 1 - o->zipf;
    if (fabs(s->power) < 1e-6) s->power = 1e-6; /* the limit, a logarithm, near enough */
    s->span = pow((double)o->buckets[j] + 1, s->power) - 1;
}

/* A continuous Zipf distribution rounded to ranks; u from 0 to 1. */
static long long rank_by_zipf(const struct slot *s, long long buckets, double u)
{
    long long rank = (long long)pow(1 + u * s->span, 1 / s->power) - 1;

    return rank < 0 ? 0 : rank >= buckets ? buckets - 1 : rank;
}

/* Uniformly from the window as it is for example e. */
static long long rank_in_window(const struct hps_generate_opt *o, long long buckets, long long e,
                                double u)
{
    double length = fmax(1, floor(o->window * (double)buckets));
    double moved = floor((double)e / (double)o->drift * length);

    return (long long)fmod(moved + floor(u * length), (double)buckets);
}

/* The k-th id of slot j in example e; a permutation scatters frequent ids. */
static long long draw_id(const struct teacher *t, int j, long long e, int k)
{
    const struct slot *s = &t->slot[j];
    long long buckets = t->opt->buckets[j], rank;
    double u = hps_rng_real(s->id, (uint64_t)e << 16 | (uint64_t)(k & 0xffff));

    if (t->opt->drift == 0)
        rank = rank_by_zipf(s, buckets, u);
    else if (u < in_window)
        rank = rank_in_window(t->opt, buckets, e, u / in_window);
    else
        rank = rank_by_zipf(s, buckets, (u - in_window) / (1 - in_window));
    return (long long)hps_rng_permute(s->place, (uint64_t)rank, (uint64_t)buckets);
}

static int bag_length(const struct teacher *t, int j, long long e)
{
    double mean = t->opt->bag[j];

    if (mean == 0) return 1;
    if (t->opt->even) return (int)(mean + 0.5);
    return (int)((2 * mean + 1) * hps_rng_real(t->slot[j].length, (uint64_t)e));
}

static void draw_slot(const struct teacher *t, long long e, int j, struct row *r, size_t *nid)
{
    const struct slot *s = &t->slot[j];
    int n = bag_length(t, j, e);
    double sum = 0;

    hps_mem_grow(&r->id, &r->id_cap, *nid + (size_t)n, sizeof *r->id);
    for (int k = 0; k < n; k++) {
        long long id = draw_id(t, j, e, k);
        sum += hps_rng_normal(s->weight, (uint64_t)id);
        r->id[(*nid)++] = id;
    }
    r->nid[j] = n;
    r->odds += n ? t->unit * sum / sqrt(n) : 0;
}

static void draw_row(const struct teacher *t, long long e, struct row *r)
{
    size_t nid = 0;

    r->odds = 0;
    for (int d = 0; d < t->opt->D; d++) {
        double x = hps_rng_normal(t->dense[d], (uint64_t)e);
        r->dense[d] = (float)x;
        r->odds += t->dense_weight[d] * x;
    }
    for (int j = 0; j < t->opt->nslot; j++)
        draw_slot(t, e, j, r, &nid);
}

static double probability(double odds)
{
    return 1 / (1 + exp(-odds));
}

/* The bias that gives the requested share of positives, computed from the first rows, whether these
 * are written or not. */
static void find_bias(struct teacher *t, struct row *r)
{
    double *odds = hps_mem_new(PILOT, sizeof *odds), low = -60, high = 60;

    for (int e = 0; e < PILOT; e++) {
        draw_row(t, e, r);
        odds[e] = r->odds;
    }
    for (int i = 0; i < 60; i++) {
        double sum = 0;
        t->bias = (low + high) / 2;
        for (int e = 0; e < PILOT; e++)
            sum += probability(odds[e] + t->bias);
        if (sum < PILOT * t->opt->positives)
            low = t->bias;
        else
            high = t->bias;
    }
    hps_mem_free(odds);
}

static void begin_teacher(struct teacher *t, const struct hps_generate_opt *o)
{
    uint64_t key = hps_rng_key(o->seed, "generate dense");

    *t = (struct teacher){ .opt = o, .label = hps_rng_key(o->seed, "generate label") };
    t->unit = o->strength / sqrt(o->nslot + o->D > 0 ? o->nslot + o->D : 1);
    t->dense = hps_mem_new((size_t)o->D, sizeof *t->dense);
    t->dense_weight = hps_mem_new((size_t)o->D, sizeof *t->dense_weight);
    t->slot = hps_mem_new((size_t)o->nslot, sizeof *t->slot);
    for (int d = 0; d < o->D; d++) {
        t->dense[d] = hps_rng_sub(key, (uint64_t)d);
        t->dense_weight[d] = t->unit * hps_rng_normal(key, (uint64_t)d);
    }
    for (int j = 0; j < o->nslot; j++)
        begin_slot(&t->slot[j], o, j);
}

/* Probabilities and labels of a sample of the rows. */
struct sample {
    struct guess {
        float p;
        bool label;
    } *guess;
    long long n, every;
};

static int by_probability(const void *a, const void *b)
{
    float x = ((const struct guess *)a)->p, y = ((const struct guess *)b)->p;

    return (x > y) - (x < y);
}

/* The AUC by mean ranks: the share of pairs of different labels that are in order, ties half. */
static double auc(struct sample *s)
{
    double positives = 0, ranks = 0, negatives;

    qsort(s->guess, (size_t)s->n, sizeof *s->guess, by_probability);
    for (long long i = 0, end; i < s->n; i = end) {
        long long here = 0;
        for (end = i; end < s->n && s->guess[end].p == s->guess[i].p; end++)
            here += s->guess[end].label;
        ranks += (double)here * ((double)(i + end - 1) / 2 + 1);
        positives += (double)here;
    }
    negatives = (double)s->n - positives;
    if (positives == 0 || negatives == 0) return 0.5;
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

static enum hps_status put_row(struct hps_writer *w, const struct teacher *t, const struct row *r,
                               float label)
{
    const long long *id = r->id;

    w->label[w->row] = label;
    for (int d = 0; d < t->opt->D; d++)
        w->dense[w->row * t->opt->D + d] = r->dense[d];
    for (int j = 0; j < t->opt->nslot; j++) {
        if (t->opt->bag[j] == 0) w->ids[j][w->row] = *id;
        for (int k = 0; k < r->nid[j] && t->opt->bag[j] > 0; k++)
            hps_writer_id(w, j, id[k]);
        id += r->nid[j];
    }
    return hps_writer_row(w);
}

static enum hps_status put_rows(struct hps_writer *w, struct teacher *t, struct row *r,
                                struct sample *sample)
{
    enum hps_status s = HPS_OK;

    find_bias(t, r);
    for (long long i = 0; i < t->opt->rows && !s; i++) {
        long long e = t->opt->first + i;
        draw_row(t, e, r);
        double p = probability(r->odds + t->bias);
        bool label = hps_rng_real(t->label, (uint64_t)e) < p;
        if (i % sample->every == 0) sample->guess[sample->n++] = (struct guess){ (float)p, label };
        s = put_row(w, t, r, label);
    }
    return s;
}

static enum hps_status write_all(const char *path, const struct hps_writer_form *form,
                                 struct teacher *t, double *teacher_auc)
{
    const struct hps_generate_opt *o = t->opt;
    struct row r = { .dense = hps_mem_new((size_t)o->D, sizeof *r.dense),
                     .nid = hps_mem_new((size_t)o->nslot, sizeof *r.nid) };
    struct sample sample = { .every = (o->rows + SAMPLE - 1) / SAMPLE };
    struct hps_writer *w;
    enum hps_status s = hps_writer_new(&w, path, form);

    sample.guess = hps_mem_new((size_t)(o->rows / sample.every + 1), sizeof *sample.guess);
    if (!s) s = put_rows(w, t, &r, &sample);
    if (!s) s = hps_writer_finish(w, NULL);
    *teacher_auc = auc(&sample);
    if (!s) s = hps_writer_note(w, "teacher_auc", *teacher_auc);
    if (!s) s = hps_writer_close(w);
    if (!s) s = hps_writer_commit(w);
    hps_writer_free(w);
    hps_mem_free(sample.guess);
    hps_mem_free(r.nid);
    hps_mem_free(r.id);
    hps_mem_free(r.dense);
    return s;
}

enum hps_status hps_generate(const char *path, const struct hps_generate_opt *opt,
                             double *teacher_auc)
{
    struct hps_scale *scale = hps_mem_new((size_t)opt->D, sizeof *scale);
    struct hps_writer_slot *slot = hps_mem_new((size_t)opt->nslot, sizeof *slot);
    struct hps_writer_form form = { .D = opt->D, .nslot = opt->nslot,
                                    .dense_name = opt->dense_name, .scale = scale, .slot = slot,
                                    .source = opt->source, .rows_about = (double)opt->rows };
    struct teacher t;
    enum hps_status s;

    assert(opt->rows > 0 && opt->positives > 0 && opt->positives < 1);
    for (int d = 0; d < opt->D; d++)
        scale[d] = (struct hps_scale){ .scale = 1 };
    for (int j = 0; j < opt->nslot; j++)
        slot[j] = (struct hps_writer_slot){ .name = opt->slot_name[j],
                                            .buckets = opt->buckets[j],
                                            .multi = opt->bag[j] > 0 };
    begin_teacher(&t, opt);
    s = write_all(path, &form, &t, teacher_auc);
    hps_mem_free(t.dense);
    hps_mem_free(t.dense_weight);
    hps_mem_free(t.slot);
    hps_mem_free(slot);
    hps_mem_free(scale);
    return s;
}
