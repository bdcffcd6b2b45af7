/* gemms.c - the GEMMs of a training step alone: for every shape IN:OUT y = x w, dx = dy w^T and
 * dw = x^T dy, on this rank's share of the rows, one thread a rank.
 *   mpirun -n RANKS gemms BATCH STEPS IN:OUT...
 *       prints examples/s, BATCH over the median step, ranks beginning each together; and medians
 *       of the seconds of a step's y, and of its dx and dw
 * What a program that multiplies by this library can reach at most. Built by `make perf/gemms`. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/sort.h"

struct shape {
    int in, out;
    float *x, *w, *y, *dx, *dw; /* (rows, in), (in, out), (rows, out), as x, as w */
};

static float *filled(size_t n)
{
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 13) / 13 - 0.5f; /* no zeros and no denormals to run fast over */
    return x;
}

static void forward(const struct shape *s, int rows)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, s->out, s->in, 1, s->x, s->in,
                s->w, s->out, 0, s->y, s->out);
}

static void backward(const struct shape *s, int rows)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, s->in, s->out, 1, s->y, s->out,
                s->w, s->out, 0, s->dx, s->in);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s->in, s->out, rows, 1, s->x, s->in,
                s->y, s->out, 1, s->dw, s->out);
}

/* Seconds of one step, and of its y in it. */
static void step(const struct shape *s, int n, int rows, MPI_Comm world, double *y_s, double *all_s)
{
    *y_s = 0;
    HPS_MPI(MPI_Barrier(world));
    double t0 = hps_now_s();
    for (int i = 0; i < n; i++) {
        double begin_s = hps_now_s();
        forward(&s[i], rows);
        *y_s += hps_now_s() - begin_s;
        backward(&s[i], rows);
    }
    HPS_MPI(MPI_Barrier(world));
    *all_s = hps_now_s() - t0;
}

static void make(struct shape *s, const char *text, int rows)
{
    if (sscanf(text, "%d:%d", &s->in, &s->out) != 2 || s->in < 1 || s->out < 1)
        HPS_DIE("'%s' is no IN:OUT", text);
    s->x = filled((size_t)rows * (size_t)s->in);
    s->w = filled((size_t)s->in * (size_t)s->out);
    s->y = filled((size_t)rows * (size_t)s->out);
    s->dx = filled((size_t)rows * (size_t)s->in);
    s->dw = filled((size_t)s->in * (size_t)s->out);
}

static void drop(struct shape *s)
{
    hps_mem_free(s->x);
    hps_mem_free(s->w);
    hps_mem_free(s->y);
    hps_mem_free(s->dx);
    hps_mem_free(s->dw);
}

static enum hps_status run(MPI_Comm world, int argc, char **argv)
{
    int batch = argc > 3 ? atoi(argv[1]) : 0, steps = argc > 3 ? atoi(argv[2]) : 0, n = argc - 3;
    if (batch < hps_nrank() || steps < 1) {
        HPS_SAY(HPS_ERROR, "usage: gemms BATCH STEPS IN:OUT...");
        return HPS_USAGE;
    }
    int rows = batch / hps_nrank();
    struct shape *s = hps_mem_new((size_t)n, sizeof *s);
    double *all = hps_mem_new((size_t)steps, sizeof *all);
    double *y = hps_mem_new((size_t)steps, sizeof *y);

    for (int i = 0; i < n; i++)
        make(&s[i], argv[3 + i], rows);
    for (int k = -2; k < steps; k++)            /* the first ones warm up */
        step(s, n, rows, world, &y[k < 0 ? 0 : k], &all[k < 0 ? 0 : k]);
    double all_s = hps_sort_median(all, (size_t)steps);
    double y_s = hps_sort_median(y, (size_t)steps);
    if (hps_rank() == 0)
        hps_out("%.6g %.6g %.6g\n", rows * hps_nrank() / all_s, y_s, all_s - y_s);
    for (int i = 0; i < n; i++)
        drop(&s[i]);
    hps_mem_free(all);
    hps_mem_free(y);
    hps_mem_free(s);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
