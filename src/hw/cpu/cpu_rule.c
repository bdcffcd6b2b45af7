/* cpu_rule.c - loops of the update rules (hw/rule.h): over planes of dense weights, over rows. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "hw/cpu/cpu_impl.h"
#include "hw/row_format.h"

#define BLOCK 4096              /* weights of a block                 */
#define LANES 8                 /* partial sums of a norm             */
#define PART 4096               /* rows of a task                     */

/* A loop over weights with the rule's kind as a constant; s, z: planes of their states. */
HPS_INLINE void plain(const struct hps_rule_step *k, enum hps_rule_kind kind, size_t n,
                      float *restrict w, const float *restrict g, float *restrict s,
                      float *restrict z)
{
    for (size_t i = 0; i < n; i++)
        w[i] = hps_rule_moved(k, kind, w[i], g[i], s + i, z + i);
}

HPS_INLINE void row_adagrad(const struct hps_rule_step *k, size_t n, float *restrict w,
                            const float *restrict g, float *restrict s)
{
    float lane[LANES] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            float d = hps_rule_slope(k, w[i + j], g[i + j]);
            lane[j] += d * d;
        }
    for (; i < n; i++) {
        float d = hps_rule_slope(k, w[i], g[i]);
        sum += d * d;
    }
    for (size_t j = 0; j < LANES; j++)
        sum += lane[j];
    *s += sum / (float)n;
    float rate = k->lr / (sqrtf(*s) + k->eps);
    for (i = 0; i < n; i++)
        w[i] -= rate * hps_rule_slope(k, w[i], g[i]);
}

/* Update the means; returns the sums of squares of weights and updates, in double. */
HPS_INLINE void lamb_means(const struct hps_rule_step *k, size_t n, const float *restrict w,
                           const float *restrict g, float *restrict m, float *restrict v,
                           double norm2[2])
{
    double ww[LANES] = { 0 }, uu[LANES] = { 0 };
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            float u = hps_rule_lamb_mean(k, w[i + j], g[i + j], m + i + j, v + i + j);
            ww[j] += (double)w[i + j] * (double)w[i + j];
            uu[j] += (double)u * (double)u;
        }
    for (; i < n; i++) {
        float u = hps_rule_lamb_mean(k, w[i], g[i], m + i, v + i);
        ww[0] += (double)w[i] * (double)w[i];
        uu[0] += (double)u * (double)u;
    }
    for (size_t j = 0; j < LANES; j++) {
        norm2[0] += ww[j];
        norm2[1] += uu[j];
    }
}

HPS_INLINE void lamb_apply(const struct hps_rule_step *k, float rate, size_t n, float *restrict w,
                           const float *restrict m, const float *restrict v)
{
    for (size_t i = 0; i < n; i++)
        w[i] -= rate * hps_rule_lamb_move(k, w[i], m[i], v[i]);
}

/* One row with norms of its own. */
HPS_INLINE void lamb(const struct hps_rule_step *k, size_t n, float *w, const float *g, float *m,
                     float *v)
{
    double norm2[2] = { 0 };

    lamb_means(k, n, w, g, m, v, norm2);
    lamb_apply(k, hps_rule_lamb_rate(k, norm2[0], norm2[1]), n, w, m, v);
}

HPS_INLINE void apply(const struct hps_rule_step *k, size_t n, float *w, const float *g, float *s,
                      size_t plane)
{
    float *z = s + plane;

    switch (k->kind) {
#define PLAIN(kind)                                                                                \
    case HPS_RULE_##kind: plain(k, HPS_RULE_##kind, n, w, g, s, z); break;
    HPS_RULES_ALONE(PLAIN)
#undef PLAIN
    case HPS_RULE_ROW_ADAGRAD: row_adagrad(k, n, w, g, s); break;
    case HPS_RULE_LAMB: lamb(k, n, w, g, s, z); break;
    }
}

struct update {
    struct hps_rule_step rule;
    size_t n, plane;
    float *param, *grad, *state;
    double (*norm2)[2];             /* lamb: of each block */
    float rate;                     /* lamb: with the ratio of the layer */
};

