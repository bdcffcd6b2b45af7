/* stage_collective.c - collectives over the rows of a micro-batch: the part of each rank, and
 * the order of the summands. */
#include "comm/stage_collective_impl.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "data/data.h"

enum hps_status hps_stage_collective_new(struct hps_stage_collective **out, struct hps_dev *dev,
                                         MPI_Comm stage)
{
    struct hps_stage_collective *m = hps_mem_new(1, sizeof *m);

    m->dev = dev;
    HPS_MPI(MPI_Comm_dup(stage, &m->comm));
    HPS_MPI(MPI_Comm_rank(m->comm, &m->me));
    HPS_MPI(MPI_Comm_size(m->comm, &m->k));
    m->n = hps_mem_new(2 * (size_t)m->k, sizeof *m->n);
    m->at = m->n + m->k;
    m->gpus = hps_gpu_group_new(dev, stage, HPS_INFO);
    m->ops = m->gpus->group ? &hps_stage_collective_by_nccl : &hps_stage_collective_by_mpi;
    m->impl = m->ops->open(m);
    *out = m;
    return HPS_OK;
}

void hps_stage_collective_free(struct hps_stage_collective *m)
{
    if (!m) return;
    m->ops->close(m);
    m->dev->ops->free(m->dev, m->parts);
    hps_gpu_group_free(m->gpus);
    HPS_MPI(MPI_Comm_free(&m->comm));
    hps_mem_free(m->n);
    hps_mem_free(m);
}

/* Device memory for summands, which rarely grows. */
static void *parts_for(struct hps_stage_collective *m, size_t bytes)
{
    if (bytes > m->parts_bytes) {
        m->dev->ops->free(m->dev, m->parts);
        m->parts_bytes = bytes + bytes / 2;
        m->parts = m->dev->ops->alloc(m->dev, m->parts_bytes);
    }
    return m->parts;
}

/* Gather n floats of each rank, in the order of the ranks. */
static void lay_out_alike(struct hps_stage_collective *m, int n)
{
    assert(n <= INT_MAX / m->k);
    for (int r = 0; r < m->k; r++) {
        m->n[r] = n;
        m->at[r] = r * n;
    }
}

/* The floats of each rank's rows, and where they begin in those of the micro-batch. */
static void lay_out(struct hps_stage_collective *m, int rows, int width)
{
    assert((long long)rows * width <= INT_MAX);
    m->width = width;
    for (int r = 0; r < m->k; r++) {
        m->at[r] = (int)hps_share(rows, m->k, r) * width;
        m->n[r] = (int)hps_share(rows, m->k, r + 1) * width - m->at[r];
    }
}

/* Doubles are sent as two floats each, since they are only moved. */
static void allreduce(const struct hps_collective *c, size_t n, double *x)
{
    struct hps_stage_collective *m = c->context;
    size_t bytes = n * sizeof *x;
    void *parts = parts_for(m, (size_t)m->k * bytes), *own = x;

    _Static_assert(sizeof *x == 2 * sizeof(float), "a double is two floats");
    assert(n <= INT_MAX / 2);
    m->width = 2;
    lay_out_alike(m, 2 * (int)n);
    m->ops->gather(m, own, parts);
    m->dev->ops->dense->reduce_doubles(m->dev, m->k, n, parts, x);
    m->bytes += (double)(m->k - 1) * (double)bytes;
}

static void allgather(const struct hps_collective *c, int width, const float *own, float *all)
{
    struct hps_stage_collective *m = c->context;

    lay_out(m, c->rows, width);
    m->ops->gather(m, own, all);
    m->bytes += (double)(m->k - 1) * m->n[m->me] * (double)sizeof *own;
}

static void reduce_scatter(const struct hps_collective *c, int width, const float *all, float *own)
{
    struct hps_stage_collective *m = c->context;
    size_t n = (size_t)c->rows * (size_t)width;

    lay_out(m, c->rows, width);
    size_t mine = (size_t)m->n[m->me];
    float *parts = parts_for(m, (size_t)m->k * mine * sizeof *parts);
    m->ops->scatter(m, all, parts);
    m->dev->ops->dense->reduce(m->dev, m->k, mine, parts, own);
    m->bytes += (double)(n - mine) * sizeof *all;
}

struct hps_collective hps_stage_collective_over(struct hps_stage_collective *m, int rows)
{
    return (struct hps_collective){ .rows = rows,
                                    .first = (int)hps_share(rows, m->k, m->me),
                                    .dev = m->dev,
                                    .allreduce = allreduce,
                                    .allgather = allgather,
                                    .reduce_scatter = reduce_scatter,
                                    .context = m };
}

void hps_stage_collective_mark(struct hps_stage_collective *m, int what)
{
    if (m) m->what = what;
}

bool hps_stage_collective_took(struct hps_stage_collective *m, bool blocking, int *what,
                               double *seconds)
{
    return m && hps_spans_take(m->spans, blocking, what, seconds);
}

double hps_stage_collective_wall_s(const struct hps_stage_collective *m)
{
    return m ? m->wall_s : 0;
}

double hps_stage_collective_core_s(const struct hps_stage_collective *m)
{
    return m ? m->core_s : 0;
}

double hps_stage_collective_bytes(const struct hps_stage_collective *m)
{
    return m ? m->bytes : 0;
}
