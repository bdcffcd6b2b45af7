#include "app/tiers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"

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

static void print_part(const struct hps_job *j, const char *of, struct part x)
{
    double file = in_file(j, x);

    if (x.bytes > 0)
        hps_out("rows: each of the %.0f units of %s has %.3g GB: %.3g in memory, %.3g in a file\n",
                x.units, of, x.bytes / 1e9, (x.bytes - file) / 1e9, file / 1e9);
}

void hps_job_print_tiers(const struct hps_job *j)
{
    if (!j->o.storage.file[0]) return;
    print_part(j, "the servers", server_part(j));
    for (int s = 0; s < j->plan->S; s++) {
        char of[32];
        snprintf(of, sizeof of, "stage %d", s);
        print_part(j, of, stage_part(j, s));
    }
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
