/* stage_running.c - running states with several workers. A micro-batch moves a state r to a r + x,
 * so that c of them in turn move it to a^c r + d. Workers begin a step with the same r and find a d
 * each; in the order of the workers these make a^(sum of c) r + sum of a^(c of later workers) d. */
#include <math.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "step/stage_impl.h"

void hps_stage_read_running(const struct hps_stage *r, double *running)
{
    size_t n = hps_slice_nrunning(r->slice);
    float *host = hps_mem_new(n, sizeof *host);
    struct hps_dev *dev = r->slice->dev;

    dev->ops->copy_to_host(dev, host, r->slice->running, n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        running[i] = host[i];
    hps_mem_free(host);
}

static void write_running(struct hps_stage *r, const double *running)
{
    size_t n = hps_slice_nrunning(r->slice);
    float *host = hps_mem_new(n, sizeof *host);
    struct hps_dev *dev = r->slice->dev;

    for (size_t i = 0; i < n; i++)
        host[i] = (float)running[i];
    dev->ops->copy_to_device(dev, r->slice->running, host, n * sizeof *host);
    dev->ops->sync(dev);
    hps_mem_free(host);
}

/* Micro-batches of the step with at least `rows` rows, of workers from `first` up to `end`. */
static int batches(const struct hps_stage *r, int rows, int first, int end)
{
    const struct hps_stage_step *x = &r->step;
    int sum = 0;

    for (int w = first; w < end; w++) {
        long long left = x->all - w * x->batch, n = left < x->batch ? left : x->batch;
        for (int m = 0; m < r->M && n > 0; m++)
            sum += hps_share(n, r->M, m + 1) - hps_share(n, r->M, m) >= rows;
    }
    return sum;
}

/* What this rank adds to the states (n) of layer l: one rank of each worker its part, the first
 * one also what is left of the states before. */
static void add_layer(const struct hps_stage *r, const struct hps_layer *l, size_t n,
                      const double *before, double *now)
{
    int W = r->team->W, w = r->team->worker, rows = l->type->running_rows;
    double share = n > 0 ? l->type->running_share(l) : 1;
    double mine = pow(share, batches(r, rows, w, w + 1));
    double later = pow(share, batches(r, rows, w + 1, W));
    double all = w == 0 ? pow(share, batches(r, rows, 0, W)) : 0;

    for (size_t i = 0; i < n; i++)
        now[i] = r->team->my_replica == 0 ? later * (now[i] - mine * before[i]) + all * before[i]
                                          : 0;
}

double *hps_stage_moved_running(struct hps_stage *r)
{
    const struct hps_slice *s = r->slice;
    size_t all = hps_slice_nrunning(s);

    if (!r->running) return NULL;
    double *share = r->running, *moved = r->running + all;
    hps_stage_read_running(r, moved);
    for (int l = s->first; l <= s->last; l++) {
        const struct hps_layer_type *type = s->net->layer[l].type;
        size_t i = s->running_at[l - s->first], end = s->running_at[l - s->first + 1];
        int w = r->team->worker;
        double left = i < end ? pow(type->running_share(&s->net->layer[l]),
                                    batches(r, type->running_rows, w, w + 1)) : 1;
        for (; i < end; i++) {
            moved[i] -= left * r->running[i];
            share[i] = left;
        }
    }
    return r->running;
}

void hps_stage_merge_running(struct hps_stage *r)
{
    const struct hps_slice *s = r->slice;
    size_t all = hps_slice_nrunning(s);

    if (!r->running) return;
    double *now = r->running + all;
    hps_stage_read_running(r, now);
    for (int l = s->first; l <= s->last; l++) {
        size_t at = s->running_at[l - s->first], n = s->running_at[l - s->first + 1] - at;
        add_layer(r, &s->net->layer[l], n, r->running + at, now + at);
    }
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, now, (int)all, MPI_DOUBLE, MPI_SUM, r->team->stage));
    write_running(r, now);
}
