/* watch.c - a counter of heartbeats; a thread that diagnoses a hang through the reports of all
 * ranks; and a guard thread, which opens no file and ends the run where the first thread hangs
 * too. */
#include "life/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/thread.h"
#include "base/wait.h"
#include "base/world.h"
#include "life/stall.h"

/* The interval of checks; and how much longer one may last: more than that, the batch system
 * suspended the job, which is no stall. */
static const double nap_s = 0.2, lapse_s = 1;
/* How long to wait for reports, and for the rank that prints them, which opens a file for each. */
static const double grace_s = 1.5, patience_s = 5, file_s = 0.005;
/* How much longer it may last until the file system is assumed dead: on rank 0, and on the
 * others, which know less. */
static const double spare_s = 4, rank_delay_s = 5;
/* How long a launcher may take to end the other ranks after a death; the interval of checks for
 * a death; and how much longer the end of the program may take. */
static const double lost_s = 5, look_s = 1, end_s = 30;

static struct {
    pthread_t thread, guard;
    bool running, guarded;
    double most_s;
    char *folder;                 /* of the reports; NULL: there are none         */
    char (*host)[HPS_STALL_HOST]; /* (R)                                         */
    int *pid;                     /* (R) on its host; -1: not visible            */
    const struct hps_watch_regions *regions;
    struct hps_stall_report *word; /* (regions->n) of which `waits_for` alone is used   */
} me;
static atomic_bool over, ending;
static _Atomic long long nheartbeat, at_step;
static const char *_Atomic doing;
static _Atomic double allowed_s;

/* Has its process disappeared? At the end of the program that is no death, since it may have ended
 * earlier. */
static bool is_gone(int rank)
{
    return !ending && me.pid[rank] > 0 && kill(me.pid[rank], 0) != 0 && errno == ESRCH;
}

/* The ranks on this host that were killed. */
static void describe_killed(char *to, size_t size)
{
    int *gone = hps_mem_new((size_t)hps_nrank(), sizeof *gone), n = 0;

    for (int r = 0; r < hps_nrank(); r++)
        if (is_gone(r)) gone[n++] = r;
    hps_stall_ranks(to, size, n, gone);
    hps_mem_free(gone);
}

static struct hps_stall_report my_word(void)
{
    struct hps_stall_report w = { .answered = true, .step = at_step };
    const char *phase = doing;
    int region = me.regions->now();
    const char *name = region < 0 ? "no region" : me.regions->name[region];

    snprintf(w.region, sizeof w.region, "%s", phase ? phase : name);
    if (!phase && region >= 0)
        snprintf(w.waits_for, sizeof w.waits_for, "%s", me.word[region].waits_for);
    describe_killed(w.killed, sizeof w.killed);
    return w;
}

/* The lowest rank with a report prints them. */
static void conclude(double waited_s)
{
    struct hps_stall_report *word = hps_mem_new((size_t)hps_nrank(), sizeof *word);
    int first = hps_stall_first(me.folder, hps_nrank());

    if (first >= 0 && first != hps_rank()) hps_sleep_s(patience_s + file_s * hps_nrank());
    hps_stall_get(me.folder, hps_nrank(), word);
    if (first < 0) word[hps_rank()] = my_word(); /* the folder cannot be written */
    char *text = hps_stall_text(hps_nrank(), word, (const char(*)[HPS_STALL_HOST])me.host);
    for (int r = 0; r < hps_nrank(); r++)
        if (hps_stall_killed(hps_nrank(), word, r))
            hps_quit_with_peers("no progress for %.0f s %s", waited_s, text);
    hps_quit(HPS_FAIL, "stall: no progress for %.0f s %s", waited_s, text);
}

/* Has the main thread made progress since `seen`? */
static bool came_on(long long seen)
{
    return over || nheartbeat != seen;
}

/* Write a report, wait for those of the others and print them; or withdraw it on progress. */
static void alarm_of(long long seen, double waited_s)
{
    struct hps_stall_report w = my_word();

    hps_stall_put(me.folder, hps_rank(), &w);
    for (double s = 0; s < grace_s && !came_on(seen); s += nap_s)
        hps_sleep_s(nap_s);
    if (came_on(seen))
        hps_stall_remove(me.folder, hps_rank());
    else
        conclude(waited_s);
}

/* Seconds since the last heartbeat. */
struct standstill {
    long long seen;
    double before, waited;
};

