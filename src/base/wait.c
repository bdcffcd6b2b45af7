/* wait.c - waits that leave the core to those who compute. */
#include "base/wait.h"

#include <math.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/progress.h"

void hps_wait_sleeping(MPI_Request *request)
{
    const double max_s = 2e-3;
    double sleep_s = 20e-6;
    int done;

    for (;;) {
        HPS_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done) return;
        hps_sleep_s(sleep_s);                             /* a signal wakes it early: test again */
        sleep_s = fmin(1.5 * sleep_s, max_s);
    }
}

static bool oversubscribed;

void hps_wait_set_oversubscribed(bool on)
{
    oversubscribed = on;
    if (on) prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* a sleep of 10 us does not last 60 */
}

bool hps_wait_oversubscribed(void)
{
    return oversubscribed;
}

void hps_wait_nap(double began_s)
{
    const double min_s = 5e-6, max_s = 300e-6;

    if (oversubscribed) hps_sleep_s(fmin(fmax((hps_now_s() - began_s) / 20, min_s), max_s));
}

void hps_wait_all(int n, MPI_Request *request)
{
    double began_s = 0;
    int done = 0;

    if (!oversubscribed && !hps_progress_poll()) {
        HPS_MPI(MPI_Waitall(n, request, MPI_STATUSES_IGNORE));
        return;
    }
    for (int tries = 0;; tries++) {
        HPS_MPI(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
        if (done) return;
        hps_progress_poll();
        if (tries == 0) began_s = hps_now_s();
        if (tries >= 20) hps_wait_nap(began_s);
    }
}

bool hps_wait_arrived(int n, MPI_Request *request, bool blocking)
{
    int done = 1;

    if (blocking)
        hps_wait_all(n, request);
    else
        HPS_MPI(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
    return done;
}

bool hps_wait_progress(void)
{
    if (!hps_progress_poll()) return false;
    if (oversubscribed) hps_sleep_s(20e-6);
    return true;
}

void hps_barrier_sleeping(MPI_Comm comm)
{
    MPI_Request all;

    if (comm == MPI_COMM_NULL) return;
    HPS_MPI(MPI_Ibarrier(comm, &all));
    hps_wait_sleeping(&all);
}
