/* wait.h - waiting for MPI requests without taking the core from those who compute. */
#ifndef HPS_BASE_WAIT_H
#define HPS_BASE_WAIT_H

#include <mpi.h>
#include <stdbool.h>

/* The host has more ranks than cores: waits sleep between tests. Default: it has not. Local. */
void hps_wait_set_oversubscribed(bool on);
/* Where the host is oversubscribed, a test of a request that is not done costs a computing rank its
 * turn on the core, since the MPI library yields in it: better not to test in between. Local. */
bool hps_wait_oversubscribed(void);

/* In a wait that began then (base/clock.h), before the next test: on an oversubscribed host sleep
 * for a 20th of the time waited, 5 to 300 us, else return at once. Many ranks that wait on one
 * core would fill it otherwise; longer naps would hold up each piece of a long message. */
void hps_wait_nap(double began_s);

/* Wait for all of n requests (n = 0 and null requests are fine), and run the progress engine
 * meanwhile. On an oversubscribed host the waiter naps between tests; elsewhere it spins, which
 * notices completion sooner. Local. */
void hps_wait_all(int n, MPI_Request *request);

/* Are all of them done? `blocking`: yes, after hps_wait_all; else one test. Local. */
bool hps_wait_arrived(int n, MPI_Request *request, bool blocking);

/* Run the progress engine once, for a loop that then tests again what it waits for: on an
 * oversubscribed host the call ends in a short sleep. False: the engine has nothing to run. */
bool hps_wait_progress(void);

/* Wait for one request with sleeps that grow from 20 us to 2 ms, for waits that may last: idle
 * ranks, ranks that wait while another measures. Local. */
void hps_wait_sleeping(MPI_Request *request);

/* A barrier whose waiters sleep. Collective over comm; MPI_COMM_NULL: nothing to wait for. */
void hps_barrier_sleeping(MPI_Comm comm);

#endif
