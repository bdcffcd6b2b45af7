/* wait.c - waits that leave the core to those who compute. */
#include <math.h>
#include <sys/prctl.h>

#include "base/progress.h"
#include "base/say.h"
#include "base/thread.h"

void hps_wait_quiet(MPI_Request *request)
{
    const double most_s = 2e-3;
    double nap_s = 20e-6;
    int done;

    for (;;) {
        HPS_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        hps_sleep_s(nap_s);                             /* woken early by a signal: look again */
        nap_s = fmin(1.5 * nap_s, most_s);
    }
}

static bool crowded_host;

void hps_wait_crowded(bool crowded)
{
    crowded_host = crowded;
    if (crowded)
        prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);    /* a nap of 10 us is not one of 60 */
}

bool hps_wait_is_crowded(void)
{
    return crowded_host;
}

void hps_wait_all(int n, MPI_Request *request)
{
    const double most_s = 100e-6;
    double nap_s = 5e-6;
    int done = 0;

    if (!crowded_host && !hps_progress_poll()) {
        HPS_MPI(MPI_Waitall(n, request, MPI_STATUSES_IGNORE));
        return;
    }
    for (int tries = 0;; tries++) {
        HPS_MPI(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
        if (done)
            return;
        hps_progress_poll();
        if (tries < 20 || !crowded_host)
            continue;
        hps_sleep_s(nap_s);
        nap_s = fmin(1.5 * nap_s, most_s);
    }
}

bool hps_wait_arrived(int n, MPI_Request *request, bool patient)
{
    int done = 1;

    if (patient)
        hps_wait_all(n, request);
    else
        HPS_MPI(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
    return done;
}

bool hps_wait_progress(void)
{
    if (!hps_progress_poll()) return false;
    if (crowded_host) hps_sleep_s(20e-6);
    return true;
}

/* Where nothing is to be found, MPI goes round once. */
void hps_progress_mpi(void)
{
    int any;

    if (hps_nrank() > 1)
        HPS_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE));
}

void hps_barrier_quiet(MPI_Comm comm)
{
    MPI_Request all;

    if (comm == MPI_COMM_NULL)
        return;
    HPS_MPI(MPI_Ibarrier(comm, &all));
    hps_wait_quiet(&all);
}
