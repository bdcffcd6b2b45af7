/* say.c - the only voice and the only exit. Everything global about the program is in here. */
#include "base/say.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/eager.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/thread.h"

enum { LINE = 8192 };   /* longest line said; what is longer is cut and ends in "..." */

static struct {
    bool parallel;
    MPI_Comm world;
    int rank, nrank;
    double start_s;
    int out_errno;      /* the first trouble of standard output; 0: none */
    bool out_told;
    FILE *log;
} me = { .world = MPI_COMM_NULL, .nrank = 1 };

static atomic_int least = HPS_INFO;
static pthread_mutex_t voice = PTHREAD_MUTEX_INITIALIZER;

int hps_rank(void)
{
    return me.rank;
}

int hps_nrank(void)
{
    return me.nrank;
}

const char *hps_host(void)
{
    static _Thread_local char name[256];
    const char *node = getenv("SLURMD_NODENAME");

    if (node && *node)
        return node;
    if (gethostname(name, sizeof name - 1) != 0)
        return "an unknown host";
    return name;
}

double hps_now_s(void)
{
    return hps_steady_s() - me.start_s;
}

double hps_core_s(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A reader that goes away and a file that may not grow must come back as EPIPE and EFBIG from the
 * write, not as signals that kill. */
static void ignore_failed_writes(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    if (sigaction(SIGPIPE, &ignore, NULL) != 0 || sigaction(SIGXFSZ, &ignore, NULL) != 0)
        HPS_DIE("sigaction: %s", strerror(errno));
}

static void begin_parallel(int *argc, char ***argv)
{
    int threads;

    hps_eager_prefer();
    HPS_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &threads));
    me.parallel = true;
    HPS_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    HPS_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    HPS_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &me.rank));
    HPS_MPI(MPI_Comm_size(MPI_COMM_WORLD, &me.nrank));
    if (threads < MPI_THREAD_SERIALIZED)
        HPS_DIE("this MPI library provides thread level %d, MPI_THREAD_SERIALIZED (%d) is needed",
                threads, MPI_THREAD_SERIALIZED);
    HPS_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &me.world));   /* a dup inherits the error handler */
}

MPI_Comm hps_begin(int *argc, char ***argv, bool parallel)
{
    assert(me.world == MPI_COMM_NULL);
    me.start_s = hps_steady_s();
    hps_json_begin();
    if (parallel)
        begin_parallel(argc, argv);
    ignore_failed_writes();                             /* after MPI, which has handlers too */
    return me.world;
}

int hps_end(enum hps_status status)
{
    enum hps_status flushed = hps_out_flush();

    if (!status)
        status = flushed;
    hps_say_log(NULL);
    if (me.parallel) {
        HPS_MPI(MPI_Comm_free(&me.world));
        /* Not in MPI_Finalize is one that hangs waited for: a run that is aborted while ranks are
         * in there makes Open MPI's launcher crash, or hang. */
        hps_barrier_quiet(MPI_COMM_WORLD);
        me.parallel = false;                            /* from here on there is no MPI_Abort */
        HPS_MPI(MPI_Finalize());
    }
    return (int)status;
}

void hps_leave(int code)
{
    _exit(code);
}

/* Standard error gets a line in one write, so that lines of several ranks do not mix. */
static void put_line(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;                                     /* nobody is left to be told */
        line += done;
        n -= (size_t)done;
    }
}

/* Whoever must tell why the run ends may not wait for ever behind a thread that is stuck in a
 * write to a full pipe: after a while the log misses a line. */
static bool take_voice(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    return pthread_mutex_timedlock(&voice, &until) == 0;
}

/* A log that cannot be written is given up, once and aloud; the run goes on. Voice is held. */
static void give_up_log(void)
{
    char line[LINE];
    int n = snprintf(line, sizeof line, "[%d %.3f] warning: the log ends here: %s\n", me.rank,
                     hps_now_s(), strerror(errno));

    fclose(me.log);
    me.log = NULL;
    put_line(line, (size_t)n);
}

static void put_log(const char *text, size_t n)
{
    if (me.log && fwrite(text, 1, n, me.log) != n)
        give_up_log();
}

