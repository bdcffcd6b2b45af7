/* reduce_nccl.c - sums over NCCL: one all-reduce a bucket, in the GPU's memory, on a stream beside
 * the backward pass. */
#include "base/mem.h"
#include "comm/reduce.h"

static void *open_nccl(const struct hps_reduce_need *need, MPI_Comm comm)
{
    const struct hps_gpu_group **s;

    (void)comm;
    if (!need->gpus->group) return NULL;
    s = hps_mem_new(1, sizeof *s);
    *s = need->gpus;
    return s;
}

static const struct hps_gpu_group *gpus_of(void *state)
{
    return *(const struct hps_gpu_group *const *)state;
}

static void start(void *state, float *at, size_t n)
{
    const struct hps_gpu_group *c = gpus_of(state);
    c->ops->sum(c->group, at, n);
}

static void look(void *state)
{
    const struct hps_gpu_group *c = gpus_of(state);
    c->ops->check_error(c->group);
}

const struct hps_reduce_ops hps_reduce_nccl = {
    .name = "nccl",
    .device = true,
    .open = open_nccl,
    .close = hps_mem_free,
    .start = start,
    .poll = look,
    .wait = look
};
