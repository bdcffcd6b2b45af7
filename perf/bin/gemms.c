/* gemms.c - the GEMMs of a training step alone: for every shape IN:OUT y = x w, dx = dy w^T and
 * dw = x^T dy, on this rank's share of the rows, one thread a rank.
 *   mpirun -n RANKS gemms BATCH STEPS [bf16] IN:OUT...
 *       a line for each library, heterps' own choice first, all in turn step by step: its name;
 *       examples/s, BATCH over the median step, ranks beginning each together; and medians of the
 *       seconds of a step's y, and of its dx and dw
 * What a program can reach that hands its whole share to this library. bf16: the first line is that
 * of products in bf16, of operands that are rounded and packed already. Built by `make
 * perf/bin/gemms`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "hw/bf16.h"
#include "hw/gemm.h"

#define MAX_LIBS 5

struct shape {
    size_t rows, in, out;
    float *x, *w, *y, *dx, *dw; /* (rows, in), (in, out), (rows, out), as x, as w */
    uint16_t *bx, *by;          /* x, y rounded                                   */
    void *bw, *bwt;             /* w, and w transposed, packed                    */
};

static float *filled(size_t n)
{
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 13) / 13 - 0.5f; /* no zeros and no denormals to run fast over */
    return x;
}

static void forward(const struct hps_gemm_lib *lib, const struct shape *s)
{
    if (!lib) {
        hps_bf16_native()->run(&(struct hps_bf16_product){
            .m = s->rows, .n = s->out, .k = s->in, .a = s->bx, .lda = s->in, .b = s->bw,
            .c = s->y, .ldc = s->out });
        return;
    }
    lib->run(&(struct hps_gemm){ false, false, s->rows, s->out, s->in, s->x, s->in, s->w, s->out, 0,
                                 s->y, s->out });
}

static void backward(const struct hps_gemm_lib *lib, const struct shape *s)
{
    if (!lib) {
        hps_bf16_native()->run(&(struct hps_bf16_product){
            .m = s->rows, .n = s->in, .k = s->out, .a = s->by, .lda = s->out, .b = s->bwt,
            .c = s->dx, .ldc = s->in });
        hps_bf16_native()->run(&(struct hps_bf16_product){
            .ta = true, .m = s->in, .n = s->out, .k = s->rows, .a = s->bx, .lda = s->in,
            .b = s->by, .ldb = s->out, .beta = 1, .c = s->dw, .ldc = s->out });
        return;
    }
    lib->run(&(struct hps_gemm){ false, true, s->rows, s->in, s->out, s->y, s->out, s->w, s->out, 0,
                                 s->dx, s->in });
    lib->run(&(struct hps_gemm){ true, false, s->in, s->out, s->rows, s->x, s->in, s->y, s->out, 1,
                                 s->dw, s->out });
}

/* Of every step of a library, and of its y. */
struct timing {
    const struct hps_gemm_lib *lib;     /* NULL: products in bf16 */
    double *all_s, *y_s;        /* (steps) */
};

/* One step, timed as the k-th. */
static void step(const struct timing *t, int k, const struct shape *s, int n, MPI_Comm world)
{
    double y_s = 0;

    HPS_MPI(MPI_Barrier(world));
    double t0 = hps_now_s();
    for (int i = 0; i < n; i++) {
        double begin_s = hps_now_s();
        forward(t->lib, &s[i]);
        y_s += hps_now_s() - begin_s;
        backward(t->lib, &s[i]);
    }
    HPS_MPI(MPI_Barrier(world));
    t->all_s[k] = hps_now_s() - t0;
    t->y_s[k] = y_s;
}

static void make(struct shape *s, const char *text, size_t rows)
{
    if (sscanf(text, "%zu:%zu", &s->in, &s->out) != 2 || s->in < 1 || s->out < 1)
        HPS_DIE("'%s' is no IN:OUT", text);
    s->rows = rows;
    s->x = filled(rows * s->in);
    s->w = filled(s->in * s->out);
    s->y = filled(rows * s->out);
    s->dx = filled(rows * s->in);
    s->dw = filled(s->in * s->out);
}

