/* thread.h - threads beside the one that calls MPI, and conditions that they wait for by a clock
 * that nobody sets back. */
#ifndef HPS_BASE_THREAD_H
#define HPS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* A thread that runs run(arg); signals stay with the caller's. 0, or pthread_create's error. */
int hps_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* The calling thread, when it is woken, does not preempt a thread that is running: it waits until
 * that one pauses or has used its share of the core. Ignored by systems that cannot. Local. */
void hps_thread_yields(void);

/* A condition that may be waited for by the clock of hps_steady_s (base/clock.h). Local. */
void hps_cond_init(pthread_cond_t *cond);
/* Wait with the mutex held until the condition is signalled (or spuriously, as all waits for a
 * condition may end) or hps_steady_s() is until_s; false: that time has come. Local. */
bool hps_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double until_s);

#endif
