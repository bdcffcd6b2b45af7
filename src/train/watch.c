/* watch.c - a counter; a thread that asks and says why it stands still; and one that opens no file
 * and ends the run where that does not come on either. */
#include "train/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "train/stall.h"

/* A job that the batch system suspended and woke again has not stalled: what a nap lasts longer
 * than this was not the thread's own time. */
static const double nap_s = 0.2, lapse_s = 1;
/* How long words are waited for, and how long the one who says them, who opens a file for each. */
static const double grace_s = 1.5, patience_s = 5, file_s = 0.005;
/* What else it may last before the file system is taken for dead: on rank 0, and on the others, who
 * have not much to add. */
static const double spare_s = 4, turn_s = 5;

static struct {
    pthread_t thread, guard;
    bool running, guarded;
    double most_s;
    char *folder;                 /* where the words are                         */
    char (*host)[HPS_STALL_HOST]; /* (R)                                         */
    int *pid;                     /* (R) there; -1: none that this rank can see  */
    char whom[HPS_REGIONS][sizeof ((struct hps_stall_word *)NULL)->whom];
} me;
static atomic_bool over;
static _Atomic long long beats, at_step;
static const char *_Atomic doing;
static _Atomic double allowed_s;

/* Ranks on my host whose process was there and is no more. */
static void tell_killed(char *to, size_t size)
{
    int *gone = hps_mem_new((size_t)hps_nrank(), sizeof *gone), n = 0;

    for (int r = 0; r < hps_nrank(); r++)
        if (me.pid[r] > 0 && kill(me.pid[r], 0) != 0 && errno == ESRCH) gone[n++] = r;
    hps_stall_ranks(to, size, n, gone);
    hps_mem_free(gone);
}

static struct hps_stall_word my_word(void)
{
    struct hps_stall_word w = { .spoke = true, .step = at_step };
    const char *phase = doing, *region = hps_region_now();

    snprintf(w.inside, sizeof w.inside, "%s", phase ? phase : region ? region : "no region");
    for (int i = 0; i < HPS_REGIONS && !phase && region; i++)
        if (strcmp(hps_region_name[i], region) == 0)
            snprintf(w.whom, sizeof w.whom, "%s", me.whom[i]);
    tell_killed(w.killed, sizeof w.killed);
    return w;
}

/* The rank that says what all have told: nobody else is left that could. */
static void conclude(double waited_s)
{
    struct hps_stall_word *word = hps_mem_new((size_t)hps_nrank(), sizeof *word);
    int first = hps_stall_first(me.folder, hps_nrank());

    if (first >= 0 && first != hps_rank()) hps_sleep_s(patience_s + file_s * hps_nrank());
    hps_stall_hear(me.folder, hps_nrank(), word);
    if (first < 0) word[hps_rank()] = my_word(); /* the folder cannot be written */
    char *text = hps_stall_text(hps_nrank(), word, (const char(*)[HPS_STALL_HOST])me.host);
    for (int r = 0; r < hps_nrank(); r++)
        if (hps_stall_killed(hps_nrank(), word, r))
            hps_follow("no progress for %.0f s %s", waited_s, text);
    hps_quit(HPS_FAIL, "stall: no progress for %.0f s %s", waited_s, text);
}

/* Has the main thread come on since `seen`? */
static bool came_on(long long seen)
{
    return over || beats != seen;
}

/* Leave a word, wait for those of the others, say it; or take it back. */
static void alarm_of(long long seen, double waited_s)
{
    struct hps_stall_word w = my_word();

    hps_stall_tell(me.folder, hps_rank(), &w);
    for (double s = 0; s < grace_s && !came_on(seen); s += nap_s)
        hps_sleep_s(nap_s);
    if (came_on(seen))
        hps_stall_untell(me.folder, hps_rank());
    else
        conclude(waited_s);
}

/* For how long has nobody beaten? */
struct standstill {
    long long seen;
    double before, waited;
};

/* A nap, and on with the count. */
static void count_on(struct standstill *c)
{
    hps_sleep_s(nap_s);
    double now = hps_now_s();
    c->waited = beats != c->seen ? 0 : c->waited + fmin(now - c->before, lapse_s);
    c->seen = beats;
    c->before = now;
}

