/* cpu_attend.c - attention over bags of rows: a small network scores each row of a bag against the
 * example's candidate.
 *
 * Examples are processed in blocks of some hundred ids, whose features and hidden values stay in
 * the cache. The backward recomputes them, so that no memory grows with the bags.
 *
 * The first layer's product with (c, r, c - r, c * r) is c (Wc + Wd) + r (Wr - Wd) + (c * r) Wp:
 * a quarter of the work once an example, half of it for each id. */
#include <string.h>

#include "base/mem.h"
#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_attention.h"

#define BLOCK 512               /* ids of a block, enough for the GEMMs      */
#define FEATURES 2              /* of an id: r, c * r */

struct attend {
    const struct hps_attention *net;
    const struct hps_lookup *lookup;
    size_t dim;
    struct hps_tensor c, y, dc; /* y or dy */
    size_t b0, b1, first, n;    /* examples of the block; its ids                       */
    float *value, *grad;        /* of each layer n: features, hidden values, the score  */
    size_t at[HPS_ATTENTION_HIDDEN + 3];   /* where a layer's values of one id begin       */
    float *weight, *drow;       /* (n), (n, dim)                                        */
    size_t h;                   /* width of the first hidden layer                      */
    float *base, *dbase;        /* (b1-b0, h) what the candidates add to it             */
    float *wc, *wr;             /* (dim, h) Wc + Wd; (2 dim, h) Wr - Wd, Wp             */
    float *dwc, *dwr;
};

static size_t start_of(const struct attend *j, size_t b)
{
    return j->lookup->single ? b : (size_t)j->lookup->offset[b];
}

static const float *row_of(const struct attend *j, size_t i)
{
    return hps_lookup_row(&j->lookup->rows, j->lookup->of.index[i], j->dim);
}

static int width_of(const struct attend *j, int level)
{
    return (int)(j->at[level + 1] - j->at[level]);
}

static struct hps_tensor level_of(const struct attend *j, float *of, int level)
{
    int width = width_of(j, level);
    return hps_tensor_of(of + j->n * j->at[level], width);
}

static void lay_levels(struct attend *j)
{
    int k = j->net->nhidden;

    j->at[0] = 0;
    j->at[1] = FEATURES * j->dim;
    for (int i = 0; i < k; i++)
        j->at[i + 2] = j->at[i + 1] + (size_t)j->net->hidden[i];
    j->at[k + 2] = j->at[k + 1] + 1;
    j->h = (size_t)width_of(j, 1);
}

/* Combine the first layer's weights as above; their gradients are in front of them. */
static void combine_weights(struct attend *j, struct hps_dev *dev, const float *param)
{
    struct hps_cpu *cpu = dev->state;
    size_t n = j->dim * j->h;

    hps_mem_grow(&cpu->combined, &cpu->combined_floats, 6 * n, sizeof *cpu->combined);
    j->dwc = cpu->combined;
    j->dwr = j->dwc + n;
    j->wc = j->dwr + 2 * n;
    j->wr = j->wc + n;
    memset(j->dwc, 0, 3 * n * sizeof *j->dwc);
    for (size_t i = 0; i < n; i++) {
        j->wc[i] = param[i] + param[2 * n + i];
        j->wr[i] = param[n + i] - param[2 * n + i];
        j->wr[n + i] = param[3 * n + i];
    }
}

static void unfold(const struct attend *j, float *grad)
{
    size_t n = j->dim * j->h;

    for (size_t i = 0; i < n; i++) {
        grad[i] += j->dwc[i];
        grad[n + i] += j->dwr[i];
        grad[2 * n + i] += j->dwc[i] - j->dwr[i];
        grad[3 * n + i] += j->dwr[n + i];
    }
}

