/* launch.c - what launchers leave in the environment. */
#include "base/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
