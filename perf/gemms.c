/* gemms.c - the GEMMs of a training step alone: for every shape IN:OUT y = x w, dx = dy w^T and
 * dw = x^T dy, on this rank's share of the rows, one thread a rank.
 *   mpirun -n RANKS gemms BATCH STEPS IN:OUT...
 *       prints examples/s: BATCH over the median step, ranks beginning each together
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

static void multiply(const struct shape *s, int rows)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, s->out, s->in, 1, s->x, s->in,
                s->w, s->out, 0, s->y, s->out);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, s->in, s->out, 1, s->y, s->out,
                s->w, s->out, 0, s->dx, s->in);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s->in, s->out, rows, 1, s->x, s->in,
                s->y, s->out, 1, s->dw, s->out);
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
    double *took = hps_mem_new((size_t)steps, sizeof *took);

    for (int i = 0; i < n; i++) {
        if (sscanf(argv[3 + i], "%d:%d", &s[i].in, &s[i].out) != 2 || s[i].in < 1 || s[i].out < 1)
            HPS_DIE("'%s' is no IN:OUT", argv[3 + i]);
        s[i].x = filled((size_t)rows * (size_t)s[i].in);
        s[i].w = filled((size_t)s[i].in * (size_t)s[i].out);
        s[i].y = filled((size_t)rows * (size_t)s[i].out);
        s[i].dx = filled((size_t)rows * (size_t)s[i].in);
        s[i].dw = filled((size_t)s[i].in * (size_t)s[i].out);
    }
    for (int k = -2; k < steps; k++) { /* the first ones warm up */
        HPS_MPI(MPI_Barrier(world));
        double t0 = hps_now_s();
        for (int i = 0; i < n; i++)
            multiply(&s[i], rows);
        HPS_MPI(MPI_Barrier(world));
        if (k >= 0) took[k] = hps_now_s() - t0;
    }
    double step_s = hps_sort_median(took, (size_t)steps);
    if (hps_rank() == 0) hps_out("%.6g\n", rows * hps_nrank() / step_s);
    for (int i = 0; i < n; i++) {
        hps_mem_free(s[i].x);
        hps_mem_free(s[i].w);
        hps_mem_free(s[i].y);
        hps_mem_free(s[i].dx);
        hps_mem_free(s[i].dw);
    }
    hps_mem_free(took);
    hps_mem_free(s);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