/* The block of examples from b0 on, and its memory. */
static void next_block(struct attend *j, struct hps_dev *dev, size_t b0, bool back)
{
    struct hps_cpu *cpu = dev->state;
    size_t B = (size_t)j->lookup->B, each = j->at[j->net->nhidden + 2];

    j->b0 = j->b1 = b0;
    j->first = start_of(j, b0);
    while (j->b1 < B && (j->b1 == b0 || start_of(j, j->b1 + 1) - j->first <= BLOCK))
        j->b1++;
    j->n = start_of(j, j->b1) - j->first;
    size_t rows = (j->b1 - j->b0) * j->h;
    size_t need = 1 + j->n * (each + 1 + (back ? each + j->dim : 0)) + 2 * rows;
    hps_mem_grow(&cpu->attend, &cpu->attend_floats, need, sizeof *cpu->attend);
    j->value = cpu->attend;
    j->weight = j->value + j->n * each;
    j->grad = j->weight + j->n;
    j->drow = j->grad + j->n * each;
    j->base = back ? j->drow + j->n * j->dim : j->grad;
    j->dbase = j->base + rows;
}

static void each_example(const struct attend *j, int t, int n,
                         void (*work)(const struct attend *j, size_t b))
{
    size_t count = j->b1 - j->b0;

    for (size_t b = hps_cpu_cut(count, 1, t, n); b < hps_cpu_cut(count, 1, t + 1, n); b++)
        work(j, j->b0 + b);
}

HPS_MULTIVERSION static void features(const struct attend *j, size_t b)
{
    const float *c = j->c.data + b * j->c.ld;
    size_t dim = j->dim;

    for (size_t i = start_of(j, b); i < start_of(j, b + 1); i++) {
        const float *restrict r = row_of(j, i);
        float *restrict f = j->value + (i - j->first) * FEATURES * dim;
        for (size_t d = 0; d < dim; d++) {
            f[d] = r[d];
            f[dim + d] = c[d] * r[d];
        }
    }
}

static void features_task(const void *job, int t, int n)
{
    each_example(job, t, n, features);
}

