/* world.c - what is global about the program: whether it is parallel, and which rank this is. */
#include "base/world.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/eager.h"
#include "base/json.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"

static struct {
    bool parallel;
    MPI_Comm world;
    int rank, nrank;
} me = { .world = MPI_COMM_NULL, .nrank = 1 };

bool hps_world_parallel(void)
{
    return me.parallel;
}

int hps_rank(void)
{
    return me.rank;
}

int hps_nrank(void)
{
    return me.nrank;
}

const char *hps_host(void)
{
    static _Thread_local char name[256];
    const char *node = getenv("SLURMD_NODENAME");

    if (node && *node) return node;
    if (gethostname(name, sizeof name - 1) != 0) return "an unknown host";
    return name;
}

/* A reader that goes away and a file that may not grow must come back as EPIPE and EFBIG from the
 * write, not as signals that kill. */
static void ignore_failed_writes(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    if (sigaction(SIGPIPE, &ignore, NULL) != 0 || sigaction(SIGXFSZ, &ignore, NULL) != 0)
        HPS_DIE("sigaction: %s", strerror(errno));
}

static void begin_parallel(int *argc, char ***argv)
{
    int threads;

    hps_eager_prefer();
    HPS_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &threads));
    me.parallel = true;
    HPS_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    HPS_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    HPS_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &me.rank));
    HPS_MPI(MPI_Comm_size(MPI_COMM_WORLD, &me.nrank));
    if (threads < MPI_THREAD_SERIALIZED)
        HPS_DIE("this MPI library provides thread level %d, MPI_THREAD_SERIALIZED (%d) is needed",
                threads, MPI_THREAD_SERIALIZED);
    HPS_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &me.world));   /* a dup inherits the error handler */
}

MPI_Comm hps_begin(int *argc, char ***argv, bool parallel)
{
    assert(me.world == MPI_COMM_NULL);
    hps_clock_begin();
    hps_json_begin();
    if (parallel) begin_parallel(argc, argv);
    ignore_failed_writes();                             /* after MPI, which has handlers too */
    return me.world;
}

int hps_end(enum hps_status status)
{
    enum hps_status flushed = hps_out_flush();

    if (!status) status = flushed;
    hps_say_log(NULL);
    if (me.parallel) {
        HPS_MPI(MPI_Comm_free(&me.world));
        /* Not in MPI_Finalize is one that hangs waited for: a run that is aborted while ranks are
         * in there makes Open MPI's launcher crash, or hang. */
        hps_barrier_sleeping(MPI_COMM_WORLD);
        me.parallel = false;                            /* from here on there is no MPI_Abort */
        HPS_MPI(MPI_Finalize());
    }
    return (int)status;
}
