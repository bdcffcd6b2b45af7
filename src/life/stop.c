/* stop.c - flags from signal handlers, a file, clocks.
 *
 * A thread handles signals and does nothing else. Threads that compute must not be interrupted: the
 * kernels of oneDNN 2.6 have their stack pointer near the beginning of a heap block, and the signal
 * frame would overwrite the memory before it. */
#include "life/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/thread.h"
#include "base/world.h"

static const int caught[] = { SIGTERM, SIGINT, SIGUSR1 };
static atomic_int flag; /* the first signal that came            */
static bool catching, listening;
static pthread_t listener;
static struct sigaction before[3];
static char *file; /* the stop file; rank 0                 */
static double looked_s, began_s, most_s, checkpoint_s;
static bool saving;
static double end_time; /* of the batch job, epoch seconds; 0: unknown */
static double requested_s; /* time of the first request; -1: none             */

/* A launcher also sends SIGTERM to the remaining ranks when one was killed: from then on its
 * exit code counts, not theirs. */
static void on_signal(int number)
{
    int none = 0;

    if (number == SIGTERM) hps_on_quit(NULL);
    atomic_compare_exchange_strong(&flag, &none, number);
}

static void mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < 3; i++)
        sigaddset(&set, caught[i]);
    pthread_sigmask(how, &set, NULL);
}

static void *listen_for(void *arg)
{
    (void)arg;
    mask(SIG_UNBLOCK);
    for (;;) /* cancelled while it waits */
        pause();
    return NULL;
}

void hps_stop_catch(void)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    sigemptyset(&a.sa_mask);
    for (int i = 0; i < 3; i++)
        sigaction(caught[i], &a, &before[i]);
    listening = hps_thread_start(&listener, listen_for, NULL) == 0;
    if (listening) mask(SIG_BLOCK); /* here, and in the threads that this one starts */
    catching = true;
}

void hps_stop_begin(const struct hps_run_opt *opt, const struct hps_rundir *dir)
{
    const char *end = getenv("HETERPS_END_TIME");

    if (flag == SIGTERM) hps_on_quit(NULL);
    looked_s = requested_s = -1;
    began_s = hps_now_s();
    most_s = opt->max_seconds;
    checkpoint_s = 0;
    if (!end) end = getenv("SLURM_JOB_END_TIME");
    end_time = end ? strtod(end, NULL) : 0;
    file = hps_rank() == 0 ? hps_rundir_file(dir, "stop") : NULL;
}

void hps_stop_end(void)
{
    hps_mem_free(file);
    file = NULL;
}

void hps_stop_release(void)
{
    for (int i = 0; catching && i < 3; i++)
        sigaction(caught[i], &before[i], NULL);
    if (listening) {
        pthread_cancel(listener);
        pthread_join(listener, NULL);
        mask(SIG_UNBLOCK);
    }
    catching = listening = false;
}

static const char *signal_name(int number)
{
    return number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGUSR1";
}

static bool stop_file(void)
{
    double now = hps_now_s();
    if (looked_s >= 0 && now - looked_s < 0.5) return false;
    looked_s = now;
    return access(file, F_OK) == 0;
}

static bool time_is_up(void)
{
    return end_time > 0 && (double)time(NULL) >= end_time - ((saving ? 3 : 2) * checkpoint_s + 5);
}

const char *hps_stop_requested(void)
{
    if (flag) return signal_name(flag);
    if (hps_rank() != 0 || !file) return NULL;
    if (most_s > 0 && hps_now_s() - began_s >= most_s) return "run.max_seconds";
    if (time_is_up()) return "the batch job's time limit";
    return stop_file() ? "the file 'stop'" : NULL;
}

bool hps_stop_urgent(void)
{
    return flag == SIGTERM || flag == SIGINT;
}

bool hps_stop_overdue(double patience_s)
{
    if (!hps_stop_requested()) return false;
    if (requested_s < 0) requested_s = hps_now_s();
    return hps_now_s() - requested_s >= patience_s;
}

void hps_stop_checkpoint_s(double seconds)
{
    checkpoint_s = seconds;
}

void hps_stop_saving(bool under_way)
{
    saving = under_way;
}

void hps_stop_done(void)
{
    if (file) unlink(file);
}