/* "[rank seconds] text" and a line's end, in LINE bytes; the answer is their number. What a text
 * has from a file or a user is only shown: it moves no cursor and begins no line of its own. */
static size_t line_of(char *line, enum hps_level level, const char *format, va_list args)
{
    static const char *const mark[] = { "debug: ", "", "warning: ", "error: " };
    char text[LINE];
    int head = snprintf(line, LINE, "[%d %.3f] %s", me.rank, hps_now_s(), mark[level]);
    int all = vsnprintf(text, sizeof text, format, args);
    size_t n = (size_t)head, have = strlen(all > 0 ? text : "");

    if (hps_escape(line, &n, LINE - 4, text, have, false) < (size_t)(all > 0 ? all : 0)) {
        memcpy(line + n, "...", 3);
        n += 3;
    }
    line[n++] = '\n';
    return n;
}

static void say(enum hps_level level, bool aloud, const char *format, va_list args)
{
    char line[LINE];
    size_t n = line_of(line, level, format, args);

    if (aloud)
        put_line(line, n);
    if (take_voice()) {
        put_log(line, n);
        pthread_mutex_unlock(&voice);
    }
}

void hps_say_min(enum hps_level level)
{
    atomic_store(&least, (int)level);
}

void hps_say(enum hps_level level, bool all, const char *format, ...)
{
    va_list args;

    if ((int)level < atomic_load(&least) || (me.rank != 0 && !all && !me.log))
        return;
    va_start(args, format);
    say(level, me.rank == 0 || all, format, args);
    va_end(args);
}

static FILE *open_log(const char *path)
{
    int fd = hps_file_open(path, O_WRONLY | O_APPEND | O_CREAT);
    FILE *log = fd < 0 ? NULL : fdopen(fd, "a");

    if (fd >= 0 && !log)
        close(fd);
    return log;
}

enum hps_status hps_say_log(const char *path)
{
    bool whole = true;
    FILE *log = NULL;

    if (path) {
        log = open_log(path);
        if (!log) {
            HPS_SAY_ALL(HPS_ERROR, "%s: the log cannot be opened: %s", path, hps_file_why(errno));
            return HPS_OUTPUT;
        }
        setvbuf(log, NULL, _IOLBF, BUFSIZ);             /* a line that was said is on disk */
    }
    pthread_mutex_lock(&voice);
    if (me.log)
        whole = fclose(me.log) == 0;
    me.log = log;
    pthread_mutex_unlock(&voice);
    if (!whole)
        HPS_SAY(HPS_WARN, "the log before is not whole: %s", strerror(errno));
    return HPS_OK;
}

/* Voice is held. */
static void put_out(const char *text, size_t n)
{
    char shown[4096];

    for (size_t done; n > 0;) {
        done = 0;
        size_t taken = hps_escape(shown, &done, sizeof shown, text, n, true);
        if (fwrite(shown, 1, done, stdout) != done && !me.out_errno)
            me.out_errno = errno;
        put_log(shown, done);
        text += taken;
        n -= taken;
    }
}

void hps_out(const char *format, ...)
{
    va_list args, again;
    char brief[1024], *text = brief;

    if (me.rank != 0)
        return;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(brief, sizeof brief, format, args);
    va_end(args);
    assert(n >= 0);
    if ((size_t)n >= sizeof brief) {
        text = hps_mem_new((size_t)n + 1, 1);
        vsnprintf(text, (size_t)n + 1, format, again);
    }
    va_end(again);
    pthread_mutex_lock(&voice);
    put_out(text, (size_t)n);
    pthread_mutex_unlock(&voice);
    if (text != brief)
        hps_mem_free(text);
}

enum hps_status hps_out_flush(void)
{
    bool tell;

    if (me.rank != 0)
        return HPS_OK;
    pthread_mutex_lock(&voice);
    if (fflush(stdout) != 0 && !me.out_errno)
        me.out_errno = errno;
    tell = me.out_errno && !me.out_told;
    me.out_told |= tell;
    pthread_mutex_unlock(&voice);
    if (tell)
        HPS_SAY(HPS_ERROR, "standard output cannot be written: %s", strerror(me.out_errno));
    return me.out_errno ? HPS_OUTPUT : HPS_OK;
}

