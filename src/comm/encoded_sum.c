/* encoded_sum.c - passes sums on to those that round, or to those that choose. */
#include "comm/encoded_sum.h"

#include "base/mem.h"
#include "comm/rounded_sum.h"
#include "comm/topk_sum.h"

struct hps_encoded_sum {
    struct hps_rounded_sum *rounded;
    struct hps_topk_sum *topk;  /* one of both */
};

struct hps_encoded_sum *hps_encoded_sum_new(MPI_Comm comm, int nsum,
                                            const struct hps_reduce_need *need)
{
    if (need->share == 0 && !hps_codec_converts(need->codec)) return NULL;
    struct hps_encoded_sum *s = hps_mem_new(1, sizeof *s);
    if (need->share > 0)
        s->topk = hps_topk_sum_new(comm, nsum, need->share, need->count);
    else
        s->rounded = hps_rounded_sum_new(comm, nsum, need->codec, need->count);
    return s;
}

void hps_encoded_sum_free(struct hps_encoded_sum *s)
{
    if (!s) return;
    hps_topk_sum_free(s->topk);
    hps_rounded_sum_free(s->rounded);
    hps_mem_free(s);
}

void hps_encoded_sum_start(struct hps_encoded_sum *s, const float *x, float *to, size_t n,
                           float *residual)
{
    if (s->topk)
        hps_topk_sum_start(s->topk, x, to, n, residual);
    else
        hps_rounded_sum_start(s->rounded, x, to, n);
}

bool hps_encoded_sum_done(struct hps_encoded_sum *s, int n, bool blocking)
{
    return s->topk ? hps_topk_sum_done(s->topk, n, blocking)
                   : hps_rounded_sum_done(s->rounded, n, blocking);
}

void hps_encoded_sum_reset(struct hps_encoded_sum *s)
{
    if (s->topk)
        hps_topk_sum_reset(s->topk);
    else
        hps_rounded_sum_reset(s->rounded);
}