/* Turn the scores of a bag into weights. */
static void attention_weights(const struct attend *j, size_t n, const float *score, float *weight)
{
    float most = n > 0 ? score[0] : 0, sum = 0, rate = 1 / sqrtf((float)j->dim);

    if (!j->net->softmax) {
        memcpy(weight, score, n * sizeof *weight);
        return;
    }
    for (size_t i = 1; i < n; i++)
        most = score[i] > most ? score[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += weight[i] = hps_cpu_exp(rate * (score[i] - most));
    for (size_t i = 0; i < n; i++)
        weight[i] /= sum;
}

static float *score_of(const struct attend *j, float *of)
{
    return of + j->n * j->at[j->net->nhidden + 1];
}

HPS_MULTIVERSION static void pool(const struct attend *j, size_t b)
{
    size_t first = start_of(j, b), last = start_of(j, b + 1), at = first - j->first;
    float *restrict y = j->y.data + b * j->y.ld;

    attention_weights(j, last - first, score_of(j, j->value) + at, j->weight + at);
    memset(y, 0, j->dim * sizeof *y);
    for (size_t i = first; i < last; i++) {
        const float *r = row_of(j, i);
        float w = j->weight[i - j->first];
        for (size_t d = 0; d < j->dim; d++)
            y[d] += w * r[d];
    }
}

static void pool_task(const void *job, int t, int n)
{
    each_example(job, t, n, pool);
}

static enum hps_act act_of(const struct attend *j, int level)
{
    return level < j->net->nhidden ? j->net->act : HPS_ACT_NONE;
}

/* The candidates of the block, and what they add to the first layer. */
static struct hps_tensor candidates(const struct attend *j, struct hps_tensor of)
{
    of.data = of.data ? of.data + j->b0 * of.ld : NULL;
    return of;
}

static struct hps_tensor bases(const struct attend *j, float *of)
{
    return hps_tensor_of(of, (int)j->h);
}

/* Activate the first layer: the ids' products plus their candidate's, as a bias. */
static void act_forward(const struct attend *j, size_t b)
{
    size_t first = start_of(j, b) - j->first, n = start_of(j, b + 1) - j->first - first;

    hps_cpu_act(act_of(j, 0), n, j->h, j->value + j->n * j->at[1] + first * j->h, j->h,
                j->base + (b - j->b0) * j->h, NULL);
}

static void act_forward_task(const void *job, int t, int n)
{
    each_example(job, t, n, act_forward);
}

/* The features and the values of all layers of the block. */
static void run_net(struct attend *j, struct hps_dev *dev, const float *param)
{
    int k = j->net->nhidden, B = (int)(j->b1 - j->b0);
    const float *bias = param + 4 * j->dim * j->h;

    hps_cpu_parallel_for(dev, 1.0 * (double)(j->n * j->dim), features_task, j);
    hps_cpu_fc_forward(dev, &(struct hps_fc){ .B = B, .x = candidates(j, j->c), .w = j->wc,
                                              .b = bias, .y = bases(j, j->base) });
    hps_cpu_fc_forward(dev, &(struct hps_fc){ .B = (int)j->n, .x = level_of(j, j->value, 0),
                                              .w = j->wr, .y = level_of(j, j->value, 1) });
    hps_cpu_parallel_for(dev, 1.0 * (double)(j->n * j->h), act_forward_task, j);
    param = bias + j->h;
    for (int l = 1; l <= k; l++) {
        struct hps_tensor x = level_of(j, j->value, l), y = level_of(j, j->value, l + 1);
        bias = param + (size_t)x.width * (size_t)y.width;
        struct hps_fc fc = { .act = act_of(j, l), .B = (int)j->n, .x = x, .w = param, .b = bias,
                             .y = y };
        hps_cpu_fc_forward(dev, &fc);
        param = bias + y.width;
    }
}

static void attend_forward(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor y)
{
    struct attend j = {
        .net = a->net, .lookup = a->lookup, .dim = (size_t)a->net->dim, .c = a->c, .y = y
    };

    hps_cpu_queue_wait(dev);
    lay_levels(&j);
    combine_weights(&j, dev, a->param);
    for (size_t b = 0; b < (size_t)a->lookup->B; b = j.b1) {
        next_block(&j, dev, b, false);
        run_net(&j, dev, a->param);
        hps_cpu_parallel_for(dev, 1.0 * (double)(j.n * j.dim), pool_task, &j);
    }
}

/* Backward of the pooling: from dy to the scores and the pooled rows. */
HPS_MULTIVERSION static void pool_back(const struct attend *j, size_t b)
{
    size_t first = start_of(j, b), n = start_of(j, b + 1) - first, at = first - j->first;
    const float *dy = j->y.data + b * j->y.ld;
    float *d = score_of(j, j->grad) + at, *w = j->weight + at, level = 0;

    attention_weights(j, n, score_of(j, j->value) + at, w);
    for (size_t i = 0; i < n; i++) {
        const float *r = row_of(j, first + i);
        float *dr = j->drow + (at + i) * j->dim;
        d[i] = 0;
        for (size_t k = 0; k < j->dim; k++) {
            d[i] += dy[k] * r[k];
            dr[k] = w[i] * dy[k];
        }
        level += w[i] * d[i];
    }
    for (size_t i = 0; i < n && j->net->softmax; i++)
        d[i] = w[i] * (d[i] - level) / sqrtf((float)j->dim);
}

static void pool_back_task(const void *job, int t, int n)
{
    each_example(job, t, n, pool_back);
}

/* Backward of the features: to the rows and the candidate, which already has the first layer's
 * part. */
HPS_MULTIVERSION static void features_back(const struct attend *j, size_t b)
{
    const float *c = j->c.data + b * j->c.ld;
    float *dc = j->dc.data ? j->dc.data + b * j->dc.ld : NULL;
    size_t dim = j->dim;

    for (size_t i = start_of(j, b); i < start_of(j, b + 1); i++) {
        const float *r = row_of(j, i), *f = j->grad + (i - j->first) * FEATURES * dim;
        float *dr = j->drow + (i - j->first) * dim;
        for (size_t d = 0; d < dim; d++)
            dr[d] += f[d] + f[dim + d] * c[d];
        for (size_t d = 0; dc && d < dim; d++)
            dc[d] += f[dim + d] * r[d];
    }
}

static void features_back_task(const void *job, int t, int n)
{
    each_example(job, t, n, features_back);
}

static void act_back(const struct attend *j, size_t b)
{
    size_t first = start_of(j, b) - j->first, n = start_of(j, b + 1) - j->first - first;
    size_t at = j->n * j->at[1] + first * j->h;
    float *dbase = j->dbase + (b - j->b0) * j->h;

    memset(dbase, 0, j->h * sizeof *dbase);
    hps_cpu_act_back(act_of(j, 0), n, hps_tensor_of(j->value + at, (int)j->h), NULL,
                     hps_tensor_of(j->grad + at, (int)j->h), dbase);
}

static void act_back_task(const void *job, int t, int n)
{
    each_example(job, t, n, act_back);
}

/* Backward of the first layer: to its weights, the features and the candidates. */
static void back_first(struct attend *j, struct hps_dev *dev, float *grad)
{
    int B = (int)(j->b1 - j->b0);
    struct hps_tensor d = level_of(j, j->grad, 1), dbase = bases(j, j->dbase);

    hps_cpu_parallel_for(dev, 1.0 * (double)(j->n * j->h), act_back_task, j);
    hps_cpu_fc_backward(dev, &(struct hps_fc){ .B = (int)j->n, .x = level_of(j, j->value, 0),
                                               .w = j->wr, .y = d },
                        d, level_of(j, j->grad, 0), j->dwr, NULL);
    hps_cpu_fc_backward(dev, &(struct hps_fc){ .B = B, .x = candidates(j, j->c), .w = j->wc,
                                               .y = dbase },
                        dbase, candidates(j, j->dc), j->dwc, grad + 4 * j->dim * j->h);
}

/* Backward of the network on a block, last layer first; at: where a layer's weights begin. */
static void back_net(struct attend *j, struct hps_dev *dev, const float *param, float *grad)
{
    size_t at[HPS_ATTENTION_HIDDEN + 2] = { 0 };
    int k = j->net->nhidden;

    at[1] = (4 * j->dim + 1) * j->h;
    for (int l = 1; l < k; l++)
        at[l + 1] = at[l] + (size_t)(width_of(j, l) + 1) * (size_t)width_of(j, l + 1);
    for (int l = k; l > 0; l--) {
        struct hps_tensor x = level_of(j, j->value, l), y = level_of(j, j->value, l + 1);
        struct hps_fc fc = { .act = act_of(j, l), .B = (int)j->n, .x = x, .w = param + at[l],
                             .y = y };
        hps_cpu_fc_backward(dev, &fc, level_of(j, j->grad, l + 1), level_of(j, j->grad, l),
                            grad + at[l], grad + at[l] + (size_t)x.width * (size_t)y.width);
    }
    back_first(j, dev, grad);
}

static void attend_backward(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor dy,
                            float *grad, struct hps_tensor dc)
{
    struct attend j = {
        .net = a->net, .lookup = a->lookup, .dim = (size_t)a->net->dim, .c = a->c, .y = dy, .dc = dc
    };

    hps_cpu_queue_wait(dev);
    lay_levels(&j);
    combine_weights(&j, dev, a->param);
    for (size_t b = 0; b < (size_t)a->lookup->B; b = j.b1) {
        next_block(&j, dev, b, true);
        run_net(&j, dev, a->param);
        hps_cpu_parallel_for(dev, 1.0 * (double)(j.n * j.dim), pool_back_task, &j);
        back_net(&j, dev, a->param, grad);
        hps_cpu_parallel_for(dev, 1.5 * (double)(j.n * j.dim), features_back_task, &j);
        struct hps_lookup each = { .nslot = 1,
                                   .B = (int)j.n,
                                   .nid = j.n,
                                   .single = true,
                                   .of.index = a->lookup->of.index + j.first,
                                   .grad = a->lookup->grad };
        struct hps_tensor drow = hps_tensor_view(j.drow, j.dim, j.net->dim);
        hps_cpu_bag_backward(dev, &each, j.net->dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT, drow, true);
        hps_cpu_queue_wait(dev);        /* the next block uses the same memory */
    }
    unfold(&j, grad);
}

const struct hps_op_attention hps_cpu_attention = { attend_forward, attend_backward };
