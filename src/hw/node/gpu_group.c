/* gpu_group.c - the decision whether NCCL is used, and the list of open groups. */
#include "hw/gpu_group.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"

struct held {
    struct hps_gpu_group group;         /* first: callers have a pointer to it */
    MPI_Comm comm;                      /* owned                    */
    int users;
    struct held *next;
};

static struct held *all;
static const struct hps_gpu_group none;

/* ---- the decision ---- */

static bool same_gpu(const struct hps_gpu_group_fact *a, const struct hps_gpu_group_fact *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->gpu, b->gpu) == 0;
}

bool hps_gpu_group_possible(int n, const struct hps_gpu_group_fact *fact, char *why, size_t size)
{
    for (int r = 0; r < n; r++)
        if (fact[r].version == 0) {
            snprintf(why, size, "rank %d on %s: %s", fact[r].rank, fact[r].host, fact[r].why);
            return false;
        }
    for (int r = 1; r < n; r++)
        if (fact[r].version != fact[0].version) {
            snprintf(why, size, "ranks %d and %d have unlike releases of it, %d and %d",
                     fact[0].rank, fact[r].rank, fact[0].version, fact[r].version);
            return false;
        }
    for (int r = 1; r < n; r++)
        for (int q = 0; q < r; q++)
            if (same_gpu(&fact[q], &fact[r])) {
                snprintf(why, size, "ranks %d and %d are on one GPU, %s of %s", fact[q].rank,
                         fact[r].rank, fact[r].gpu, fact[r].host);
                return false;
            }
    return true;
}

/* ---- the facts ---- */

static struct hps_gpu_group_fact my_fact(const struct hps_nccl_ops *ops, struct hps_dev *dev)
{
    struct hps_gpu_group_fact f = { .rank = hps_rank() };

    snprintf(f.host, sizeof f.host, "%s", hps_host());
    if (!ops)
        snprintf(f.why, sizeof f.why, "heterps-cuda.so was built without it");
    else if (hps_env_is("HETERPS_NCCL", "0"))
        snprintf(f.why, sizeof f.why, "HETERPS_NCCL=0");
    else if (hps_env_is("HETERPS_CUDA_SYNC", "1"))
        snprintf(f.why, sizeof f.why, "HETERPS_CUDA_SYNC=1");
    else
        f.version = ops->version(f.why);
    if (ops) ops->gpu(dev, f.gpu);
    return f;
}

static bool decide(const struct hps_gpu_group *c, struct hps_dev *dev, int n, MPI_Comm comm,
                   enum hps_level level)
{
    struct hps_gpu_group_fact *fact = hps_mem_new((size_t)n, sizeof *fact), mine;
    char why[2 * HPS_NCCL_WHY];

    mine = my_fact(c->ops, dev);
    HPS_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, fact, sizeof mine, MPI_BYTE, comm));
    bool possible = hps_gpu_group_possible(n, fact, why, sizeof why);
    if (!possible && fact[0].rank == hps_rank())
        HPS_SAY_ALL(level, "%d GPUs do without NCCL, their sums and rows go through the hosts: %s",
                    n, why);
    hps_mem_free(fact);
    return possible;
}

/* ---- groups ---- */

static void open_group(struct hps_gpu_group *c, struct hps_dev *dev, int n, int me, MPI_Comm comm,
                       enum hps_level level)
{
    char name[HPS_NCCL_NAME] = "", why[HPS_NCCL_WHY];
    double began = hps_now_s();
    int v = c->ops->version(why);

    if (me == 0) c->ops->name(name);
    HPS_MPI(MPI_Bcast(name, sizeof name, MPI_BYTE, 0, comm));
    c->group = c->ops->open(dev, name, n, me);
    if (me == 0)
        HPS_SAY_ALL(level, "%d GPUs sum and exchange rows by NCCL %d.%d.%d (ready in %.1f s)", n,
                    v / 10000, v / 100 % 100, v % 100, hps_now_s() - began);
}

/* A single rank, or ranks that do not all have a GPU, get no group and no message. */
static bool could(const struct hps_dev *dev, MPI_Comm comm)
{
    int n, can = !dev->host;

    HPS_MPI(MPI_Comm_size(comm, &n));
    if (n == 1) return false;
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, comm));
    return can;
}

static void make(struct hps_gpu_group *c, struct hps_dev *dev, MPI_Comm comm, enum hps_level level)
{
    int n, me;

    c->ops = hps_nccl_loaded();
    HPS_MPI(MPI_Comm_size(comm, &n));
    HPS_MPI(MPI_Comm_rank(comm, &me));
    if (decide(c, dev, n, comm, level)) open_group(c, dev, n, me, comm, level);
}

/* The group of these ranks in this order, if one is held: then it is held on all of them. */
static struct held *find(MPI_Comm comm)
{
    int same;

    for (struct held *h = all; h; h = h->next) {
        HPS_MPI(MPI_Comm_compare(comm, h->comm, &same));
        if (same == MPI_IDENT || same == MPI_CONGRUENT) return h;
    }
    return NULL;
}

const struct hps_gpu_group *hps_gpu_group_new(struct hps_dev *dev, MPI_Comm comm,
                                              enum hps_level level)
{
    struct held *h = find(comm);

    if (!h && !could(dev, comm)) return &none;
    if (!h) {
        h = hps_mem_new(1, sizeof *h);
        HPS_MPI(MPI_Comm_dup(comm, &h->comm));
        make(&h->group, dev, h->comm, level);
        h->next = all;
        all = h;
    }
    h->users++;
    return &h->group;
}

void hps_gpu_group_free(const struct hps_gpu_group *group)
{
    struct held **at = &all, *h;

    if (!group || group == &none) return;
    while (&(*at)->group != group)
        at = &(*at)->next;
    h = *at;
    if (--h->users > 0) return;
    *at = h->next;
    if (h->group.group) {
        hps_barrier_sleeping(h->comm);     /* NCCL closes on all at the same time */
        h->group.ops->close(h->group.group);
    }
    HPS_MPI(MPI_Comm_free(&h->comm));
    hps_mem_free(h);
}
