/* exchange_cache.c - values of rows that a member keeps, and gradients that it holds back, in the
 * slots that the request names. */
#include <string.h>

#include "base/mem.h"
#include "ps/exchange/exchange_impl.h"

void hps_exchange_cache_begin(struct hps_exchange *p)
{
    struct hps_exchange_cache *c = &p->cache;
    size_t n = (size_t)p->r->cached->nslot * (size_t)p->dim;

    hps_mem_grow(&c->value, &c->value_cap, n, sizeof *c->value);
    hps_mem_grow(&c->held, &c->held_cap, n, sizeof *c->held);
    c->hit = c->put = 0;
}

void hps_exchange_cache_pulled(struct hps_exchange *p, int m)
{
    struct hps_exchange_cache *c = &p->cache;
    const struct hps_request_cached *r = p->r->cached;
    int pair = m * p->parts + p->me, nhit = p->r->nrecv[pair];
    size_t dim = (size_t)p->dim, put = c->put;
    struct hps_row_list hits = { .n = (size_t)nhit, .dim = p->dim, .stride = dim,
                                 .at = r->hit_slot + c->hit };

    if (nhit > 0)
        p->dev->ops->rows->gather(p->dev, c->value, hits,
                                  p->rows.device + (size_t)p->first_of[pair] * dim);
    c->hit += (size_t)nhit;
    while (c->put < r->nput && r->put[c->put] < p->r->first[m + 1])
        c->put++;
    if (c->put > put)
        p->dev->ops->rows->move(p->dev, dim, c->put - put, r->put + put, p->rows.device,
                                r->put_slot + put, c->value);
}

static void add_row(float *restrict to, const float *restrict x, size_t dim)
{
    for (size_t k = 0; k < dim; k++)
        to[k] += x[k];
}

/* The gradients of the hits of micro-batch m, of which `hit` come before. Returns how many. */
static size_t hold(struct hps_exchange *p, int m, size_t hit)
{
    const struct hps_request_cached *r = p->r->cached;
    size_t dim = (size_t)p->dim, n = (size_t)p->r->nrecv[m * p->parts + p->me];
    const float *grad = p->grad.device + (size_t)p->first_of[m * p->parts + p->me] * dim;

    for (size_t i = 0; i < n; i++, grad += dim) {
        float *held = p->cache.held + (size_t)r->hit_slot[hit + i] * dim;
        if (r->adds[hit + i])
            add_row(held, grad, dim);
        else
            memcpy(held, grad, dim * sizeof *held);
    }
    return n;
}

void hps_exchange_cache_push(struct hps_exchange *p)
{
    const struct hps_request_cached *r = p->r->cached;
    size_t dim = (size_t)p->dim, hit = 0;

    p->dev->ops->sync(p->dev);
    for (size_t i = 0; i < r->nreturn; i++)
        add_row(p->grad.device + (size_t)r->returned[i] * dim,
                p->cache.held + (size_t)r->return_slot[i] * dim, dim);
    for (int m = 0; m < p->r->M; m++)
        hit += hold(p, m, hit);
}