static void make_bf16(struct shape *s)
{
    const struct hps_bf16_lib *lib = hps_bf16_native();

    s->bx = hps_mem_new(s->rows * s->in, sizeof(uint16_t));
    s->by = hps_mem_new(s->rows * s->out, sizeof(uint16_t));
    s->bw = hps_mem_new(lib->packed_bytes(s->in, s->out), 1);
    s->bwt = hps_mem_new(lib->packed_bytes(s->out, s->in), 1);
    lib->round(s->rows, s->in, s->x, s->in, s->bx, s->in);
    lib->round(s->rows, s->out, s->y, s->out, s->by, s->out);
    lib->pack(s->in, s->out, false, s->w, s->bw);
    lib->pack(s->out, s->in, true, s->w, s->bwt);
}

static void drop(struct shape *s)
{
    void *const rounded[] = { s->bx, s->by, s->bw, s->bwt };

    for (int i = 0; i < 4; i++)
        hps_mem_free(rounded[i]);
    hps_mem_free(s->x);
    hps_mem_free(s->w);
    hps_mem_free(s->y);
    hps_mem_free(s->dx);
    hps_mem_free(s->dw);
}

static void print(struct timing *t, int batch, int steps)
{
    double all_s = hps_sort_median(t->all_s, (size_t)steps);
    double y_s = hps_sort_median(t->y_s, (size_t)steps);

    if (hps_rank() == 0)
        hps_out("%s %.6g %.6g %.6g\n", t->lib ? t->lib->name : "bf16", batch / all_s, y_s,
                all_s - y_s);
    hps_mem_free(t->all_s);
    hps_mem_free(t->y_s);
}

static struct timing timing_of(const struct hps_gemm_lib *lib, int steps)
{
    return (struct timing){ lib, hps_mem_new((size_t)steps, sizeof(double)),
                            hps_mem_new((size_t)steps, sizeof(double)) };
}

static enum hps_status run(MPI_Comm world, int argc, char **argv)
{
    int batch = argc > 3 ? atoi(argv[1]) : 0, steps = argc > 3 ? atoi(argv[2]) : 0;
    bool bf16 = argc > 3 && strcmp(argv[3], "bf16") == 0;
    int first = bf16 ? 4 : 3, n = argc - first;
    if (batch < hps_nrank() || steps < 1 || n < 1) {
        HPS_SAY(HPS_ERROR, "usage: gemms BATCH STEPS [bf16] IN:OUT...");
        return HPS_USAGE;
    }
    if (bf16 && !hps_bf16_native()) {
        HPS_SAY(HPS_ERROR, "this processor has no bf16");
        return HPS_FAIL;
    }
    struct shape *s = hps_mem_new((size_t)n, sizeof *s);
    struct timing t[MAX_LIBS];
    int nlib = 0;

    for (int i = 0; i < n; i++)
        make(&s[i], argv[first + i], (size_t)(batch / hps_nrank()));
    for (int i = 0; bf16 && i < n; i++)
        make_bf16(&s[i]);
    if (bf16) t[nlib++] = timing_of(NULL, steps);
    for (int i = 0; hps_gemm_libs[i] && nlib < MAX_LIBS; i++)
        if (hps_gemm_libs[i]->usable()) t[nlib++] = timing_of(hps_gemm_libs[i], steps);
    for (int k = -2; k < steps; k++)            /* the first ones warm up */
        for (int i = 0; i < nlib; i++)
            step(&t[i], k < 0 ? 0 : k, s, n, world);
    for (int i = 0; i < nlib; i++)
        print(&t[i], batch / hps_nrank() * hps_nrank(), steps);
    for (int i = 0; i < n; i++)
        drop(&s[i]);
    hps_mem_free(s);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
