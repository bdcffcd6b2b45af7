/* launch.c - what launchers leave in the environment. */
#include "base/launch.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/thread.h"
#include "base/world.h"

/* Of a step of srun's, not of an allocation: SLURM_NTASKS is in the shell of a batch job, too. The
 * first that speaks is the one that started this process itself: mpirun inside srun or sbatch comes
 * before what that left. */
static const struct {
    const char *name, *size_key, *number_key;
} launchers[] = {
    { "mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
    { "mpiexec of MVAPICH", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK" },
    { "mpiexec of MPICH or of a kin, or srun --mpi=pmi2", "PMI_SIZE", "PMI_RANK" },
    { "srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" },
};

static int number_of(const char *text)
{
    return text ? atoi(text) : 0;
}

enum { NLAUNCHER = sizeof launchers / sizeof *launchers, SRUN = NLAUNCHER - 1 };

/* The launcher that speaks, NLAUNCHER: none. */
static int find(char *(*get)(const char *key))
{
    int i = 0;

    while (i < NLAUNCHER && !get(launchers[i].size_key))
        i++;
    return i;
}

bool hps_launch_split(int world, char *(*get)(const char *key), struct hps_launcher *l)
{
    int i = find(get);

    if (i == NLAUNCHER) return false;
    *l = (struct hps_launcher){ launchers[i].name, launchers[i].size_key,
                                number_of(get(launchers[i].size_key)),
                                number_of(get(launchers[i].number_key)) };
    return world == 1 && l->size > 1;
}

bool hps_launch_bare(char *(*get)(const char *key))
{
    return find(get) == SRUN && number_of(get(launchers[SRUN].size_key)) > 1 && !get("PMIX_RANK");
}

enum hps_status hps_launch_check(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    struct hps_launcher l;
    int n;

    if (!hps_launch_split(hps_nrank(), getenv, &l)) return HPS_OK;
    HPS_MPI(MPI_Get_library_version(library, &n));
    library[strcspn(library, ",\n")] = 0;
    if (l.number == 0)
        HPS_SAY(HPS_ERROR,
                "%s started %d processes (%s), but each is a run of one rank for the MPI library "
                "of this program, %s: start it with that library's mpirun, or with srun --mpi=pmix",
                l.name, l.size, l.size_key, library);
    return HPS_USAGE;
}

/* ---- a start that does not end ---- */

/* Longer than the launchers' own patience (srun's PMIx: 300 s), whose words say more. */
static const double start_s = 600, lapse_s = 1, turn_s = 5, nap_s = 0.2;

static struct {
    pthread_t thread;
    bool running;
    double most_s;
    struct hps_launcher by; /* looked up before: MPI's start changes the environment */
    char host[256];
    atomic_bool met;
    pthread_mutex_t lock;   /* of over */
    pthread_cond_t end;
    bool over;
} start = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void give_up(void)
{
    const struct hps_launcher *l = &start.by;
    char who[128] = "it was started without a launcher";

    if (l->size > 0)
        snprintf(who, sizeof who, "process %d of %d that %s started", l->number, l->size, l->name);
    if (start.met)
        hps_quit(HPS_FAIL, "the run has not begun on %s for %.0f s: %s; the deck or the run "
                           "directory cannot be reached by a rank (HETERPS_START_SECONDS)",
                 start.host, start.most_s, who);
    hps_quit(HPS_FAIL, "MPI has not started on %s for %.0f s: %s; the others are not there, or the "
                       "launcher does not answer (HETERPS_START_SECONDS)",
             start.host, start.most_s, who);
}

/* A nap that lasted longer was not all the process's own time; hps_now_s has no beginning yet. */
static void *wait_for_start(void *arg)
{
    double before = hps_steady_s(), waited = 0;

    (void)arg;
    double most = start.most_s + (start.by.number > 0 ? turn_s : 0);
    pthread_mutex_lock(&start.lock);
    while (!start.over && waited <= most) {
        hps_cond_wait(&start.end, &start.lock, before + nap_s);
        double now = hps_steady_s();
        waited += fmin(now - before, lapse_s);
        before = now;
    }
    bool over = start.over;
    pthread_mutex_unlock(&start.lock);
    if (!over) give_up();
    return NULL;
}

void hps_launch_begin(void)
{
    const char *text = getenv("HETERPS_START_SECONDS");
    char *end = NULL;
    double most = text ? strtod(text, &end) : start_s;

    start.most_s = text && (end == text || *end || !(most >= 0)) ? start_s : most;
    snprintf(start.host, sizeof start.host, "%s", hps_host());
    hps_launch_split(0, getenv, &start.by);
    hps_cond_init(&start.end);
    start.running = start.most_s > 0 && hps_thread_start(&start.thread, wait_for_start, NULL) == 0;
}

void hps_launch_met(void)
{
    start.met = true;
}

void hps_launch_end(void)
{
    if (!start.running) return;
    pthread_mutex_lock(&start.lock);
    start.over = true;
    pthread_cond_signal(&start.end);
    pthread_mutex_unlock(&start.lock);
    pthread_join(start.thread, NULL);
    start.running = false;
}