HPS_MULTIVERSION static void apply_planes(const struct update *u, size_t first, size_t last)
{
    for (size_t i = first; i < last; i += BLOCK) {
        size_t n = last - i < BLOCK ? last - i : BLOCK;
        apply(&u->rule, n, u->param + i, u->grad + i, u->state + i,
              u->plane);
        memset(u->grad + i, 0, n * sizeof *u->grad);
    }
}

static void update_task(const void *job, int t, int n)
{
    const struct update *u = job;
    apply_planes(u, hps_cpu_cut(u->n, 16, t, n), hps_cpu_cut(u->n, 16, t + 1, n));
}

HPS_MULTIVERSION static void means_of_planes(const struct update *u, size_t first, size_t last)
{
    for (size_t i = first; i < last; i += BLOCK) {
        size_t n = last - i < BLOCK ? last - i : BLOCK;
        double *norm2 = u->norm2[i / BLOCK];
        norm2[0] = norm2[1] = 0;
        lamb_means(&u->rule, n, u->param + i, u->grad + i, u->state + i,
                   u->state + u->plane + i, norm2);
        memset(u->grad + i, 0, n * sizeof *u->grad);
    }
}

static void means_task(const void *job, int t, int n)
{
    const struct update *u = job;
    means_of_planes(u, hps_cpu_cut(u->n, BLOCK, t, n), hps_cpu_cut(u->n, BLOCK, t + 1, n));
}

HPS_MULTIVERSION static void move_planes(const struct update *u, size_t first, size_t last)
{
    lamb_apply(&u->rule, u->rate, last - first, u->param + first, u->state + first,
               u->state + u->plane + first);
}

static void move_task(const void *job, int t, int n)
{
    const struct update *u = job;
    move_planes(u, hps_cpu_cut(u->n, 16, t, n), hps_cpu_cut(u->n, 16, t + 1, n));
}

/* The norms are of the whole layer, so the weights are updated in a second pass. The sums of blocks
 * are added in order, whichever thread made them. */
static void update_lamb(struct hps_dev *dev, struct update *u, double work_ns)
{
    size_t nblock = (u->n + BLOCK - 1) / BLOCK;
    double norm2[2] = { 0 };

    u->norm2 = hps_cpu_scratch(dev, nblock * sizeof *u->norm2);
    hps_cpu_parallel_for(dev, work_ns, means_task, u);
    for (size_t b = 0; b < nblock; b++)
        for (int i = 0; i < 2; i++)
            norm2[i] += u->norm2[b][i];
    u->rate = hps_rule_lamb_rate(&u->rule, norm2[0], norm2[1]);
    hps_cpu_parallel_for(dev, work_ns, move_task, u);
}

void hps_cpu_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                    float *grad, float *state, size_t plane)
{
    struct update u = { .rule = hps_rule_prepare(rule), .n = n, .plane = plane, .param = param,
                        .grad = grad, .state = state };
    double work_ns = (double)n * (0.5 + 0.5 * rule->nstate);

    assert(rule->nrow == 0);
    if (rule->kind == HPS_RULE_LAMB)
        update_lamb(dev, &u, work_ns);
    else
        hps_cpu_parallel_for(dev, work_ns, update_task, &u);
}

struct rows {
    struct hps_rule_step rule;
    size_t n, dim, stride, ahead;
    float *table;
    const int *at;
    struct hps_row_sums grad;
    float *scratch;             /* (ntask, dim) for a sum */
};

/* Prefetch a row with its states to the L2 cache: more rows are on their way than L1 can hold. */
HPS_INLINE void fetch_row(const struct rows *j, size_t i)
{
    const float *row = j->table + (size_t)j->at[i] * j->stride;

    for (size_t f = 0; f < j->ahead; f += 16)
        __builtin_prefetch(row + f, 0, 2);
    __builtin_prefetch(row + j->ahead - 1, 0, 2);
}

