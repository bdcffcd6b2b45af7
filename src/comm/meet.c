/* meet.c - sums and rows of a shared micro-batch over MPI. What every rank needs is sent to all,
 * and each sums in the order of the ranks, so that all have the same bits. */
#include "comm/meet.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "hw/count.h"
#include "model/data.h"

struct hps_meet {
    struct hps_dev *dev;
    MPI_Comm comm;                      /* owned                                     */
    int me, k;
    int *n, *at, *mine, *mine_at;       /* (k) of an exchange: floats, places; what I get of each */
    double *sums;                       /* (k, n) of a sum                           */
    float *from, *to;                   /* host copies, where the device is no host  */
    float *parts;                       /* (k, B, width) of a scatter                */
    size_t sums_cap, from_cap, to_cap, parts_cap;
    double wall_s, core_s, bytes;
};

enum hps_status hps_meet_new(struct hps_meet **out, struct hps_dev *dev, MPI_Comm stage)
{
    struct hps_meet *m = hps_mem_new(1, sizeof *m);

    m->dev = dev;
    HPS_MPI(MPI_Comm_dup(stage, &m->comm));
    HPS_MPI(MPI_Comm_rank(m->comm, &m->me));
    HPS_MPI(MPI_Comm_size(m->comm, &m->k));
    m->n = hps_mem_new(4 * (size_t)m->k, sizeof *m->n);
    m->at = m->n + m->k;
    m->mine = m->at + m->k;
    m->mine_at = m->mine + m->k;
    *out = m;
    return HPS_OK;
}

void hps_meet_free(struct hps_meet *m)
{
    if (!m)
        return;
    HPS_MPI(MPI_Comm_free(&m->comm));
    hps_mem_free(m->n);
    hps_mem_free(m->sums);
    hps_mem_free(m->from);
    hps_mem_free(m->to);
    hps_mem_free(m->parts);
    hps_mem_free(m);
}

static int rows_of(const struct hps_meet *m, int rows, int r)
{
    return (int)(hps_share(rows, m->k, r + 1) - hps_share(rows, m->k, r));
}

/* Wait for the meeting that `request` is. */
static void wait(struct hps_meet *m, MPI_Request *request)
{
    double wall = hps_now_s(), core = hps_core_s();

    hps_region_enter(HPS_REGION_REDUCE);
    hps_wait_all(1, request);
    hps_region_leave(HPS_REGION_REDUCE);
    m->wall_s += hps_now_s() - wall;
    m->core_s += hps_core_s() - core;
}

static void sum(const struct hps_peers *peers, size_t n, double *x)
{
    struct hps_meet *m = peers->with;
    MPI_Request request;

    assert(n <= INT_MAX);
    hps_mem_grow(&m->sums, &m->sums_cap, n * (size_t)m->k, sizeof *m->sums);
    HPS_MPI(MPI_Iallgather(x, (int)n, MPI_DOUBLE, m->sums, (int)n, MPI_DOUBLE, m->comm, &request));
    wait(m, &request);
    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (int r = 0; r < m->k; r++)
            x[i] += m->sums[(size_t)r * n + i];
    }
    m->bytes += (double)(m->k - 1) * (double)n * sizeof *x;
}

/* Floats of each rank's rows, and where they begin in the whole micro-batch's. */
static void lay_out(struct hps_meet *m, int rows, int width)
{
    assert((long long)rows * width <= INT_MAX);
    for (int r = 0; r < m->k; r++) {
        m->n[r] = rows_of(m, rows, r) * width;
        m->at[r] = (int)hps_share(rows, m->k, r) * width;
    }
}

static const float *to_host(struct hps_meet *m, const float *x, size_t n)
{
    if (!m->dev->host) {
        hps_mem_grow(&m->from, &m->from_cap, n, sizeof *m->from);
        m->dev->ops->get(m->dev, m->from, x, n * sizeof *x);
        x = m->from;
    }
    m->dev->ops->sync(m->dev);
    return x;
}

static float *host_for(struct hps_meet *m, float *x, size_t n)
{
    if (m->dev->host)
        return x;
    hps_mem_grow(&m->to, &m->to_cap, n, sizeof *m->to);
    return m->to;
}

static void from_host(struct hps_meet *m, float *x, const float *host, size_t n)
{
    if (host == x)
        return;
    m->dev->ops->put(m->dev, x, host, n * sizeof *x);
    m->dev->ops->sync(m->dev);
}

static void gather(const struct hps_peers *peers, int width, const float *own, float *all)
{
    struct hps_meet *m = peers->with;
    size_t n = (size_t)peers->rows * (size_t)width;
    MPI_Request request;

    lay_out(m, peers->rows, width);
    const float *from = to_host(m, own, (size_t)m->n[m->me]);
    float *to = host_for(m, all, n);
    HPS_MPI(MPI_Iallgatherv(from, m->n[m->me], MPI_FLOAT, to, m->n, m->at, MPI_FLOAT, m->comm,
                            &request));
    wait(m, &request);
    from_host(m, all, to, n);
    m->bytes += (double)(m->k - 1) * m->n[m->me] * (double)sizeof *own;
}

static void scatter(const struct hps_peers *peers, int width, const float *all, float *own)
{
    struct hps_meet *m = peers->with;
    size_t n = (size_t)peers->rows * (size_t)width;
    MPI_Request request;

    lay_out(m, peers->rows, width);
    size_t mine = (size_t)m->n[m->me];
    for (int r = 0; r < m->k; r++) {
        m->mine[r] = (int)mine;
        m->mine_at[r] = r * (int)mine;
    }
    hps_mem_grow(&m->parts, &m->parts_cap, mine * (size_t)m->k, sizeof *m->parts);
    const float *from = to_host(m, all, n);
    float *to = host_for(m, own, mine);
    HPS_MPI(MPI_Ialltoallv(from, m->n, m->at, MPI_FLOAT, m->parts, m->mine, m->mine_at, MPI_FLOAT,
                           m->comm, &request));
    wait(m, &request);
    for (size_t i = 0; i < mine; i++) {
        to[i] = m->parts[i];
        for (int r = 1; r < m->k; r++)
            to[i] += m->parts[(size_t)r * mine + i];
    }
    from_host(m, own, to, mine);
    m->bytes += (double)(n - mine) * sizeof *all;
}

struct hps_peers hps_meet_over(struct hps_meet *m, int rows)
{
    return (struct hps_peers){ .rows = rows, .first = (int)hps_share(rows, m->k, m->me),
                               .dev = m->dev, .sum = sum, .gather = gather, .scatter = scatter,
                               .with = m };
}

double hps_meet_wall_s(const struct hps_meet *m)
{
    return m ? m->wall_s : 0;
}

double hps_meet_core_s(const struct hps_meet *m)
{
    return m ? m->core_s : 0;
}

double hps_meet_bytes(const struct hps_meet *m)
{
    return m ? m->bytes : 0;
}
