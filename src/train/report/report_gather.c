/* report_gather.c - gathers the counters of all ranks at rank 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/team.h"
#include "hw/node.h"
#include "train/report/report_impl.h"

static struct hps_report_rank my_card(const struct hps_run_counted *before)
{
    struct hps_report_rank c = { 0 };
    const char *const *name;
    const double *total;
    const struct hps_count_row *row;
    const struct hps_count_span *span;

    memcpy(c.total, hps_count_total(), sizeof c.total);
    for (int part = 0; part < HPS_COUNT_PARTS; part++)
        for (int g = 0; g < HPS_REGIONS; g++) {
            c.part[part][g] = hps_count_part_total(part)[g];
            if (!before) continue;
            c.part[part][g].calls -= before->part[part][g].calls;
            c.part[part][g].seconds -= before->part[part][g].seconds;
            c.part[part][g].gpu_s -= before->part[part][g].gpu_s;
        }
    c.nevent = hps_count_events(&name, &total);
    for (int e = 0; e < c.nevent; e++) {
        snprintf(c.event[e], sizeof c.event[e], "%s", name[e]);
        c.event_total[e] = total[e];
    }
    c.by_region = hps_count_region_events(HPS_REGION_READ) != NULL;
    for (int g = 0; c.by_region && g < HPS_REGIONS; g++)
        memcpy(c.region_event[g], hps_count_region_events(g), sizeof c.region_event[g]);
    c.nrow = hps_count_rows(&row);
    c.nspan = hps_count_spans(&span);
    c.cpu_s = hps_node_cpu_s();
    c.peak_bytes = hps_node_peak_bytes();
    return c;
}

int hps_report_event(const struct hps_report_rank *rank_counts, const char *event)
{
    for (int e = 0; e < rank_counts->nevent; e++)
        if (strcmp(rank_counts->event[e], event) == 0) return e;
    return -1;
}

/* The names of events, each once, in order of first occurrence. */
static void name_events(struct hps_report_counts *c)
{
    size_t cap = 0;

    for (int r = 0; r < c->R; r++)
        for (int e = 0; e < c->rank_counts[r].nevent; e++) {
            const char *name = c->rank_counts[r].event[e];
            int k = 0;
            while (k < c->nevent && strcmp(c->event[k], name) != 0)
                k++;
            if (k < c->nevent) continue;
            hps_mem_grow(&c->event, &cap, (size_t)k + 1, sizeof *c->event);
            memcpy(c->event[c->nevent++], name, HPS_REPORT_NAME);
        }
}

struct hps_report_counts *hps_report_gather(const struct hps_run_counted *before, MPI_Comm world)
{
    struct hps_report_rank mine = my_card(before);
    struct hps_report_counts *c = NULL;
    int me = 0, R = 1;

    if (world != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_rank(world, &me));
        HPS_MPI(MPI_Comm_size(world, &R));
    }
    hps_barrier_sleeping(world);                   /* early ranks sleep, */
    if (world != MPI_COMM_NULL)
        HPS_MPI(MPI_Barrier(world));            /* then all read their clocks at once */
    mine.shift_s = -hps_now_s();
    if (me == 0) {
        c = hps_mem_new(1, sizeof *c);
        c->R = R;
        c->rank_counts = hps_mem_new((size_t)R, sizeof *c->rank_counts);
        c->rank_counts[0] = mine;
    }
    if (world != MPI_COMM_NULL)
        HPS_MPI(MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, me == 0 ? c->rank_counts : NULL,
                           (int)sizeof mine, MPI_BYTE, 0, world));
    if (me != 0) return NULL;
    for (int r = R - 1; r >= 0; r--)
        c->rank_counts[r].shift_s -= c->rank_counts[0].shift_s;
    name_events(c);
    return c;
}

void hps_report_counts_free(struct hps_report_counts *counts)
{
    if (!counts) return;
    hps_mem_free(counts->event);
    hps_mem_free(counts->rank_counts);
    hps_mem_free(counts);
}

/* This rank's windows or spans: their address, number and size. */
static const char *things(enum hps_report_kind kind, long long *n, size_t *size)
{
    const struct hps_count_row *row;
    const struct hps_count_span *span;

    if (kind == HPS_REPORT_ROWS) {
        *n = hps_count_rows(&row);
        *size = sizeof *row;
        return (const char *)row;
    }
    *n = hps_count_spans(&span);
    *size = sizeof *span;
    return (const char *)span;
}

static long long block_of(long long n, long long from)
{
    return n - from < HPS_REPORT_BLOCK ? n - from : HPS_REPORT_BLOCK;
}

void hps_report_send(enum hps_report_kind kind, MPI_Comm world)
{
    long long n;
    size_t size;
    const char *at = things(kind, &n, &size);

    for (long long from = 0; from < n; from += HPS_REPORT_BLOCK) {
        long long k = block_of(n, from);
        HPS_MPI(MPI_Send(at + (size_t)from * size, (int)((size_t)k * size), MPI_BYTE, 0,
                         HPS_TAG_REPORT, world));
    }
}

long long hps_report_recv(enum hps_report_kind kind, const struct hps_report_rank *rank_counts,
                          int r, long long from, void *to, MPI_Comm world)
{
    long long mine, n = kind == HPS_REPORT_ROWS ? rank_counts->nrow : rank_counts->nspan;
    long long k = block_of(n, from);
    size_t size;
    const char *at = things(kind, &mine, &size);

    if (k <= 0) return 0;
    if (r == 0)
        memcpy(to, at + (size_t)from * size, (size_t)k * size);
    else
        HPS_MPI(MPI_Recv(to, (int)((size_t)k * size), MPI_BYTE, r, HPS_TAG_REPORT, world,
                         MPI_STATUS_IGNORE));
    return k;
}

/* Did a GPU of this rank compute? */
static bool used_gpu(const struct hps_report_rank *rank_counts)
{
    for (int g = 0; g < HPS_REGIONS; g++)
        if (rank_counts->total[g].gpu_s > 0) return true;
    return false;
}

void hps_report_regions(const struct hps_report_counts *counts, const int *stage_of, int part,
                        double seconds, struct hps_report_region *region)
{
    for (int g = 0; g < HPS_REGIONS; g++) {
        struct hps_report_region sum = { 0, INFINITY, 0, 0, NAN, 0 };
        int n = 0, gpus = 0;
        for (int r = 0; r < counts->R; r++) {
            if (stage_of && stage_of[r] < 0) continue;
            const struct hps_report_rank *its = &counts->rank_counts[r];
            struct hps_count_sum one = part < 0 ? its->total[g] : its->part[part][g];
            sum.calls += one.calls;
            sum.min_s = fmin(sum.min_s, one.seconds);
            sum.max_s = fmax(sum.max_s, one.seconds);
            sum.avg_s += one.seconds;
            sum.gpu_s += one.gpu_s;
            gpus += used_gpu(its);
            n++;
        }
        sum.min_s = n ? sum.min_s : 0;
        sum.avg_s = n ? sum.avg_s / n : 0;
        sum.gpu_s = gpus ? sum.gpu_s / gpus : NAN;
        sum.share = seconds > 0 ? sum.avg_s / seconds : NAN;
        region[g] = sum;
    }
}
