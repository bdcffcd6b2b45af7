/* reduce.c - cuts the gradients into buckets and hands them, from the end, to a way to sum. */
#include "comm/reduce.h"

#include <assert.h>

#include "base/mem.h"

static const struct hps_reduce_ops *const all[] = {
    &hps_reduce_mpi
};

struct hps_reduce {
    struct hps_dev *dev;
    const struct hps_reduce_ops *ops;   /* NULL: nobody to sum with         */
    void *state;
    MPI_Comm comm;                      /* owned                            */
    float *grad;
    float *copy;                        /* (n) on the host; NULL: not needed */
    size_t n, bucket;                   /* floats                           */
    size_t left;                        /* [0, left) has not started         */
    int nrank;
    double bytes;
};

static const struct hps_reduce_ops *pick(const struct hps_dev *dev)
{
    size_t i = 0;

    while (!all[i]->fits(dev))
        i++;
    return all[i];
}

enum hps_status hps_reduce_new(struct hps_reduce **reduce, struct hps_dev *dev, float *grad,
                               size_t n, size_t bucket_bytes, MPI_Comm stage)
{
    struct hps_reduce *r = hps_mem_new(1, sizeof *r);

    assert(bucket_bytes >= sizeof(float));
    r->dev = dev;
    r->grad = grad;
    r->n = r->left = n;
    r->bucket = bucket_bytes / sizeof(float);
    r->comm = MPI_COMM_NULL;
    r->nrank = 1;
    if (stage != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_size(stage, &r->nrank));
    if (r->nrank > 1 && n > 0) {
        HPS_MPI(MPI_Comm_dup(stage, &r->comm));
        r->ops = pick(dev);
        r->state = r->ops->open(dev, (int)((n - 1) / r->bucket + 1), r->comm);
        if (!dev->host && !r->ops->device)
            r->copy = hps_mem_new(n, sizeof *r->copy);
    }
    *reduce = r;
    return HPS_OK;
}

void hps_reduce_free(struct hps_reduce *r)
{
    if (!r)
        return;
    if (r->ops) {
        r->ops->close(r->state);
        HPS_MPI(MPI_Comm_free(&r->comm));
    }
    hps_mem_free(r->copy);
    hps_mem_free(r);
}

static void start(struct hps_reduce *r, size_t first, size_t n)
{
    float *at = r->grad + first;

    if (r->copy) {
        at = r->copy + first;
        r->dev->ops->get(r->dev, at, r->grad + first, n * sizeof *at);
    }
    if (r->copy || r->dev->host)
        r->dev->ops->sync(r->dev);
    r->ops->start(r->state, at, n);
    r->bytes += 2.0 * (r->nrank - 1) / r->nrank * (double)n * sizeof *at;
}

void hps_reduce_ready(struct hps_reduce *r, size_t offset)
{
    assert(offset <= r->n);
    if (!r->ops)
        return;
    while (r->left > 0 && (offset == 0 || r->left >= offset + r->bucket)) {
        size_t n = r->left < r->bucket ? r->left : r->bucket;
        r->left -= n;
        start(r, r->left, n);
    }
}

void hps_reduce_poll(struct hps_reduce *r)
{
    if (r->ops)
        r->ops->poll(r->state);
}

void hps_reduce_end(struct hps_reduce *r)
{
    if (!r->ops)
        return;
    hps_reduce_ready(r, 0);
    r->ops->wait(r->state);
    if (r->copy)
        r->dev->ops->put(r->dev, r->grad, r->copy, r->n * sizeof *r->grad);
    r->left = r->n;
}

double hps_reduce_bytes(const struct hps_reduce *r)
{
    return r->bytes;
}
