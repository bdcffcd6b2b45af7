/* stage_collective_mpi.c - collectives by MPI, in host memory. Data of a GPU pass through pinned
 * memory: the host waits for its GPU, and the GPU for its host. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/stage_collective_impl.h"
#include "hw/count.h"

struct stage {                          /* pinned */
    float *at;
    size_t n;
};

struct state {
    struct stage out, in;
    struct hps_event *came;             /* data to send are on the host */
    int *n, *at;                        /* (k) what each rank sends here */
};

static void *open_mpi(struct hps_stage_collective *m)
{
    struct state *s = hps_mem_new(1, sizeof *s);

    s->n = hps_mem_new(2 * (size_t)m->k, sizeof *s->n);
    s->at = s->n + m->k;
    if (!m->dev->host) s->came = m->dev->ops->event_new(m->dev);
    return s;
}

static void close_mpi(struct hps_stage_collective *m)
{
    struct state *s = m->impl;

    m->dev->ops->sync(m->dev);
    m->dev->ops->event_free(m->dev, s->came);
    m->dev->ops->unpin(m->dev, s->out.at);
    m->dev->ops->unpin(m->dev, s->in.at);
    hps_mem_free(s->n);
    hps_mem_free(s);
}

/* Wait for the collective of `request`. */
static void wait(struct hps_stage_collective *m, MPI_Request *request)
{
    double wall = hps_now_s(), core = hps_core_s();

    hps_region_enter(HPS_REGION_REDUCE, HPS_SAME_PART);
    hps_wait_all(1, request);
    hps_region_leave(HPS_REGION_REDUCE);
    m->wall_s += hps_now_s() - wall;
    m->core_s += hps_core_s() - core;
}

/* Pinned memory of n floats, which rarely grows. */
static float *pinned_for(struct hps_stage_collective *m, struct stage *s, size_t n)
{
    if (n > s->n) {
        m->dev->ops->sync(m->dev);
        m->dev->ops->unpin(m->dev, s->at);
        s->n = n + n / 2;
        s->at = m->dev->ops->pin(m->dev, s->n * sizeof *s->at);
    }
    return s->at;
}

/* Copy x (n) of the device to the host, and wait. */
static const float *to_host(struct hps_stage_collective *m, const float *x, size_t n)
{
    struct state *s = m->impl;

    if (m->dev->host) {
        m->dev->ops->sync(m->dev);
        return x;
    }
    float *host = pinned_for(m, &s->out, n);
    m->dev->ops->copy_to_host_async(m->dev, HPS_STREAM_COMPUTE, host, x, n * sizeof *x);
    m->dev->ops->event_record(m->dev, s->came, HPS_STREAM_COMPUTE);
    hps_dev_wait(m->dev, s->came);
    return host;
}

/* Host memory that receives x (n); the last data in it were copied on, see to_host. */
static float *host_for(struct hps_stage_collective *m, float *x, size_t n)
{
    struct state *s = m->impl;
    return m->dev->host ? x : pinned_for(m, &s->in, n);
}

static void from_host(struct hps_stage_collective *m, float *x, const float *host, size_t n)
{
    if (!m->dev->host)
        m->dev->ops->copy_to_device_async(m->dev, HPS_STREAM_COMPUTE, x, host, n * sizeof *x);
}

static size_t all_of(const struct hps_stage_collective *m)
{
    return (size_t)m->at[m->k - 1] + (size_t)m->n[m->k - 1];
}

static bool alike(const struct hps_stage_collective *m)
{
    bool same = true;

    for (int r = 1; r < m->k; r++)
        same &= m->n[r] == m->n[0];
    return same;
}

static void gather(struct hps_stage_collective *m, const float *own, float *all)
{
    size_t n = all_of(m);
    int mine = m->n[m->me];
    const float *from = to_host(m, own, (size_t)mine);
    float *to = host_for(m, all, n);
    MPI_Request request;

    if (alike(m))
        HPS_MPI(MPI_Iallgather(from, mine, MPI_FLOAT, to, mine, MPI_FLOAT, m->comm, &request));
    else
        HPS_MPI(MPI_Iallgatherv(from, mine, MPI_FLOAT, to, m->n, m->at, MPI_FLOAT, m->comm,
                                &request));
    wait(m, &request);
    from_host(m, all, to, n);
}

static void scatter(struct hps_stage_collective *m, const float *all, float *parts)
{
    struct state *s = m->impl;
    int mine = m->n[m->me];
    const float *from = to_host(m, all, all_of(m));
    float *to = host_for(m, parts, (size_t)m->k * (size_t)mine);
    MPI_Request request;

    for (int r = 0; r < m->k; r++) {
        s->n[r] = mine;
        s->at[r] = r * mine;
    }
    HPS_MPI(MPI_Ialltoallv(from, m->n, m->at, MPI_FLOAT, to, s->n, s->at, MPI_FLOAT, m->comm,
                           &request));
    wait(m, &request);
    from_host(m, parts, to, (size_t)m->k * (size_t)mine);
}

const struct hps_stage_collective_ops hps_stage_collective_by_mpi = {
    .open = open_mpi, .close = close_mpi, .gather = gather, .scatter = scatter
};
