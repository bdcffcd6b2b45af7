#include "app/tiers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/page.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/tier_time.h"

static const double for_rows = 0.75;    /* of the memory that is left */

static int host_ranks(MPI_Comm world)
{
    MPI_Comm host = hps_node_host(world);
    int n = 1;

    if (host == MPI_COMM_NULL) return n;
    HPS_MPI(MPI_Comm_size(host, &n));
    HPS_MPI(MPI_Comm_free(&host));
    return n;
}

void hps_job_find_memory(struct hps_job *j)
{
    double *memory = &j->o.storage.host_memory;

    j->memory_auto = isinf(*memory);
    if (!j->memory_auto) return;
    *memory = floor(for_rows * hps_node_free_bytes() / host_ranks(j->world));
    if (j->world != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_DOUBLE, MPI_MIN, j->world));
    HPS_SAY(HPS_INFO, "storage.host_memory: auto is %.3g GB of each rank", 1e-9 * *memory);
}

/* ---- bytes of rows ---- */

/* Of the units that have rows of a part of the plan. */
struct part {
    double units, bytes;        /* bytes: of rows, of each unit */
};

static struct part part_of(struct hps_memory m, double units)
{
    return (struct part){ units, m.rows / units };
}

/* Stage s; 0 bytes: it has no rows, or the stage before on the same units has them. */
static struct part stage_part(const struct hps_job *j, int s)
{
    if (hps_plan_is_second(j->plan, s)) return (struct part){ 1, 0 };
    return part_of(hps_plan_holds(j->plan, j->profile, s), (double)j->plan->stage[s].units);
}

static struct part server_part(const struct hps_job *j)
{
    struct hps_memory m = hps_memory_served(j->profile);

    if (m.rows == 0) return (struct part){ 1, 0 };
    return part_of(m, (double)hps_plan_servers_on(j->plan, j->profile, j->plan->server_type));
}

static double in_file(const struct hps_job *j, struct part x)
{
    return fmax(0, x.bytes - j->o.storage.host_memory);
}

/* A file may get all rows of its rank one day. The most that the ranks of a host can have. */
static double most_bytes(const struct hps_job *j, int ranks)
{
    struct part served = server_part(j);
    double most = in_file(j, served) > 0 ? served.bytes * fmin(served.units, ranks) : 0;

    for (int s = 0; s < j->plan->S; s++) {
        struct part x = stage_part(j, s);
        if (in_file(j, x) > 0) most = fmax(most, x.bytes * fmin(x.units, ranks));
    }
    return most;
}

/* ", on ranks 0-3,7": those whose stage this is (a server's: HPS_PLAN_SERVER). */
static void add_ranks(struct hps_page *to, const struct hps_job *j, const int *stage_of, int s)
{
    const char *before = ", on ranks ";

    for (int r = 0, end; r < j->pool->R; r = end) {
        end = r + 1;
        if (stage_of[r] != s) continue;
        while (end < j->pool->R && stage_of[end] == s)
            end++;
        hps_page_add(to, "%s%d", before, r);
        if (end > r + 1) hps_page_add(to, "-%d", end - 1);
        before = ",";
    }
}

static void print_part(const struct hps_job *j, const char *of, struct part x, const char *where)
{
    double file = in_file(j, x);

    if (x.bytes > 0)
        hps_out("rows: each of the %.0f units of %s has %.3g GB: %.3g in memory, %.3g in a file%s"
                "\n", x.units, of, x.bytes / 1e9, (x.bytes - file) / 1e9, file / 1e9, where);
}

/* What a step is to find, and what that takes, by request. */
static void print_requests(const struct hps_job *j, int n, const struct hps_tier_request *list,
                           int type)
{
    for (const struct hps_tier_request *x = list; x < list + n; x++) {
        const struct hps_tier_rows *r = &x->rows;
        hps_out("  rows of %s: %.3g GB, %.3g in memory; of a step %.0f rows, %.1f %% of them "
                "there, %.0f made, %.0f read, %.0f written: %.3g s busy, %.3g s of reads (%.0f a "
                "second)\n",
                j->profile->layer[x->layer].name, x->bytes / 1e9, x->memory_bytes / 1e9, r->asked,
                r->asked > 0 ? 100 * r->hits / r->asked : 100, r->made, r->read, r->written,
                x->time.busy_s, x->time.disk_s, j->profile->tier.reads_s[type]);
    }
}

/* Of stage s; s = S: of the servers. */
static void print_tiers_of(const struct hps_job *j, int s, const int *stage_of,
                           struct hps_tier_curves *curves)
{
    const struct hps_plan *plan = j->plan;
    bool served = s == plan->S;
    const struct hps_plan_stage all = { .last = plan->L - 1, .type = plan->server_type,
                                        .units = plan->server_units };
    const struct hps_plan_stage *g = served ? &all : &plan->stage[s];
    struct hps_tier_request *list = hps_mem_new((size_t)plan->L, sizeof *list);
    struct hps_page where = { 0 };
    char of[32] = "the servers";

    if (!served) snprintf(of, sizeof of, "stage %d", s);
    hps_page_add(&where, "%s", "");
    add_ranks(&where, j, stage_of, served ? HPS_PLAN_SERVER : s);
    print_part(j, of, served ? server_part(j) : stage_part(j, s), where.at);
    if (g->units > 0) {
        int n = hps_tier_requests(curves, g->first, g->last, g->type, (double)g->units, served,
                                  list);
        print_requests(j, n, list, g->type);
    }
    hps_mem_free(where.at);
    hps_mem_free(list);
}

void hps_job_print_tiers(const struct hps_job *j)
{
    if (!j->o.storage.file[0]) return;
    struct hps_tier_curves *curves = hps_tier_curves_new(j->profile);
    int *stage_of = hps_mem_new((size_t)j->pool->R, sizeof *stage_of);

    if (hps_plan_place(j->plan, j->pool->R, j->pool->type_of, stage_of) == HPS_OK)
        for (int s = 0; s <= j->plan->S; s++)
            print_tiers_of(j, s, stage_of, curves);
    hps_mem_free(stage_of);
    hps_tier_curves_free(curves);
}

/* ---- the directory ---- */

/* Can files of so many bytes be written there? Else why not. */
static bool is_good(const char *path, double bytes, char *why, size_t size)
{
    struct statvfs fs = { 0 };
    struct stat st;
    int error = stat(path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

    if (!error && (access(path, W_OK | X_OK) != 0 || statvfs(path, &fs) != 0)) error = errno;
    double room = (double)fs.f_bavail * (double)fs.f_frsize;
    snprintf(why, size, "%s", strerror(error));
    if (error) return false;
    snprintf(why, size, "%.3g GB of rows may come to the ranks of this host, there is room for "
             "%.3g", bytes / 1e9, room / 1e9);
    return room >= bytes;
}

enum hps_status hps_job_check_files(const struct hps_job *j)
{
    const char *path = j->o.storage.file;
    int me = hps_rank(), first;
    char why[128];

    if (!path[0]) return HPS_OK;
    bool good = is_good(path, most_bytes(j, host_ranks(j->world)), why, sizeof why);
    first = good ? INT_MAX : me;
    if (j->world != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, j->world));
    if (first == me) HPS_SAY_ALL(HPS_ERROR, "storage.file: %s: %s", path, why);
    return hps_agree(j->world, good ? HPS_OK : HPS_OUTPUT);
}
