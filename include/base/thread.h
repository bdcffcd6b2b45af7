/* thread.h - threads beside the one that talks to MPI. */
#ifndef HPS_BASE_THREAD_H
#define HPS_BASE_THREAD_H

#include <pthread.h>

/* A thread that runs run(arg); signals stay with the caller's. 0, or pthread_create's error. */
int hps_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* Sleep for so long, or until a signal comes. Local. */
void hps_sleep_s(double seconds);

#endif
