/* reduce.c - divides the gradients into buckets, and passes them, from the end, to reduce
 * operations. */
#include "comm/reduce.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"

static const struct hps_reduce_ops *const all[] = { &hps_reduce_nccl, &hps_reduce_shm,
                                                    &hps_reduce_mpi };

struct hps_reduce {
    struct hps_dev *dev;
    const struct hps_reduce_ops *ops;   /* NULL: a stage of one rank                  */
    void *state;
    const struct hps_gpu_group *gpus;
    MPI_Comm comm;                      /* owned                                      */
    float *grad;
    size_t n, bucket;                   /* floats                                     */
    bool by_share;                      /* sums are distributed                       */
    const struct hps_codec_ops *codec;  /* in which numbers travel                    */
    double share;                       /* of the numbers that travel; 0: all         */
    float *residual;                    /* (n) what did not; NULL: all do             */
    struct hps_reduce_host host;        /* where some do not                          */
    struct hps_message_count count;
    size_t left;                        /* [0, left) is not complete yet              */
    /* host sums of device gradients: buckets are copied to the host, summed, copied back */
    float *copy;                        /* (n) pinned; NULL: not needed               */
    struct hps_event **came;            /* (nbucket) after the copy to the host       */
    int nbucket, nready, nstarted;      /* of a step: buckets being copied, summed    */
    int nrank;
    double bytes;
};

/* ---- making ---- */

/* GPUs that form a group sum all they send in fp32. */
static enum hps_status say_fp32(const struct hps_reduce *r)
{
    int me;

    if (r->ops->encodes || (r->share == 0 && !hps_codec_converts(r->codec))) return HPS_OK;
    HPS_MPI(MPI_Comm_rank(r->comm, &me));
    if (me == 0 && r->share > 0)
        HPS_SAY_ALL(HPS_ERROR, "storage.messages.dense topk: GPUs that sum gradients by NCCL send "
                               "all of them as fp32");
    else if (me == 0)
        HPS_SAY_ALL(HPS_INFO, "storage.messages.dense: %s sends fp32", r->ops->name);
    return r->share > 0 ? HPS_DECK : HPS_OK;
}

/* A stage of one host has no residual. */
static void find_host(struct hps_reduce *r)
{
    if (r->residual && r->ops->host) r->ops->host(r->state, &r->host);
    if (r->host.n > 1) return;
    hps_mem_free(r->residual);
    r->residual = NULL;
    r->host.n = 0;
}

static enum hps_status choose(struct hps_reduce *r)
{
    if (r->share > 0) r->residual = hps_mem_new(r->n, sizeof *r->residual);
    const struct hps_reduce_need need = { .gpus = r->gpus, .dev = r->dev, .n = r->n,
                                          .bucket = r->bucket, .nbucket = r->nbucket,
                                          .by_share = r->by_share, .codec = r->codec,
                                          .share = r->share, .residual = r->residual,
                                          .count = &r->count };

    for (size_t i = 0; !r->state; i++) {
        r->ops = all[i];
        r->state = r->ops->open(&need, r->comm);
    }
    if (r->ops->memory) r->grad = r->ops->memory(r->state);
    r->by_share &= r->ops->gather_begin != NULL;
    if (!r->ops->encodes || !r->ops->encodes(r->state)) r->codec = &hps_codec_fp32;
    find_host(r);
    return say_fp32(r);
}

static void make_copy(struct hps_reduce *r)
{
    r->copy = r->dev->ops->pin(r->dev, r->n * sizeof *r->copy);
    r->came = hps_mem_new((size_t)r->nbucket, sizeof(struct hps_event *));
    for (int b = 0; b < r->nbucket; b++)
        r->came[b] = r->dev->ops->event_new(r->dev);
}

enum hps_status hps_reduce_new(struct hps_reduce **reduce, struct hps_dev *dev, float *grad,
                               const struct hps_reduce_opt *opt, MPI_Comm stage)
{
    struct hps_reduce *r = hps_mem_new(1, sizeof *r);
    enum hps_status st = HPS_OK;

    assert(opt->bucket_bytes >= sizeof(float));
    *r = (struct hps_reduce){ .dev = dev, .grad = grad, .n = opt->n, .left = opt->n, .nrank = 1,
                              .bucket = opt->bucket_bytes / sizeof(float),
                              .by_share = opt->by_share, .codec = opt->codec,
                              .share = opt->share, .comm = MPI_COMM_NULL };
    if (stage != MPI_COMM_NULL) HPS_MPI(MPI_Comm_size(stage, &r->nrank));
    if (r->nrank > 1 && r->n > 0) {
        HPS_MPI(MPI_Comm_dup(stage, &r->comm));
        r->nbucket = (int)((r->n - 1) / r->bucket + 1);
        r->gpus = hps_gpu_group_new(dev, stage, HPS_INFO);
        st = choose(r);
        if (!dev->host && !r->ops->device) make_copy(r);
    }
    *reduce = r;
    return st;
}

