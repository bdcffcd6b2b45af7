/* thread.h - threads beside the one that talks to MPI, and the clock that they wait by: one that
 * nobody sets back. */
#ifndef HPS_BASE_THREAD_H
#define HPS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* A thread that runs run(arg); signals stay with the caller's. 0, or pthread_create's error. */
int hps_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* The calling thread, when it is woken, takes no core from one that is at work: it waits for that
 * one's next pause, or for its share of the core. A wish, where the system knows it. Local. */
void hps_thread_yields(void);

/* Sleep for so long, or until a signal comes. Local. */
void hps_sleep_s(double seconds);

/* Seconds of a clock that only goes on; where it began is nobody's business. Local. */
double hps_steady_s(void);

/* A condition that may be waited for by that clock. Local. */
void hps_cond_init(pthread_cond_t *cond);
/* Wait with the mutex held until the condition is signalled (or for no reason, as all waits for
 * one) or hps_steady_s() is until_s: false, the time has come. Local. */
bool hps_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double until_s);

#endif
