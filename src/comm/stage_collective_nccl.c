/* stage_collective_nccl.c - collectives by NCCL, in device memory. Kernels queued after one wait
 * for it, the host does not. */
#include "base/mem.h"
#include "comm/stage_collective_impl.h"

struct post {
    struct hps_nccl_message *out, *in;    /* (k) of the next exchange */
    int nout, nin;
};

static void *open_nccl(struct hps_stage_collective *m)
{
    struct post *p = hps_mem_new(1, sizeof *p);

    p->out = hps_mem_new(2 * (size_t)m->k, sizeof *p->out);
    p->in = p->out + m->k;
    m->spans = hps_spans_new(m->dev);
    return p;
}

static void close_nccl(struct hps_stage_collective *m)
{
    struct post *p = m->impl;

    m->dev->ops->sync(m->dev);
    hps_spans_free(m->spans);
    hps_mem_free(p->out);
    hps_mem_free(p);
}

static void add(struct hps_nccl_message *message, int *n, int peer, const float *at, int floats)
{
    hps_nccl_add(message, n, peer, (float *)(size_t)at, (size_t)floats);
}

/* The stream COMPUTE makes the numbers and uses the results. */
static void travel(struct hps_stage_collective *m)
{
    struct post *p = m->impl;

    hps_spans_begin(m->spans, m->what);
    m->dev->ops->stream_wait(m->dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    m->gpus->ops->exchange(m->gpus->group, p->nout, p->out, p->nin, p->in);
    m->dev->ops->stream_wait(m->dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    hps_spans_end(m->spans, 0);
    p->nout = p->nin = 0;
}

static void copy_own(struct hps_stage_collective *m, const float *from, float *to)
{
    int n = m->n[m->me], width = m->width;

    m->dev->ops->dense->copy(m->dev, n / width, hps_tensor_of(from, width),
                              hps_tensor_of(to, width));
}

static void gather(struct hps_stage_collective *m, const float *own, float *all)
{
    struct post *p = m->impl;

    copy_own(m, own, all + m->at[m->me]);
    for (int r = 0; r < m->k; r++) {
        if (r == m->me) continue;
        add(p->out, &p->nout, r, own, m->n[m->me]);
        add(p->in, &p->nin, r, all + m->at[r], m->n[r]);
    }
    travel(m);
}

static void scatter(struct hps_stage_collective *m, const float *all, float *parts)
{
    struct post *p = m->impl;
    int mine = m->n[m->me];

    copy_own(m, all + m->at[m->me], parts + (size_t)m->me * (size_t)mine);
    for (int r = 0; r < m->k; r++) {
        if (r == m->me) continue;
        add(p->out, &p->nout, r, all + m->at[r], m->n[r]);
        add(p->in, &p->nin, r, parts + (size_t)r * (size_t)mine, mine);
    }
    travel(m);
}

const struct hps_stage_collective_ops hps_stage_collective_by_nccl = {
    .open = open_nccl, .close = close_nccl, .gather = gather, .scatter = scatter
};