HPS_INLINE void apply_rows(const struct rows *j, size_t i, size_t last, float *scratch, size_t dim)
{
    int all = hps_cpu_summands(&j->grad, j->n);

    for (; i < last; i++) {
        float *row = j->table + (size_t)j->at[i] * j->stride;
        if (i + HPS_CPU_PREFETCH < j->n) fetch_row(j, i + HPS_CPU_PREFETCH);
        apply(&j->rule, dim, row, hps_cpu_row_sum(&j->grad, i, all, dim, scratch), row + dim, dim);
    }
}

HPS_MULTIVERSION static void apply_span(const struct rows *j, size_t first, size_t last,
                                        float *scratch)
{
    HPS_CPU_WITH_DIM(j->dim, apply_rows, j, first, last, scratch);
}

static void apply_task(const void *job, int t, int n)
{
    const struct rows *j = job;
    apply_span(j, hps_cpu_cut(j->n, 16, t, n), hps_cpu_cut(j->n, 16, t + 1, n),
               j->scratch + (size_t)t * j->dim);
}

void hps_cpu_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                        struct hps_row_list rows, const struct hps_row_sums *grad)
{
    size_t width = hps_rule_stride(rule, rows.dim), dim = (size_t)rows.dim;
    int ntask = hps_cpu_ntask(dev, rows.n, PART);
    float *scratch = hps_cpu_queue_scratch(dev, (size_t)ntask * dim * sizeof *scratch);
    struct rows j = {
        hps_rule_prepare(rule), rows.n, dim, rows.stride, width, table, rows.at, *grad, scratch
    };

    hps_cpu_queue_after(dev, (double)j.n * (10 + 1.0 * (double)width), ntask, apply_task, &j,
                        sizeof j);
    hps_cpu_queue_wait(dev);
}

/* ---- rows that are kept encoded ---- */

enum { CHUNK = 16 };            /* rows that are decoded, updated and encoded together: each of the
                                   three is then a short loop, which keeps its constants */

struct encoded {
    struct hps_rule_step rule;
    struct hps_encoded_rows rows;
    struct hps_row_sums grad;
    size_t width;               /* of a decoded row */
    float *scratch;             /* (ntask, CHUNK * width + dim) rows, and a sum */
};

HPS_INLINE unsigned char *encoded_row(const struct encoded *j, size_t i)
{
    return (unsigned char *)j->rows.row + (size_t)j->rows.at[i] * j->rows.format->bytes;
}

HPS_INLINE void fetch_encoded(const struct encoded *j, size_t i)
{
    const unsigned char *row = encoded_row(j, i);
    size_t bytes = j->rows.format->bytes;

    for (size_t b = 0; b < bytes; b += 64)
        __builtin_prefetch(row + b, 0, 2);
    __builtin_prefetch(row + bytes - 1, 0, 2);
}

/* A chunk of rows, which begins at `i`, to x (CHUNK, width). There are often as many states as
 * weights; those that are fp32 are updated where they are. */
HPS_INLINE void decode_chunk(const struct encoded *j, size_t i, size_t last, float *x,
                             enum hps_number weights, enum hps_number states, size_t dim)
{
    size_t at = j->rows.format->state_at, n = j->rows.format->nstate;

    for (; i < last; i++, x += j->width) {
        const unsigned char *row = encoded_row(j, i);
        if (i + HPS_CPU_PREFETCH < j->rows.n) fetch_encoded(j, i + HPS_CPU_PREFETCH);
        hps_row_load(weights, row, dim, x);
        if (states == HPS_AS_FP32) continue;
        if (n == dim)
            hps_row_load(states, row + at, dim, x + dim);
        else
            hps_row_load(states, row + at, n, x + dim);
    }
}

HPS_INLINE void encode_chunk(const struct encoded *j, size_t i, size_t last, const float *x,
                             enum hps_number weights, enum hps_number states, size_t dim)
{
    size_t at = j->rows.format->state_at, n = j->rows.format->nstate;

