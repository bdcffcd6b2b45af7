/* layer_batch_norm.c - each column of a micro-batch to mean 0 and variance 1, then a gain and a
 * shift (Ioffe and Szegedy 2015). Weights: gains, then shifts; running state: means, then
 * variances, moved by each micro-batch in turn and used in evaluation.
 *
 * The statistics are those of the whole micro-batch, whichever ranks have its rows: sums in double
 * over all ranks of the stage, so that any layout computes the same. */
#include "hw/op_batch_norm.h"
#include "net/net.h"

struct norm_opt {
    struct hps_layer_opt head;
    double momentum, epsilon;
};

static const struct hps_field fields[] = {
    HPS_FIELD(norm_opt, momentum, HPS_REAL, "0.1", 0, 1, "",
              "share of a micro-batch in the running mean and variance"),
    HPS_FIELD(norm_opt, epsilon, HPS_REAL, "1e-5", 1e-12, 1, "", "added to the variance"),
    { 0 }
};

/* Device memory of a call. */
struct columns {
    double *sums;               /* (2, width)                       */
    float *p, *r, *q;           /* (width) each: coefficients of `blend` */
};

static struct columns columns_of(const struct hps_layer *l, const struct hps_pass *p)
{
    size_t w = (size_t)l->width;
    float *f = (float *)(p->memory.scratch + 2 * w);

    return (struct columns){ p->memory.scratch, f, f + w, f + 2 * w };
}

static struct hps_batch_norm norm_of(const struct hps_layer *l, const struct hps_pass *p,
                                     float *stats)
{
    const struct norm_opt *o = l->opt;

    return (struct hps_batch_norm){ .rows = p->collective->rows, .width = l->width,
                                    .epsilon = o->epsilon, .share = o->momentum,
                                    .gain = p->weights.param, .stats = stats };
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    size_t w = (size_t)net->layer[l->input[0]].width;

    l->nparam = l->nrunning = l->nsaved_batch = 2 * w;
    l->nscratch = 4 * w;
    l->nexchange = 4 * w;                /* two doubles a column */
    return hps_layer_set_width(l, (long long)w);
}

/* With one row each column is its own mean, so the output would not depend on the input. */
static enum hps_status check_rows(const struct hps_layer *l, long long min, long long max)
{
    (void)max;
    if (min > 1) return HPS_OK;
    return hps_deck_wrong(l->item, NULL, "layer '%s' needs micro-batches of at least 2 examples: "
                          "raise data.batch or lower data.microbatches", l->name);
}

static void init_running(const struct hps_layer *l, float *running)
{
    for (int c = 0; c < l->width; c++)
        running[l->width + c] = 1;
}

static double running_share(const struct hps_layer *l)
{
    const struct norm_opt *o = l->opt;

    return 1 - o->momentum;
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 20.0 * l->width;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct hps_op_batch_norm *op = p->dev->ops->layers->batch_norm;
    struct columns k = columns_of(l, p);
    struct hps_batch_norm norm =
        norm_of(l, p, p->training ? p->memory.saved_batch : p->weights.running);

    if (p->training) {
        op->moments(p->dev, p->B, p->x[0], p->x[0], k.sums);
        p->collective->allreduce(p->collective, 2 * (size_t)l->width, k.sums);
    }
    op->forward(p->dev, &norm, p->training ? k.sums : NULL, p->weights.running, k.p);
    struct hps_blend b = {
        .p = k.p, .m = norm.stats, .r = p->weights.param + l->width, .x = p->x[0]
    };
    op->blend(p->dev, p->B, &b, p->y);
}

/* With h = (x - mean) * rate: dgain = sum dy h, dshift = sum dy of my rows; with the sums of all n
 * rows, dx = gain * rate * (dy - dshift / n - h * dgain / n). */
static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct hps_op_batch_norm *op = p->dev->ops->layers->batch_norm;
    struct columns k = columns_of(l, p);
    struct hps_batch_norm norm = norm_of(l, p, p->memory.saved_batch);

    op->moments(p->dev, p->B, p->dy, p->x[0], k.sums);
    op->gradients(p->dev, &norm, k.sums, p->weights.grad, p->weights.grad + l->width);
    p->collective->allreduce(p->collective, 2 * (size_t)l->width, k.sums);
    if (!p->dx[0].data) return;
    op->backward(p->dev, &norm, k.sums, k.p, k.r, k.q);
    struct hps_blend b = { k.p, norm.stats, k.r, k.q, p->x[0], p->dy };
    op->blend(p->dev, p->B, &b, p->dx[0]);
}

extern const struct hps_layer_type hps_layer_batch_norm;
const struct hps_layer_type hps_layer_batch_norm = {
    .name = "batch_norm",
    .help = "columns of the micro-batch to mean 0, variance 1, then a gain and a shift; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct norm_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .collective = true,
    .shape = shape,
    .check_rows = check_rows,
    .init = hps_layer_init_gains,
    .init_running = init_running,
    .running_share = running_share,
    .running_rows = 2,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
