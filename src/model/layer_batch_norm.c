/* layer_batch_norm.c - each column of a micro-batch to mean 0 and variance 1, then a gain and a
 * shift (Ioffe and Szegedy 2015). Weights: gains, then shifts; running state: means, then
 * variances, moved by each micro-batch in turn and used in evaluation.
 *
 * The statistics are those of the whole micro-batch, whoever has its rows: sums in double over all
 * ranks of the stage, so that any layout computes the same. */
#include <math.h>

#include "model/net.h"

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

/* Host memory of a call. */
struct columns {
    double *sum, *other;                /* (width) each: two moments               */
    float *p, *m, *r, *q;               /* (width) each: what `blend` wants         */
    float *gain, *shift, *mean, *var;   /* (width) each: what is read and written   */
};

static struct columns columns_of(const struct hps_layer *l, const struct hps_pass *p)
{
    size_t w = (size_t)l->width;
    float *f = (float *)(p->scratch + 2 * w);

    return (struct columns){ p->scratch, p->scratch + w, f, f + w, f + 2 * w, f + 3 * w,
                             f + 4 * w, f + 5 * w, f + 6 * w, f + 7 * w };
}

static void get(const struct hps_pass *p, float *to, const float *from, int n)
{
    p->dev->ops->get(p->dev, to, from, (size_t)n * sizeof *to);
}

static void put(const struct hps_pass *p, float *to, const float *from, int n)
{
    p->dev->ops->put(p->dev, to, from, (size_t)n * sizeof *to);
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    size_t w = (size_t)net->layer[l->input[0]].width;

    l->nparam = l->nrunning = l->kept_once = 2 * w;
    l->nscratch = 6 * w;
    l->told = 4 * w;                /* two doubles a column */
    return hps_layer_set_width(l, (long long)w);
}

/* Of one row every column is its own mean: what comes out does not depend on what goes in. */
static enum hps_status fits(const struct hps_layer *l, long long least, long long most)
{
    (void)most;
    if (least > 1)
        return HPS_OK;
    return hps_deck_wrong(l->item, NULL, "layer '%s' needs micro-batches of at least 2 examples: "
                          "raise data.batch or lower data.microbatches", l->name);
}

static void init(const struct hps_layer *l, uint64_t key, float *param)
{
    (void)key;
    for (int c = 0; c < l->width; c++) {
        param[c] = 1;
        param[l->width + c] = 0;
    }
}

static void settle(const struct hps_layer *l, float *running)
{
    for (int c = 0; c < l->width; c++)
        running[l->width + c] = 1;
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 20.0 * l->width;
}

/* The running state takes its share of this micro-batch; the variance as of a sample. */
static void follow(const struct hps_layer *l, struct hps_pass *p, const struct columns *k)
{
    const struct norm_opt *o = l->opt;
    double n = p->peers->rows, share = o->momentum;

    if (p->peers->rows < 2)
        return;
    get(p, k->mean, p->running, 2 * l->width);
    p->dev->ops->sync(p->dev);
    for (int c = 0; c < l->width; c++) {
        double mean = k->sum[c], var = k->other[c] * n / (n - 1);
        k->mean[c] = (float)((1 - share) * (double)k->mean[c] + share * mean);
        k->var[c] = (float)((1 - share) * (double)k->var[c] + share * var);
    }
    put(p, p->running, k->mean, 2 * l->width);
    p->dev->ops->sync(p->dev);
}

/* Means and variances of the micro-batch in k->sum, k->other. */
static void measure(const struct hps_layer *l, struct hps_pass *p, const struct columns *k)
{
    double n = p->peers->rows;

    p->dev->ops->moments(p->dev, p->B, p->x[0], p->x[0], k->sum);
    p->peers->sum(p->peers, 2 * (size_t)l->width, k->sum);
    for (int c = 0; c < l->width; c++) {
        double mean = k->sum[c] / n;
        k->sum[c] = mean;
        k->other[c] = fmax(k->other[c] / n - mean * mean, 0);
    }
    follow(l, p, k);
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct norm_opt *o = l->opt;
    struct columns k = columns_of(l, p);

    if (p->training) {
        measure(l, p, &k);
        for (int c = 0; c < l->width; c++) {
            k.mean[c] = (float)k.sum[c];
            k.var[c] = (float)k.other[c];
        }
        put(p, p->once, k.mean, 2 * l->width);
    } else {
        get(p, k.mean, p->running, 2 * l->width);
    }
    get(p, k.gain, p->param, 2 * l->width);
    p->dev->ops->sync(p->dev);
    for (int c = 0; c < l->width; c++)
        k.p[c] = (float)((double)k.gain[c] / sqrt((double)k.var[c] + o->epsilon));
    p->dev->ops->blend(p->dev, p->B, k.p, p->x[0], k.mean, k.shift, NULL, (struct hps_tensor){ 0 },
                       p->y, false);
}

/* With h = (x - mean) * rate: dgain = sum dy h, dshift = sum dy of my rows; with the sums of all n
 * rows, dx = gain * rate * (dy - dshift / n - h * dgain / n). */
static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct norm_opt *o = l->opt;
    struct columns k = columns_of(l, p);
    double n = p->peers->rows;

    p->dev->ops->moments(p->dev, p->B, p->dy, p->x[0], k.sum);
    get(p, k.mean, p->once, 2 * l->width);
    get(p, k.p, p->grad, 2 * l->width);
    p->dev->ops->sync(p->dev);
    for (int c = 0; c < l->width; c++) {
        double rate = 1 / sqrt((double)k.var[c] + o->epsilon);
        k.other[c] = rate * (k.other[c] - (double)k.mean[c] * k.sum[c]);
        k.p[c] += (float)k.other[c];
        k.p[l->width + c] += (float)k.sum[c];
    }
    put(p, p->grad, k.p, 2 * l->width);
    p->peers->sum(p->peers, 2 * (size_t)l->width, k.sum);
    if (!p->dx[0].data)
        return;
    get(p, k.gain, p->param, l->width);
    p->dev->ops->sync(p->dev);
    for (int c = 0; c < l->width; c++) {
        double rate = 1 / sqrt((double)k.var[c] + o->epsilon), by = (double)k.gain[c] * rate;
        k.q[c] = (float)by;
        k.p[c] = (float)(-by * rate * k.other[c] / n);
        k.r[c] = (float)(-by * k.sum[c] / n);
    }
    p->dev->ops->blend(p->dev, p->B, k.p, p->x[0], k.mean, k.r, k.q, p->dy, p->dx[0], p->add[0]);
}

extern const struct hps_layer_kind hps_layer_batch_norm;
const struct hps_layer_kind hps_layer_batch_norm = {
    .name = "batch_norm",
    .help = "columns of the micro-batch to mean 0, variance 1, then a gain and a shift; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct norm_opt),
    .least_inputs = 1,
    .most_inputs = 1,
    .peers = true,
    .shape = shape,
    .fits = fits,
    .init = init,
    .settle = settle,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
