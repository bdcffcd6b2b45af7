/* exchange_sums.c - partial sums of bags at an owner, and their gradients. */
#include <string.h>

#include "ps/exchange/exchange_impl.h"

/* Where the sums of micro-batch m for member q leave from, or their gradients come to; `at`: the
 * first one's number as requested. */
static float *piece_of(struct hps_exchange *p, int q, int m, int at, bool gradients)
{
    size_t dim = (size_t)p->dim, far = p->remote_first[q] + (size_t)(at - p->sent_first[q]);

    if (q == p->me)
        return (gradients ? p->grad.device : p->rows.device) +
               (size_t)p->first_of[m * p->parts + q] * dim;
    if (!hps_exchange_is_remote(p, q))
        return hps_exchange_piece(p, q, m, gradients ? (int)HPS_EXCHANGE_GRAD : p->slot);
    return gradients ? p->grad.device + ((size_t)p->r->nrow + far) * dim
                     : p->out.device + far * dim;
}

static void make_sums(struct hps_exchange *p, int q)
{
    const struct hps_request_step *r = p->r;

    for (int m = 0, at = p->sent_first[q]; m < r->M; m++) {
        const struct hps_merge_list *s = &r->sums[q * r->M + m];
        if (s->n > 0)
            hps_table_sums(p->table, (size_t)s->n, s->begin, s->row,
                           piece_of(p, q, m, at, false));
        at += s->n;
    }
}

void hps_exchange_sum_mine(struct hps_exchange *p)
{
    make_sums(p, p->me);
    p->dev->ops->sync(p->dev);
}

void hps_exchange_sum_others(struct hps_exchange *p)
{
    for (int q = 0; q < p->parts; q++)
        if (q != p->me) make_sums(p, q);
    p->dev->ops->sync(p->dev);          /* they leave, or are read, without asking the device */
}

/* Side by side, a cache holds them while each row has its gradient from all that it is in. */
void hps_exchange_merge_sums(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim;

    hps_mirror_grow(&p->all, p->dev, r->nsend_all * dim);
    for (int q = 0, at = 0; q < p->parts; q++)
        for (int m = 0; m < r->M; m++) {
            int n = r->nsend[m * p->parts + q];
            if (n > 0)
                memcpy(p->all.device + (size_t)at * dim, piece_of(p, q, m, at, true),
                       (size_t)n * dim * sizeof(float));
            at += n;
        }
}
