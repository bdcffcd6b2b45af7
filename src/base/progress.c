/* progress.c - the list of functions that waits call. */
#include "base/progress.h"

#include <assert.h>
#include <mpi.h>

#include "base/mpi_check.h"
#include "base/world.h"

static struct {
    void (*poll)(void *context);
    void *context;
} list[HPS_PROGRESS_MAX];
static int n;

void hps_progress_add(void (*poll)(void *context), void *context)
{
    assert(n < HPS_PROGRESS_MAX);
    list[n].poll = poll;
    list[n++].context = context;
}

void hps_progress_drop(void (*poll)(void *context), void *context)
{
    int i = 0;

    while (i < n && (list[i].poll != poll || list[i].context != context))
        i++;
    assert(i < n);
    list[i] = list[--n];
}

bool hps_progress_poll(void)
{
    for (int i = 0; i < n; i++)
        list[i].poll(list[i].context);
    return n > 0;
}

/* A probe that finds nothing still makes the library advance once. */
void hps_progress_mpi(void)
{
    int any;

    if (hps_nrank() > 1)
        HPS_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE));
}
