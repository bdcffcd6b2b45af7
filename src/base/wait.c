/* wait.c - waits that leave the core to those who compute. */
#include <sys/prctl.h>
#include <time.h>

#include "base/meanwhile.h"
#include "base/say.h"

void hps_wait_quiet(MPI_Request *request)
{
    const long most_ns = 2000000;
    struct timespec nap = { 0, 20000 };
    int done;

    for (;;) {
        HPS_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        nanosleep(&nap, NULL);                          /* woken early by a signal: look again */
        nap.tv_nsec += nap.tv_nsec / 2;
        if (nap.tv_nsec > most_ns)
            nap.tv_nsec = most_ns;
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
    const long most_ns = 100000;
    struct timespec nap = { 0, 5000 };
    int done = 0;

    if (!crowded_host && !hps_meanwhile()) {
        HPS_MPI(MPI_Waitall(n, request, MPI_STATUSES_IGNORE));
        return;
    }
    for (int tries = 0;; tries++) {
        HPS_MPI(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
        if (done)
            return;
        hps_meanwhile();
        if (tries < 20 || !crowded_host)
            continue;
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec * 3 / 2 < most_ns ? nap.tv_nsec * 3 / 2 : most_ns;
    }
}

bool hps_wait_meanwhile(void)
{
    const struct timespec nap = { 0, 20000 };

    if (!hps_meanwhile()) return false;
    if (crowded_host) nanosleep(&nap, NULL);
    return true;
}

/* Where nothing is to be found, MPI goes round once. */
void hps_progress(void)
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