    for (; i < last; i++, x += j->width) {
        unsigned char *row = encoded_row(j, i);
        uint32_t key = j->rows.key[i];
        hps_row_store(weights, x, dim, key, 0, row);
        if (states == HPS_AS_FP32) continue;
        if (n == dim)
            hps_row_store(states, x + dim, dim, key, (uint32_t)dim, row + at);
        else
            hps_row_store(states, x + dim, n, key, (uint32_t)dim, row + at);
    }
}

HPS_INLINE void apply_encoded(const struct encoded *j, size_t i, size_t last, float *x,
                              enum hps_number weights, enum hps_number states, size_t dim)
{
    size_t at = j->rows.format->state_at, end;
    int all = hps_cpu_summands(&j->grad, j->rows.n);
    float *sum = x + CHUNK * j->width;

    for (; i < last; i = end) {
        end = last - i < CHUNK ? last : i + CHUNK;
        decode_chunk(j, i, end, x, weights, states, dim);
        for (size_t r = i; r < end; r++) {
            float *w = x + (r - i) * j->width, *s = w + dim;
            if (states == HPS_AS_FP32) s = (float *)(void *)(encoded_row(j, r) + at);
            apply(&j->rule, dim, w, hps_cpu_row_sum(&j->grad, r, all, dim, sum), s, dim);
        }
        encode_chunk(j, i, end, x, weights, states, dim);
    }
}

/* The common cases, compiled by themselves. */
HPS_MULTIVERSION static void apply_encoded_span(const struct encoded *j, size_t first, size_t last,
                                                float *scratch)
{
    const struct hps_row_format *f = j->rows.format;

    if (f->states == HPS_AS_BF16 && f->weights == HPS_AS_BF16) {
        HPS_CPU_WITH_DIM(f->dim, apply_encoded, j, first, last, scratch, HPS_AS_BF16, HPS_AS_BF16);
    } else if (f->states != HPS_AS_FP32) {
        apply_encoded(j, first, last, scratch, f->weights, f->states, f->dim);
    } else if (f->weights == HPS_AS_BF16) {
        HPS_CPU_WITH_DIM(f->dim, apply_encoded, j, first, last, scratch, HPS_AS_BF16, HPS_AS_FP32);
    } else if (f->weights == HPS_AS_FP16) {
        HPS_CPU_WITH_DIM(f->dim, apply_encoded, j, first, last, scratch, HPS_AS_FP16, HPS_AS_FP32);
    } else if (f->weights == HPS_AS_INT8) {
        HPS_CPU_WITH_DIM(f->dim, apply_encoded, j, first, last, scratch, HPS_AS_INT8, HPS_AS_FP32);
    } else {                            /* plain rows, which are no rows that are encoded */
        apply_encoded(j, first, last, scratch, HPS_AS_FP32, HPS_AS_FP32, f->dim);
    }
}

static void apply_encoded_task(const void *job, int t, int n)
{
    const struct encoded *j = job;
    apply_encoded_span(j, hps_cpu_cut(j->rows.n, 16, t, n), hps_cpu_cut(j->rows.n, 16, t + 1, n),
                       j->scratch + (size_t)t * (CHUNK * j->width + j->rows.format->dim));
}

void hps_cpu_rows_apply_encoded(struct hps_dev *dev, const struct hps_rule *rule,
                                struct hps_encoded_rows rows, const struct hps_row_sums *grad)
{
    size_t dim = rows.format->dim, width = dim + rows.format->nstate;
    int ntask = hps_cpu_ntask(dev, rows.n, PART);
    size_t bytes = (size_t)ntask * (CHUNK * width + dim) * sizeof(float);
    struct encoded j = { hps_rule_prepare(rule), rows, *grad, width,
                         hps_cpu_queue_scratch(dev, bytes) };

    hps_cpu_queue_after(dev, (double)rows.n * (10 + 2.0 * (double)width), ntask, apply_encoded_task,
                        &j, sizeof j);
    hps_cpu_queue_wait(dev);
}
