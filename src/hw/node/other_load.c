#include "hw/other_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
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

static double busy_s(const unsigned char *mask)
{
    char *text = NULL;
    size_t length;
    bool there = hps_file_read(&text, &length, MAX_BYTES, "/proc/stat");
    double ticks = there ? hps_other_load_ticks(text, mask) : NAN;

    hps_mem_free(text);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* ---- of all hosts ---- */

/* To the first rank of the host. */
static void reduce(void *x, int n, MPI_Datatype type, MPI_Op op, MPI_Comm host, bool first)
{
    HPS_MPI(MPI_Reduce(first ? MPI_IN_PLACE : x, x, n, type, op, 0, host));
}

/* Sets whether this is the first rank of its host, which has the sums. Its clocks are read once all
 * ranks are here: who waits is busy. */
static struct hps_other_load look(bool *first, const struct hps_pool *pool, MPI_Comm world)
{
    unsigned char mask[HPS_NODE_MASK];
    MPI_Comm host = hps_node_host(world);
    struct hps_other_load x;
    int me = 0;

    memcpy(mask, pool->node[hps_rank()].mask, sizeof mask);
    if (host != MPI_COMM_NULL) HPS_MPI(MPI_Comm_rank(host, &me));
    *first = me == 0;
    if (host != MPI_COMM_NULL)
        reduce(mask, HPS_NODE_MASK, MPI_UNSIGNED_CHAR, MPI_BOR, host, *first);
    x = (struct hps_other_load){ hps_now_s(), hps_node_cpu_s(), NAN };
    if (*first) x.busy_s = busy_s(mask);
    if (host == MPI_COMM_NULL) return x;
    reduce(&x.own_s, 1, MPI_DOUBLE, MPI_SUM, host, *first);
    HPS_MPI(MPI_Comm_free(&host));
    return x;
}

struct hps_other_load hps_other_load_begin(const struct hps_pool *pool, MPI_Comm world)
{
    return look(&(bool){ false }, pool, world);
}

struct hps_other_load_found hps_other_load_end(const struct hps_other_load *began,
                                               const struct hps_pool *pool, const char *when,
                                               MPI_Comm world)
{
    const double said = 0.25;
    bool first;
    struct hps_other_load now = look(&first, pool, world);
    double other_s = now.busy_s - began->busy_s - (now.own_s - began->own_s);
    struct hps_other_load_found x = { -INFINITY, hps_rank() };

    if (first && !isnan(other_s)) x.cores = other_s / (now.now_s - began->now_s);
    if (world != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world));
    if (isinf(x.cores)) x.cores = NAN;
    if (x.cores >= said)
        HPS_SAY(HPS_WARN, "something else kept %.2f cores of %s busy %s", x.cores,
                pool->node[x.rank].host, when);
    return x;
}