static void (*_Atomic on_quit)(enum hps_status status);

void hps_on_quit(void (*tell)(enum hps_status status))
{
    on_quit = tell;
}

/* The last line, and what goes with it into files: by a thread of its own, since the file system
 * may not answer, and the end is not to wait for it. */
static struct {
    char line[LINE];
    size_t n;
    enum hps_status status;
    bool follows;       /* another's death: not ours to tell */
    atomic_bool said;
} last;
static _Thread_local bool saying;   /* this thread says it */
static const double say_most_s = 5, abort_most_s = 10;

static void *last_words(void *arg)
{
    void (*tell)(enum hps_status) = on_quit;

    (void)arg;
    saying = true;
    put_line(last.line, last.n);
    if (take_voice()) {
        put_log(last.line, last.n);
        fflush(stdout);
        if (me.log)
            fflush(me.log);
        pthread_mutex_unlock(&voice);
    }
    if (tell && !last.follows)
        tell(last.status);
    last.said = true;
    return NULL;
}

/* A launcher that does not answer MPI_Abort sees the process go. */
static void *reap(void *arg)
{
    (void)arg;
    hps_sleep_s(abort_most_s);
    _exit((int)last.status);
    return NULL;
}

/* The one way out in disorder. A second thread that comes here waits for the first to end the
 * process, which does not wait for the one that says why, where that fails too; the same thread
 * again (an exit handler that fails) leaves at once. */
static _Noreturn void leave(enum hps_status status, bool follows, const char *line, size_t n)
{
    static atomic_flag leaving = ATOMIC_FLAG_INIT;
    static _Thread_local bool again;
    pthread_t thread;

    if (again)
        _exit((int)status);
    again = true;
    if (atomic_flag_test_and_set(&leaving)) {
        if (saying)
            last.said = true;
        else
            put_line(line, n);
        for (;;)
            pause();
    }
    memcpy(last.line, line, n);
    last.n = n;
    last.status = status;
    last.follows = follows;
    if (hps_thread_start(&thread, last_words, NULL) != 0)
        last_words(NULL);
    for (double began = hps_steady_s(); !last.said && hps_steady_s() - began < say_most_s;)
        hps_sleep_s(0.002);
    if (follows)
        raise(SIGKILL);
    hps_thread_start(&thread, reap, NULL);
    if (me.parallel && MPI_Abort(MPI_COMM_WORLD, (int)status) != MPI_SUCCESS)
        put_line("MPI_Abort failed\n", 17);
    _exit((int)status);
}

void hps_die(const char *file, int line, const char *format, ...)
{
    char text[LINE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hps_quit(HPS_FAIL, "%s (%s:%d) on %s", text, file, line, hps_host());
}

void hps_quit(enum hps_status status, const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    size_t n = line_of(line, HPS_ERROR, format, args);
    va_end(args);
    leave(status, false, line, n);
}

void hps_follow(const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    size_t n = line_of(line, HPS_ERROR, format, args);
    va_end(args);
    leave(HPS_FAIL, true, line, n);
}

/* Where a peer was killed its launcher ends us too, with the code of that death, which is not ours
 * to hide: it is given the time. */
void hps_die_late(const char *file, int line, const char *format, ...)
{
    const double most_s = 2, nap_s = 0.05;
    char text[LINE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hps_say(HPS_ERROR, true, "%s (%s:%d) on %s", text, file, line, hps_host());
    for (double began = hps_steady_s(); me.nrank > 1 && hps_steady_s() - began < most_s;)
        hps_sleep_s(nap_s);
    leave(HPS_FAIL, false, "", 0);
}

void hps_mpi_check(int rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (rc == MPI_SUCCESS)
        return;
    if (!me.parallel || MPI_Error_string(rc, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", rc);
    hps_die_late(file, line, "%s: %s", call, text);
}

enum hps_status hps_agree(MPI_Comm comm, enum hps_status mine)
{
    int code = (int)mine, worst;

    if (comm == MPI_COMM_NULL)
        return mine;
    HPS_MPI(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm));
    return (enum hps_status)worst;
}
