/* cuda_loss.c - losses: each row's, then their sum; and the norm. */
#include "hw/cuda/cuda_impl.h"

/* Room for the losses of B rows, for their sum, and `more` bytes behind. */
static double *losses_of(struct hps_dev *dev, int B, size_t more)
{
    size_t n = (size_t)B;
    return hps_cuda_scratch(dev, (n + hps_kern_spans(n)) * sizeof(double) + more);
}

static void *behind(int B, double *losses)
{
    return losses + (size_t)B + hps_kern_spans((size_t)B);
}

static void total(struct hps_dev *dev, int B, double *losses, double *loss_sum)
{
    HPS_CUDA(hps_kern_total(hps_cuda_stream(dev), (size_t)B, losses, losses + B, loss_sum));
}

void hps_cuda_logistic(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                       float weight, float *score, double *loss_sum, struct hps_tensor dx,
                       bool add)
{
    double *losses = losses_of(dev, B, 0);

    HPS_CUDA(hps_kern_logistic(hps_cuda_stream(dev), B, x, label, weight, score, losses, dx, add));
    total(dev, B, losses, loss_sum);
}

void hps_cuda_cross_entropy(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                            float weight, float *score, double *loss_sum, struct hps_tensor dx)
{
    double *losses = losses_of(dev, B, 0);

    HPS_CUDA(hps_kern_cross_entropy(hps_cuda_stream(dev), B, x, label, weight, score, losses, dx));
    total(dev, B, losses, loss_sum);
}

void hps_cuda_squared(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                      float weight, float *score, double *loss_sum, struct hps_tensor dx)
{
    double *losses = losses_of(dev, B, 0);

    HPS_CUDA(hps_kern_squared(hps_cuda_stream(dev), B, x, label, weight, score, losses, dx));
    total(dev, B, losses, loss_sum);
}

void hps_cuda_hinge(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                    float margin, float weight, float *score, double *loss_sum,
                    struct hps_tensor dx)
{
    double *losses = losses_of(dev, B, 0);

    HPS_CUDA(hps_kern_hinge(hps_cuda_stream(dev), B, x, label, margin, weight, score, losses, dx));
    total(dev, B, losses, loss_sum);
}

void hps_cuda_unit(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm)
{
    HPS_CUDA(hps_kern_unit(hps_cuda_stream(dev), B, x, y, norm));
}

void hps_cuda_unit_back(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy)
{
    HPS_CUDA(hps_kern_unit_back(hps_cuda_stream(dev), B, width, y, norm, dy));
}

void hps_cuda_nce(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                  float *score, double *loss_sum, float *dx)
{
    double *losses = losses_of(dev, B, 0);

    HPS_CUDA(hps_kern_nce(hps_cuda_stream(dev), B, x, K, e, weight, score, losses, dx));
    total(dev, B, losses, loss_sum);
}

/* What pulls at the others: the pairs sorted by whom they pull at. */
static void pull(struct hps_dev *dev, const struct hps_pairs *p, int n, int *room, size_t temp,
                 float *dall)
{
    void *stream = hps_cuda_stream(dev);
    size_t all = (size_t)p->B * (size_t)n;
    int *at = room, *nth = at + all, *key = nth + all, *was = key + all;
    float *force = (float *)(void *)(was + all), *piece = force + all;

    dev->ops->zero(dev, dall, (size_t)p->rows * (size_t)p->width * sizeof *dall);
    HPS_CUDA(hps_kern_count_up(stream, all, was));
    HPS_CUDA(hps_kern_sort(stream, all, at, key, was, nth,
                           piece + hps_kern_pieces(all, p->width), &temp));
    HPS_CUDA(hps_kern_pairs_dall(stream, *p, n, key, nth, force, piece, dall));
}

void hps_cuda_pairs(struct hps_dev *dev, const struct hps_pairs *p, float weight, float *score,
                    double *loss_sum, float *du, float *dall)
{
    int others = p->negatives < p->rows - 1 ? p->negatives : p->rows - 1, n = others + 1;
    void *stream = hps_cuda_stream(dev);
    size_t all = (size_t)p->B * (size_t)n, temp = 0;

    HPS_CUDA(hps_kern_sort(stream, all, NULL, NULL, NULL, NULL, NULL, &temp));
    size_t pieces = hps_kern_pieces(all, p->width) * sizeof(float);
    double *losses = losses_of(dev, p->B, 5 * all * sizeof(int) + pieces + temp);
    int *at = behind(p->B, losses);
    float *force = (float *)(void *)(at + 4 * all);
    HPS_CUDA(hps_kern_pairs(stream, *p, n, weight, score, losses, at, force));
    total(dev, p->B, losses, loss_sum);
    if (du) HPS_CUDA(hps_kern_pairs_du(stream, *p, n, at, force, du));
    if (dall) pull(dev, p, n, at, temp, dall);
}

void hps_cuda_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);
    double *room = hps_cuda_scratch(dev, hps_kern_spans(n) * sizeof *room);

    HPS_CUDA(hps_kern_squares(hps_cuda_stream(dev), n, x, room, cuda->number));
    dev->ops->copy_to_host(dev, sum, cuda->number, sizeof *sum);
}
