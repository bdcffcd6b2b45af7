/* step_residual.c - what dense gradients have left on each host, for checkpoints and reports. */
#include <math.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "step/step_impl.h"

void hps_step_find_residuals(struct hps_step *s)
{
    int S = s->team->S;
    bool any = false;

    s->nresidual = hps_mem_new((size_t)S, sizeof *s->nresidual);
    for (int i = 0; i < s->team->nmine; i++) {
        struct hps_reduce_host host = { .n = 0 };
        const struct hps_stage *r = &s->stage[i];
        if (r->reduce) hps_reduce_has_residual(r->reduce, &host);
        s->nresidual[r->stage] = host.n;
    }
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, s->nresidual, S, MPI_INT, MPI_MAX, s->team->world));
    for (int stage = 0; stage < S; stage++)
        any |= s->nresidual[stage] > 0;
    if (any) return;
    hps_mem_free(s->nresidual);
    s->nresidual = NULL;
}

float *hps_step_residual(struct hps_step *s, int i, int *index)
{
    struct hps_stage *r = &s->stage[i];
    struct hps_reduce_host host;

    if (!r->reduce || !hps_reduce_has_residual(r->reduce, &host)) return NULL;
    *index = host.index;
    float *x = hps_mem_new(r->slice->nparam, sizeof *x);
    if (hps_reduce_get_residual(r->reduce, x)) return x;
    hps_mem_free(x);
    return NULL;
}

double hps_step_residual_norm(const struct hps_step *s)
{
    double sum = 0;

    for (int i = 0; i < s->team->nmine; i++)
        if (s->stage[i].reduce) sum += hps_reduce_residual2(s->stage[i].reduce);
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, s->team->world));
    return sqrt(sum);
}

double hps_step_residual_bytes(const struct hps_step *s)
{
    double n = 0;

    for (int stage = 0; s->nresidual && stage < s->team->S; stage++)
        for (int l = s->plan->stage[stage].first; l <= s->plan->stage[stage].last; l++)
            n += (double)s->nresidual[stage] * (double)s->net->layer[l].nparam;
    return n * sizeof(float);
}