static void free_copy(struct hps_reduce *r)
{
    if (!r->copy) return;
    r->dev->ops->stream_wait(r->dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    r->dev->ops->sync(r->dev);
    for (int b = 0; b < r->nbucket; b++)
        r->dev->ops->event_free(r->dev, r->came[b]);
    hps_mem_free(r->came);
    r->dev->ops->unpin(r->dev, r->copy);
}

void hps_reduce_free(struct hps_reduce *r)
{
    if (!r) return;
    free_copy(r);
    if (r->ops) {
        r->ops->close(r->state);
        HPS_MPI(MPI_Comm_free(&r->comm));
    }
    hps_gpu_group_free(r->gpus);
    hps_mem_free(r->residual);
    hps_mem_free(r);
}

float *hps_reduce_grad(const struct hps_reduce *r)
{
    return r->grad;
}

const char *hps_reduce_name(const struct hps_reduce *r)
{
    return r->ops ? r->ops->name : "none";
}

/* ---- a step ---- */

static size_t first_of(const struct hps_reduce *r, int b)
{
    size_t end;
    return hps_reduce_bucket(r->n, r->bucket, b, &end);
}

static size_t size_of(const struct hps_reduce *r, int b)
{
    size_t end, first = hps_reduce_bucket(r->n, r->bucket, b, &end);
    return end - first;
}

/* Queue the copy of a complete bucket to where it is summed. */
static void begin_copy(struct hps_reduce *r, int b)
{
    size_t first = first_of(r, b), bytes = size_of(r, b) * sizeof *r->grad;

    if (r->dev->host) {
        r->dev->ops->sync(r->dev);
        return;
    }
    r->dev->ops->stream_wait(r->dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    if (!r->copy) return;
    r->dev->ops->copy_to_host_async(r->dev, HPS_STREAM_PEERS, r->copy + first, r->grad + first,
                                    bytes);
    r->dev->ops->event_record(r->dev, r->came[b], HPS_STREAM_PEERS);
}

/* Start the sums of buckets that were copied, in order; `all_of_them`: wait for each copy. */
static void start(struct hps_reduce *r, bool all_of_them)
{
    for (; r->nstarted < r->nready; r->nstarted++) {
        int b = r->nstarted;
        if (r->copy && all_of_them)
            hps_dev_wait(r->dev, r->came[b]);
        else if (r->copy && !r->dev->ops->event_done(r->dev, r->came[b]))
            return;
        r->ops->start(r->state, (r->copy ? r->copy : r->grad) + first_of(r, b), size_of(r, b));
        if (r->residual) continue;      /* such a sum counts what it sends */
        double copies = 2.0 * (r->nrank - 1) / r->nrank;
        r->bytes += copies * (double)r->codec->bytes(size_of(r, b));
        hps_message_sent(r->codec, copies, size_of(r, b), &r->count);
    }
}

void hps_reduce_ready(struct hps_reduce *r, size_t offset)
{
    assert(offset <= r->n);
    if (!r->ops) return;
    while (r->left > 0 && (offset == 0 || r->left >= offset + r->bucket)) {
        begin_copy(r, r->nready);
        r->left = first_of(r, r->nready++);
        start(r, false);
    }
}

void hps_reduce_poll(struct hps_reduce *r)
{
    if (!r->ops) return;
    start(r, false);
    r->ops->poll(r->state);
}

bool hps_reduce_busy(const struct hps_reduce *r)
{
    return r->nready > 0;
}

void hps_reduce_end(struct hps_reduce *r)
{
    if (!r->ops) return;
    hps_reduce_ready(r, 0);
    start(r, true);
    r->ops->wait(r->state);
    if (r->copy)
        r->dev->ops->copy_to_device_async(r->dev, HPS_STREAM_PEERS, r->grad, r->copy,
                                          r->n * sizeof *r->grad);
    if (!r->dev->host) r->dev->ops->stream_wait(r->dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    r->left = r->n;
    r->nready = r->nstarted = 0;
}

/* ---- shares ---- */

bool hps_reduce_by_share(const struct hps_reduce *r)
{
    return r->ops && r->by_share;
}

bool hps_reduce_share(const struct hps_reduce *r, int i, size_t *first, size_t *end)
{
    return r->ops->share(r->state, i, first, end);
}

void hps_reduce_gather_begin(struct hps_reduce *r, const float *x)
{
    r->ops->gather_begin(r->state, x);
}

void hps_reduce_gather_end(struct hps_reduce *r, float *x)
{
    r->ops->gather_end(r->state, x);
}

/* ---- residuals ---- */

bool hps_reduce_has_residual(const struct hps_reduce *r, struct hps_reduce_host *host)
{
    *host = r->host;
    return r->residual != NULL;
}

bool hps_reduce_get_residual(struct hps_reduce *r, float *x)
{
    size_t first, end;
    int me;

    assert(r->n <= INT_MAX);
    memset(x, 0, r->n * sizeof *x);
    for (int i = 0; r->ops->share(r->state, i, &first, &end); i++)
        memcpy(x + first, r->residual + first, (end - first) * sizeof *x);
    if (r->host.ranks == MPI_COMM_NULL) return true;
    /* each number is of one rank, and the bits of all others are 0 */
    HPS_MPI(MPI_Comm_rank(r->host.ranks, &me));
    HPS_MPI(MPI_Reduce(me == 0 ? MPI_IN_PLACE : x, x, (int)r->n, MPI_UINT32_T, MPI_BOR, 0,
                       r->host.ranks));
    return me == 0;
}

void hps_reduce_add_residual(struct hps_reduce *r, size_t first, size_t n, const float *x)
{
    for (size_t i = 0; i < n; i++)
        r->residual[first + i] += x[i];
}

double hps_reduce_residual2(const struct hps_reduce *r)
{
    double sum = 0;
    size_t first, end;

    for (int i = 0; r->residual && r->ops->share(r->state, i, &first, &end); i++)
        for (size_t at = first; at < end; at++)
            sum += (double)r->residual[at] * (double)r->residual[at];
    return sum;
}

double hps_reduce_bytes(const struct hps_reduce *r)
{
    return r->residual ? r->count.bytes : r->bytes;
}

const struct hps_message_count *hps_reduce_count(const struct hps_reduce *r)
{
    return &r->count;
}