static void *watch(void *arg)
{
    struct standstill c = { -1, hps_now_s(), 0 };

    (void)arg;
    while (!over) {
        count_on(&c);
        double most = me.most_s + allowed_s;
        if (c.waited > most || (c.waited > most / 2 && hps_stall_any(me.folder)))
            alarm_of(c.seen, c.waited);
    }
    return NULL;
}

/* What this rank knows by itself. */
static _Noreturn void end_unheard(double waited_s)
{
    struct hps_stall_word w = my_word();
    char *text = hps_stall_own(hps_rank(), hps_host(), &w);
    const char *why = "does not answer, so no other rank was asked";

    if (*w.killed)
        hps_follow("no progress for %.0f s %s; %s %s", waited_s, text, me.folder, why);
    hps_quit(HPS_FAIL, "stall: no progress for %.0f s %s; %s %s", waited_s, text, me.folder, why);
}

static void *guard(void *arg)
{
    struct standstill c = { -1, hps_now_s(), 0 };
    double spare = grace_s + patience_s + 2 * file_s * hps_nrank() + spare_s;

    (void)arg;
    if (hps_rank() > 0) spare += turn_s;
    for (;;) { /* cancelled in its nap */
        count_on(&c);
        if (c.waited <= me.most_s + allowed_s + spare) continue;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        end_unheard(c.waited);
    }
    return NULL;
}

static void start(void)
{
    over = false;
    me.running = hps_thread_start(&me.thread, watch, NULL) == 0;
    me.guarded = hps_thread_start(&me.guard, guard, NULL) == 0;
    if (!me.running || !me.guarded)
        HPS_SAY_ALL(HPS_WARN, "no thread for the watchdog: run.stall_seconds has no effect");
}

/* All ranks learn of each other; a process counts where it can be seen. Collective. */
static void meet(MPI_Comm world)
{
    size_t R = (size_t)hps_nrank();
    char mine[HPS_STALL_HOST] = "";
    int pid = (int)getpid();

    snprintf(mine, sizeof mine, "%s", hps_host());
    me.host = hps_mem_new(R, sizeof *me.host);
    me.pid = hps_mem_new(R, sizeof *me.pid);
    HPS_MPI(MPI_Allgather(mine, sizeof mine, MPI_CHAR, me.host, sizeof mine, MPI_CHAR, world));
    HPS_MPI(MPI_Allgather(&pid, 1, MPI_INT, me.pid, 1, MPI_INT, world));
    for (size_t r = 0; r < R; r++)
        if (strcmp(me.host[r], mine) != 0 || kill(me.pid[r], 0) != 0) me.pid[r] = -1;
    hps_barrier_quiet(world); /* nobody ends before he was seen */
}

void hps_watch_begin(double stall_seconds, const struct hps_rundir *dir, MPI_Comm world)
{
    me.folder = hps_rundir_file(dir, ".stall");
    if (hps_rank() == 0) hps_stall_clear(me.folder); /* of a run before */
    if (stall_seconds <= 0) return;
    me.most_s = stall_seconds;
    meet(world);
    start();
}

void hps_watch_end(void)
{
    if (me.running) {
        over = true;
        pthread_join(me.thread, NULL); /* it may be at a file */
    }
    if (me.guarded) {
        pthread_cancel(me.guard);
        pthread_join(me.guard, NULL);
    }
    hps_mem_free(me.folder);
    hps_mem_free(me.host);
    hps_mem_free(me.pid);
    memset(&me, 0, sizeof me);
    doing = NULL;
    allowed_s = 0;
}

void hps_watch_beat(long long step)
{
    if (step >= 0) at_step = step;
    beats++;
}

void hps_watch_phase(const char *text, double allow_s)
{
    doing = text;
    allowed_s = allow_s;
    beats++;
}

void hps_watch_whom(enum hps_region region, int n, const int *rank)
{
    hps_stall_ranks(me.whom[region], sizeof me.whom[region], n, rank);
}
