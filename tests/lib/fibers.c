/* fibers.c - a scheduler by chance. For a while some fibers are slow: they seldom have a turn, and
 * others come far ahead of them. */
#include "fibers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/quit.h"
#include "base/rng.h"

enum { STACK = 1 << 19, PAGE = 1 << 12, MAX_LOOKS = 2000 };

struct fiber {
    ucontext_t at;
    bool over, asleep;
    int looks;                  /* since something happened last                */
    int weight;                 /* of its turns                                 */
};

static struct {
    struct fibers of;
    struct fiber fiber[FIBERS_MAX];
    ucontext_t home;
    char *stack;                /* (FIBERS_MAX, STACK), for all runs            */
    int now;                    /* the fiber that runs; -1: none                */
    bool stopped;               /* it runs on                                   */
    uint64_t ndraw;
    long long time, until;      /* until then the weights stay as they are      */
    int arrivals;               /* of 256 moves, where there is a choice        */
} me = { .now = -1 };

int fibers_me(void)
{
    return me.now;
}

uint64_t fibers_draw(void)
{
    return hps_rng_bits(me.of.seed, me.ndraw++);
}

long long fibers_time(void)
{
    return me.time;
}

static int below(int n)
{
    return (int)(fibers_draw() % (uint64_t)n);
}

/* ---- in a fiber ---- */

static void leave(void)
{
    struct fiber *f = &me.fiber[me.now];

    if (me.stopped) return;
    if (swapcontext(&f->at, &me.home) != 0) HPS_DIE("a fiber cannot stop");
}

void fibers_pass(void)
{
    if (me.now >= 0 && below(4) == 0) leave();
}

void fibers_look(void)
{
    if (me.now < 0) return;
    me.fiber[me.now].looks++;
    leave();
}

void fibers_sleep(void)
{
    me.fiber[me.now].asleep = true;
    leave();
}

void fibers_wake(int fiber)
{
    me.fiber[fiber].asleep = false;
}

void fibers_moved(void)
{
    for (int i = 0; i < me.of.n; i++)
        me.fiber[i].looks = 0;
}

void fibers_stop(void)
{
    me.stopped = true;
}

static void start(void)
{
    me.of.body(me.now, me.of.arg);
    me.fiber[me.now].over = true;
    fibers_moved();
}

/* ---- the scheduler ---- */

/* Below each stack lies a page that nobody may touch. */
static void make_stacks(void)
{
    size_t bytes = (size_t)FIBERS_MAX * STACK;

    if (me.stack) return;
    me.stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (me.stack == MAP_FAILED) HPS_DIE("no stacks");
    for (int i = 0; i < FIBERS_MAX; i++)
        if (mprotect(me.stack + (size_t)i * STACK, PAGE, PROT_NONE) != 0) HPS_DIE("no guard");
}

static void make(int i)
{
    struct fiber *f = &me.fiber[i];

    *f = (struct fiber){ .weight = 1 };
    if (getcontext(&f->at) != 0) HPS_DIE("no context");
    f->at.uc_stack.ss_sp = me.stack + (size_t)i * STACK + PAGE;
    f->at.uc_stack.ss_size = STACK - PAGE;
    f->at.uc_link = &me.home;
    makecontext(&f->at, start, 0);
}

static void draw_weights(void)
{
    static const int weights[] = { 1, 8, 64, 64 };

    for (int i = 0; i < me.of.n; i++)
        me.fiber[i].weight = weights[below(4)];
    me.until = me.time + 20 + below(2000);
}

/* A fiber that may go on; -1: none. */
static int choose(void)
{
    int all = 0;

    for (int i = 0; i < me.of.n; i++)
        all += me.fiber[i].over || me.fiber[i].asleep ? 0 : me.fiber[i].weight;
    if (all == 0) return -1;
    int at = below(all);
    for (int i = 0; i < me.of.n; i++) {
        if (me.fiber[i].over || me.fiber[i].asleep) continue;
        at -= me.fiber[i].weight;
        if (at < 0) return i;
    }
    return -1;
}

/* Are all that are not over asleep, or do they look again and again at what does not change? */
static bool is_stuck(void)
{
    for (int i = 0; i < me.of.n; i++)
        if (!me.fiber[i].over && !me.fiber[i].asleep && me.fiber[i].looks < MAX_LOOKS)
            return false;
    return true;
}

static bool are_over(void)
{
    bool all = true;

    for (int i = 0; i < me.of.n; i++)
        all &= me.fiber[i].over;
    return all;
}

bool fibers_run(const struct fibers *f)
{
    static const int arrivals[] = { 4, 32, 128, 250 };

    make_stacks();
    me.of = *f;
    me.ndraw = 0;
    me.time = me.until = 0;
    me.arrivals = arrivals[below(4)];
    for (int i = 0; i < f->n; i++)
        make(i);
    while (!are_over()) {
        int n = f->under_way(), next = choose();
        if (n == 0 && is_stuck()) return false;
        if (me.time++ >= me.until) draw_weights();
        if (n > 0 && (next < 0 || below(256) < me.arrivals)) {
            f->arrive(fibers_draw());
            fibers_moved();
            continue;
        }
        if (next < 0) continue;
        me.now = next;
        if (swapcontext(&me.home, &me.fiber[next].at) != 0) HPS_DIE("a fiber cannot go on");
        me.now = -1;
    }
    return true;
}
