#include "hw/other_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/world.h"

#define MAX_BYTES (16 << 20)            /* of /proc/stat: interrupts have a long line */

/* ---- the kernel's counts ---- */

/* The columns of a line, "cpu7 user nice system idle iowait irq softirq steal ...". */
enum { IDLE = 3, IOWAIT = 4, COLUMNS = 8 };

static double busy_of_line(const char *at)
{
    double sum = 0;

    for (int column = 0; column < COLUMNS; column++) {
        char *end;
        double x = strtod(at, &end);
        if (end == at) break;           /* an older kernel */
        if (column != IDLE && column != IOWAIT) sum += x;
        at = end;
    }
    return sum;
}

double hps_other_load_ticks(const char *text, const unsigned char *mask)
{
    double sum = NAN;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9') continue;
        char *end;
        unsigned long cpu = strtoul(line + 3, &end, 10);
        if (cpu >= 8 * HPS_NODE_MASK || !(mask[cpu / 8] >> cpu % 8 & 1)) continue;
        sum = (isnan(sum) ? 0 : sum) + busy_of_line(end);
    }
    return sum;
}

static bool same_host(const struct hps_pool *pool, int a, int b)
{
    return strcmp(pool->node[a].host, pool->node[b].host) == 0;
}

/* Is it the first rank of its host, which looks for all of them? */
static bool looks(const struct hps_pool *pool, int rank)
{
    for (int r = 0; r < rank; r++)
        if (same_host(pool, r, rank)) return false;
    return true;
}

/* NaN: another rank looks, or the kernel does not say. */
static double busy_s(const struct hps_pool *pool)
{
    unsigned char mask[HPS_NODE_MASK] = { 0 };
    int me = hps_rank();
    char *text = NULL;
    size_t length;

    if (me >= pool->R || !looks(pool, me)) return NAN;
    for (int r = me; r < pool->R; r++)
        for (int i = 0; i < HPS_NODE_MASK && same_host(pool, r, me); i++)
            mask[i] |= pool->node[r].mask[i];
    bool there = hps_file_read(&text, &length, MAX_BYTES, "/proc/stat");
    double ticks = there ? hps_other_load_ticks(text, mask) : NAN;
    hps_mem_free(text);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

struct hps_other_load hps_other_load_begin(const struct hps_pool *pool)
{
    return (struct hps_other_load){ hps_now_s(), hps_node_cpu_s(), busy_s(pool) };
}

/* ---- of all hosts ---- */

struct hps_other_load_found hps_other_load_end(const struct hps_other_load *began,
                                               const struct hps_pool *pool, MPI_Comm world)
{
    struct hps_other_load now = hps_other_load_begin(pool);
    struct hps_other_load mine = { now.now_s - began->now_s, now.own_s - began->own_s,
                                   now.busy_s - began->busy_s };
    struct hps_other_load *all = hps_mem_new((size_t)pool->R, sizeof *all);
    struct hps_other_load_found most = { NAN, 0 };

    all[0] = mine;
    if (world != MPI_COMM_NULL)
        HPS_MPI(MPI_Allgather(&mine, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, world));
    for (int r = 0; r < pool->R; r++) {
        double other = all[r].busy_s;   /* NaN but of the rank that looks */
        for (int q = r; q < pool->R && !isnan(other); q++)
            if (same_host(pool, q, r)) other -= all[q].own_s;
        double cores = other / all[r].now_s;
        if (cores > most.cores || (isnan(most.cores) && !isnan(cores)))
            most = (struct hps_other_load_found){ cores, r };
    }
    hps_mem_free(all);
    return most;
}
