/* quit.c - the only way out in disorder. */
#include "base/quit.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/say_impl.h"
#include "base/thread.h"
#include "base/world.h"

void hps_leave(int code)
{
    _exit(code);
}

static void (*_Atomic on_quit)(enum hps_status status);

void hps_on_quit(void (*record)(enum hps_status status))
{
    on_quit = record;
}

/* The last line, and what is recorded of it in files, are written by a thread of their own: the
 * file system may not answer, and the end of the process does not wait for it. */
static struct {
    char line[HPS_SAY_LINE];
    size_t n;
    enum hps_status status;
    bool follows;       /* the death of another rank is not ours to record */
    atomic_bool said;
} last;
static _Thread_local bool saying;   /* the calling thread is the one that writes the last line */
static const double say_max_s = 5, abort_max_s = 10;

static void *say_last(void *arg)
{
    void (*record)(enum hps_status) = on_quit;

    (void)arg;
    saying = true;
    hps_say_last(last.line, last.n);
    if (record && !last.follows) record(last.status);
    last.said = true;
    return NULL;
}

/* Where the launcher does not answer MPI_Abort, the process ends by itself. */
static void *reap(void *arg)
{
    (void)arg;
    hps_sleep_s(abort_max_s);
    _exit((int)last.status);
    return NULL;
}

/* The one way out in disorder. A second thread that comes here waits for the first to end the
 * process; where the second is the one that writes the last line (writing has failed), the first
 * stops waiting for it. The same thread again (an exit handler that fails) leaves at once. */
static _Noreturn void leave(enum hps_status status, bool follows, const char *line, size_t n)
{
    static atomic_flag leaving = ATOMIC_FLAG_INIT;
    static _Thread_local bool again;
    pthread_t thread;

    if (again) _exit((int)status);
    again = true;
    if (atomic_flag_test_and_set(&leaving)) {
        if (saying)
            last.said = true;
        else
            hps_say_write(line, n);
        for (;;)
            pause();
    }
    memcpy(last.line, line, n);
    last.n = n;
    last.status = status;
    last.follows = follows;
    if (hps_thread_start(&thread, say_last, NULL) != 0) say_last(NULL);
    for (double began = hps_steady_s(); !last.said && hps_steady_s() - began < say_max_s;)
        hps_sleep_s(0.002);
    if (follows) raise(SIGKILL);
    hps_thread_start(&thread, reap, NULL);
    if (hps_world_parallel() && MPI_Abort(MPI_COMM_WORLD, (int)status) != MPI_SUCCESS)
        hps_say_write("MPI_Abort failed\n", 17);
    _exit((int)status);
}

void hps_die(const char *file, int line, const char *format, ...)
{
    char text[HPS_SAY_LINE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hps_quit(HPS_FAIL, "%s (%s:%d) on %s", text, file, line, hps_host());
}

void hps_quit(enum hps_status status, const char *format, ...)
{
    char line[HPS_SAY_LINE];
    va_list args;

    va_start(args, format);
    size_t n = hps_say_line(line, HPS_ERROR, format, args);
    va_end(args);
    leave(status, false, line, n);
}

void hps_quit_with_peers(const char *format, ...)
{
    char line[HPS_SAY_LINE];
    va_list args;

    va_start(args, format);
    size_t n = hps_say_line(line, HPS_ERROR, format, args);
    va_end(args);
    leave(HPS_FAIL, true, line, n);
}

/* Where a peer was killed, the launcher ends this rank too, with the code of that death, which an
 * own code must not hide: the launcher is given the time. */
void hps_die_late(const char *file, int line, const char *format, ...)
{
    const double wait_max_s = 2, sleep_s = 0.05;
    char text[HPS_SAY_LINE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hps_say(HPS_ERROR, true, "%s (%s:%d) on %s", text, file, line, hps_host());
    for (double began = hps_steady_s(); hps_nrank() > 1 && hps_steady_s() - began < wait_max_s;)
        hps_sleep_s(sleep_s);
    leave(HPS_FAIL, false, "", 0);
}
