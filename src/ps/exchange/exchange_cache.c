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

/* The hits of micro-batch m, from their slots to their places. */
static void take_hits(struct hps_exchange *p, int pair)
{
    const int *slot = p->r->cached->hit_slot + p->cache.hit;
    size_t dim = (size_t)p->dim, n = (size_t)p->r->nrecv[pair];
    size_t first = (size_t)p->first_of[pair] * dim;
    struct hps_row_list hits = { .n = n, .dim = p->dim, .stride = dim, .at = slot };

    if (n > 0 && p->dev->host)
        p->dev->ops->rows->gather(p->dev, p->cache.value, hits, p->rows.host + first);
    for (size_t i = 0; i < n && !p->dev->host; i++)
        memcpy(p->rows.host + first + i * dim, p->cache.value + (size_t)slot[i] * dim,
               dim * sizeof(float));
    hps_mirror_to_device(&p->rows, p->dev, first, n * dim);
    p->cache.hit += n;
}

/* Of the rows that have come up to micro-batch m, those that are kept. */
static void put_rows(struct hps_exchange *p, int m)
{
    const struct hps_request_cached *r = p->r->cached;
    size_t dim = (size_t)p->dim, put = p->cache.put, end = put;

    while (end < r->nput && r->put[end] < p->r->first[m + 1])
        end++;
    if (end > put && p->dev->host)
        p->dev->ops->rows->move(p->dev, dim, end - put, r->put + put, p->rows.host,
                                r->put_slot + put, p->cache.value);
    for (size_t i = put; i < end && !p->dev->host; i++)
        memcpy(p->cache.value + (size_t)r->put_slot[i] * dim,
               p->rows.host + (size_t)r->put[i] * dim, dim * sizeof(float));
    p->cache.put = end;
}

void hps_exchange_cache_pulled(struct hps_exchange *p, int m)
{
    take_hits(p, m * p->parts + p->me);
    put_rows(p, m);
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
    const float *grad = p->grad.host + (size_t)p->first_of[m * p->parts + p->me] * dim;

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
    hps_mirror_to_host(&p->grad, p->dev, (size_t)p->r->nrow * dim);
    for (size_t i = 0; i < r->nreturn; i++)
        add_row(p->grad.host + (size_t)r->returned[i] * dim,
                p->cache.held + (size_t)r->return_slot[i] * dim, dim);
    for (int m = 0; m < p->r->M; m++)
        hit += hold(p, m, hit);
}
