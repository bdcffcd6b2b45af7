/* fibers.h - ranks as fibers of one process. Wherever one of them waits or looks, a seed chooses
 * which one goes on, or that something that is under way arrives. A run is a function of its seed
 * alone. */
#ifndef HPS_TESTS_FIBERS_H
#define HPS_TESTS_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBERS_MAX = 20 };

struct fibers {
    int n;
    uint64_t seed;
    void (*body)(int me, void *arg);
    void *arg;
    int (*under_way)(void);             /* how many things may arrive now       */
    void (*arrive)(uint64_t draw);      /* one of them, chosen by these bits    */
};
/* Run the bodies until all have returned. False: none can go on, and the fibers are left as they
 * are. */
bool fibers_run(const struct fibers *f);

int fibers_me(void);                    /* the fiber that runs; -1: none is running             */
uint64_t fibers_draw(void);             /* 64 bits                                              */
long long fibers_time(void);            /* moves of the scheduler so far                        */

/* For the fiber that runs: another one may go on before it does; it has looked for something that
 * is not there, and will look again; it goes on when it is woken. */
void fibers_pass(void);
void fibers_look(void);
void fibers_sleep(void);
void fibers_wake(int fiber);
/* The process ends: the fiber that runs stays the one. */
void fibers_stop(void);
/* Something has happened, for which others may be looking. */
void fibers_moved(void);

#endif