/* Sleep for an interval and update the count. Returns the seconds that count. */
static double count_on(struct standstill *c)
{
    hps_sleep_s(nap_s);
    double now = hps_now_s(), nap = fmin(now - c->before, lapse_s);
    c->waited = nheartbeat != c->seen ? 0 : c->waited + nap;
    c->seen = nheartbeat;
    c->before = now;
    return nap;
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

/* The line of this rank alone. */
static _Noreturn void end_unheard(double waited_s)
{
    struct hps_stall_report w = my_word();
    char *text = hps_stall_text_alone(hps_rank(), hps_host(), &w);

    if (me.folder && !ending && !*w.killed)
        hps_quit(HPS_FAIL, "stall: no progress for %.0f s %s; %s does not answer, so no other rank "
                 "was asked", waited_s, text, me.folder);
    if (!*w.killed) hps_quit(HPS_FAIL, "stall: no progress for %.0f s %s", waited_s, text);
    hps_quit_with_peers("no progress for %.0f s %s", waited_s, text);
}

/* The ranks of this host that were killed, and since when that is known. */
struct loss {
    double next_s, since_s;
};

/* Has a rank been dead for longer than a launcher takes to end the others? The lowest remaining
 * rank prints first. */
static bool is_lost(struct loss *l, double nap)
{
    bool any = false, first = true;

    l->next_s -= nap;
    if (l->since_s > 0) l->since_s += nap;
    if (l->next_s > 0) return false;
    l->next_s = look_s;
    for (int r = 0; r < hps_nrank(); r++) {
        bool gone = is_gone(r);
        any = any || gone;
        if (r < hps_rank() && me.pid[r] > 0 && !gone) first = false;
    }
    if (!any) l->since_s = 0;
    if (any && l->since_s <= 0) l->since_s = nap;
    return l->since_s > lost_s + (first ? 0 : rank_delay_s);
}

/* The guard waits this much longer than the other thread. */
static double spare(void)
{
    double s = hps_rank() > 0 ? rank_delay_s : 0;

    if (!me.folder || ending) return s;
    return s + grace_s + patience_s + 2 * file_s * hps_nrank() + spare_s;
}

static void *guard(void *arg)
{
    struct standstill c = { -1, hps_now_s(), 0 };
    struct loss l = { 0, 0 };

    (void)arg;
    for (;;) { /* cancelled while it sleeps */
        double nap = count_on(&c);
        if (c.waited <= me.most_s + allowed_s + spare() && !is_lost(&l, nap)) continue;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        end_unheard(c.waited);
    }
    return NULL;
}

static void start(void)
{
    bool asks = me.folder && me.most_s < INFINITY;

    over = ending = false;
    me.running = asks && hps_thread_start(&me.thread, watch, NULL) == 0;
    me.guarded = hps_thread_start(&me.guard, guard, NULL) == 0;
    if (me.running != asks || !me.guarded)
        HPS_SAY_ALL(HPS_WARN, "no thread for the watchdog: neither a standstill nor a rank's death "
                    "is noticed");
}

/* A process id and its namespace. */
struct process {
    char host[HPS_STALL_HOST];
    long long numbers; /* of the namespace */
    int pid;
};

static struct process myself(void)
{
    struct process p = { .pid = (int)getpid() };
    struct stat numbers;

    snprintf(p.host, sizeof p.host, "%s", hps_host());
    if (stat("/proc/self/ns/pid", &numbers) == 0) p.numbers = (long long)numbers.st_ino;
    return p;
}

/* Exchange hosts and process ids; a process counts where it is visible. Collective. */
static void meet(MPI_Comm world)
{
    size_t R = (size_t)hps_nrank();
    struct process mine = myself(), *all = hps_mem_new(R, sizeof *all);

    me.host = hps_mem_new(R, sizeof *me.host);
    me.pid = hps_mem_new(R, sizeof *me.pid);
    HPS_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, world));
    for (size_t r = 0; r < R; r++) {
        bool seen = strcmp(all[r].host, mine.host) == 0 && all[r].numbers == mine.numbers;
        memcpy(me.host[r], all[r].host, sizeof mine.host);
        me.pid[r] = seen && kill(all[r].pid, 0) == 0 ? all[r].pid : -1;
    }
    hps_mem_free(all);
    hps_barrier_sleeping(world); /* no rank ends before it was seen */
}

void hps_watch_begin(double stall_seconds, const struct hps_rundir *dir,
                     const struct hps_watch_regions *regions, MPI_Comm world)
{
    me.regions = regions;
    me.word = hps_mem_new((size_t)regions->n, sizeof *me.word);
    me.folder = dir ? hps_rundir_file(dir, ".stall") : NULL;
    if (dir && hps_rank() == 0) hps_stall_clear(me.folder); /* of an earlier run */
    if (world == MPI_COMM_NULL) return;
    me.most_s = stall_seconds > 0 ? stall_seconds : INFINITY;
    meet(world);
    start();
}

void hps_watch_leave(void)
{
    hps_watch_phase("the end of the program", end_s);
    ending = true;
    if (!me.running) return;
    over = true;
    pthread_join(me.thread, NULL); /* it may be opening a file */
    me.running = false;
}

void hps_watch_end(void)
{
    hps_watch_leave();
    if (me.guarded) {
        pthread_cancel(me.guard);
        pthread_join(me.guard, NULL);
    }
    hps_mem_free(me.folder);
    hps_mem_free(me.word);
    hps_mem_free(me.host);
    hps_mem_free(me.pid);
    memset(&me, 0, sizeof me);
    doing = NULL;
    allowed_s = 0;
}

void hps_watch_heartbeat(long long step)
{
    if (step >= 0) at_step = step;
    nheartbeat++;
}

void hps_watch_phase(const char *text, double allow_s)
{
    doing = text;
    allowed_s = allow_s;
    nheartbeat++;
}

void hps_watch_peers(int region, int n, const int *rank)
{
    if (!me.word) return;
    hps_stall_ranks(me.word[region].waits_for, sizeof me.word->waits_for, n, rank);
}
