/* cuda_loss.c - losses: of each row, then their sum; the norm. */
#include "hw/cuda/cuda_impl.h"
#include "hw/op_nce.h"

/* Scratch for the losses of B rows and their sum, followed by `more` bytes. */
static double *losses_of(struct hps_dev *dev, int B, size_t more)
{
    size_t n = (size_t)B;
    return hps_cuda_scratch(dev, (n + hps_kern_sum_blocks(n)) * sizeof(double) + more);
}

static void *behind(int B, double *losses)
{
    return losses + (size_t)B + hps_kern_sum_blocks((size_t)B);
}

static void total(struct hps_dev *dev, int B, double *losses, double *loss_sum)
{
    HPS_CUDA(hps_kern_total(hps_cuda_stream(dev), (size_t)B, losses, losses + B, loss_sum));
}

static void logistic(struct hps_dev *dev, const struct hps_loss *loss)
{
    double *losses = losses_of(dev, loss->B, 0);

    HPS_CUDA(hps_kern_logistic(hps_cuda_stream(dev), *loss, losses));
    total(dev, loss->B, losses, loss->sum);
}

static void cross_entropy(struct hps_dev *dev, const struct hps_loss *loss)
{
    double *losses = losses_of(dev, loss->B, 0);

    HPS_CUDA(hps_kern_cross_entropy(hps_cuda_stream(dev), *loss, losses));
    total(dev, loss->B, losses, loss->sum);
}

static void squared(struct hps_dev *dev, const struct hps_loss *loss)
{
    double *losses = losses_of(dev, loss->B, 0);

    HPS_CUDA(hps_kern_squared(hps_cuda_stream(dev), *loss, losses));
    total(dev, loss->B, losses, loss->sum);
}

static void hinge(struct hps_dev *dev, const struct hps_loss *loss, float margin)
{
    double *losses = losses_of(dev, loss->B, 0);

    HPS_CUDA(hps_kern_hinge(hps_cuda_stream(dev), *loss, margin, losses));
    total(dev, loss->B, losses, loss->sum);
}

const struct hps_op_loss hps_cuda_loss = { logistic, cross_entropy, squared, hinge };

static void nce(struct hps_dev *dev, const struct hps_loss *loss, int K, float *e)
{
    double *losses = losses_of(dev, loss->B, 0);

    HPS_CUDA(hps_kern_nce(hps_cuda_stream(dev), *loss, K, e, losses));
    total(dev, loss->B, losses, loss->sum);
}

const struct hps_op_nce hps_cuda_nce = { nce };

/* ---- in-batch negatives ---- */

static void l2_normalise(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm)
{
    HPS_CUDA(hps_kern_l2_normalise(hps_cuda_stream(dev), B, x, y, norm));
}

static void l2_normalise_back(struct hps_dev *dev, int B, int width, float *y, float *norm,
                              float *dy)
{
    HPS_CUDA(hps_kern_l2_normalise_back(hps_cuda_stream(dev), B, width, y, norm, dy));
}

/* The gradients of the items: the pairs sorted by item. */
static void pull(struct hps_dev *dev, const struct hps_kern_pairs *k, size_t temp, float *dall)
{
    void *stream = hps_cuda_stream(dev);
    size_t all = (size_t)k->p.B * (size_t)k->n, width = (size_t)k->p.width;
    int *nth = k->at + all, *key = nth + all, *was = key + all;
    float *partial = k->force + all;

    dev->ops->zero(dev, dall, (size_t)k->p.rows * width * sizeof *dall);
    HPS_CUDA(hps_kern_count_up(stream, all, was));
    struct hps_kern_sort sort = { all, k->at, was, key, nth };
    float *sort_scratch = partial + hps_kern_partial_floats(all, k->p.width);
    HPS_CUDA(hps_kern_sort(stream, &sort, sort_scratch, &temp));
    HPS_CUDA(hps_kern_pairs_dall(stream, *k, key, nth, partial, dall));
}

static void hinge_in_batch(struct hps_dev *dev, const struct hps_in_batch *p, float weight,
                           float *score, double *loss_sum, float *du, float *dall)
{
    int others = p->negatives < p->rows - 1 ? p->negatives : p->rows - 1;
    struct hps_kern_pairs k = { .p = *p, .n = others + 1 };
    void *stream = hps_cuda_stream(dev);
    size_t all = (size_t)p->B * (size_t)k.n, temp = 0;

    HPS_CUDA(hps_kern_sort(stream, &(struct hps_kern_sort){ .n = all }, NULL, &temp));
    size_t pieces = hps_kern_partial_floats(all, p->width) * sizeof(float);
    double *losses = losses_of(dev, p->B, 5 * all * sizeof(int) + pieces + temp);
    k.at = behind(p->B, losses);
    k.force = (float *)(void *)(k.at + 4 * all);
    HPS_CUDA(hps_kern_pairs(stream, k, weight, score, losses));
    total(dev, p->B, losses, loss_sum);
    if (du) HPS_CUDA(hps_kern_pairs_du(stream, k, du));
    if (dall) pull(dev, &k, temp, dall);
}

const struct hps_op_in_batch hps_cuda_in_batch = {
    l2_normalise, l2_normalise_back, hinge_in_batch
};

void hps_cuda_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);
    double *scratch = hps_cuda_scratch(dev, hps_kern_sum_blocks(n) * sizeof *scratch);

    HPS_CUDA(hps_kern_squares(hps_cuda_stream(dev), n, x, scratch, cuda->number));
    dev->ops->copy_to_host(dev, sum, cuda->number, sizeof *sum);
}
