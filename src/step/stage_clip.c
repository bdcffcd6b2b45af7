/* stage_clip.c - a worker's gradients of dense weights, clipped before those of all workers are
 * summed. */
#include "step/stage_impl.h"

enum hps_status hps_stage_clip_new(struct hps_stage *r, const struct hps_reduce_opt *sum)
{
    struct hps_slice *s = r->slice;
    struct hps_reduce_opt own = *sum;

    own.share = 0;                      /* what a host has not sent is of the sum of all */
    enum hps_status st = hps_reduce_new(&r->own, s->dev, s->grad, &own, r->team->replicas);
    if (!st) hps_slice_borrow_grad(s, hps_reduce_grad(r->own));
    r->clipped = s->dev->ops->alloc(s->dev, s->nparam * sizeof *r->clipped);
    return st ? st : hps_reduce_new(&r->reduce, s->dev, r->clipped, sum, r->team->stage);
}

double hps_stage_own_norm2(struct hps_stage *r)
{
    struct hps_dev *dev = r->slice->dev;
    double norm2 = 0;

    hps_reduce_end(r->own);
    if (r->team->my_replica == 0)
        dev->ops->dense->norm2(dev, r->slice->nparam, r->slice->grad, &norm2);
    return norm2;
}

/* to (n) = by * from, as rows of a matrix and the rest of one. */
static void copy_scaled(struct hps_dev *dev, size_t n, float by, const float *from, float *to)
{
    enum { WIDTH = 1024 };
    size_t rest = n % WIDTH, rows = n - rest;

    dev->ops->dense->scale(dev, (int)(rows / WIDTH), by, hps_tensor_of(from, WIDTH),
                           hps_tensor_of(to, WIDTH));
    dev->ops->dense->scale(dev, rest > 0, by, hps_tensor_of(from + rows, (int)rest),
                           hps_tensor_of(to + rows, (int)rest));
}

void hps_stage_sum_clipped(struct hps_stage *r, float scale)
{
    struct hps_slice *s = r->slice;
    float *part = hps_reduce_grad(r->reduce);

    if (r->team->my_replica == 0)       /* all replicas have it */
        copy_scaled(s->dev, s->nparam, scale, s->grad, part);
    else
        s->dev->ops->zero(s->dev, part, s->nparam * sizeof *part);
    hps_reduce_end(r->reduce);
    copy_scaled(s->dev, s->nparam, 1, part, s->grad);
}
