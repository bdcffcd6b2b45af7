/* say.c - the only voice: what it has to share is one mutex, one log, one standard output. */
#include "base/say_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/world.h"

static struct {
    int out_errno;      /* the first error of standard output; 0: none */
    bool out_reported;
    FILE *log;
} me;

static atomic_int min_level = HPS_INFO;
static pthread_mutex_t voice = PTHREAD_MUTEX_INITIALIZER;

/* Standard error gets a line in one write, so that lines of several ranks do not mix. */
void hps_say_write(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return; /* nobody is left to read it */
        line += done;
        n -= (size_t)done;
    }
}

/* The thread that says why the run ends may not wait for ever behind a thread that is stuck in a
 * write to a full pipe: after a while the log misses a line. */
static bool take_voice(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    return pthread_mutex_timedlock(&voice, &until) == 0;
}

/* A log that cannot be written is given up with one message; the run goes on. The caller holds the
 * mutex. */
static void give_up_log(void)
{
    char line[HPS_SAY_LINE];
    int n = snprintf(line, sizeof line, "[%d %.3f] warning: the log ends here: %s\n", hps_rank(),
                     hps_now_s(), strerror(errno));

    fclose(me.log);
    me.log = NULL;
    hps_say_write(line, (size_t)n);
}

static void put_log(const char *text, size_t n)
{
    if (me.log && fwrite(text, 1, n, me.log) != n) give_up_log();
}

/* Text that comes from a file or a user is only shown: it moves no cursor, begins no line. */
size_t hps_say_line(char *line, enum hps_level level, const char *format, va_list args)
{
    static const char *const mark[] = { "debug: ", "", "warning: ", "error: " };
    char text[HPS_SAY_LINE];
    int head = snprintf(line, HPS_SAY_LINE, "[%d %.3f] %s", hps_rank(), hps_now_s(), mark[level]);
    int all = vsnprintf(text, sizeof text, format, args);
    size_t n = (size_t)head, have = strlen(all > 0 ? text : "");

    if (hps_escape(line, &n, HPS_SAY_LINE - 4, text, have, false) < (size_t)(all > 0 ? all : 0)) {
        memcpy(line + n, "...", 3);
        n += 3;
    }
    line[n++] = '\n';
    return n;
}

static void say(enum hps_level level, bool aloud, const char *format, va_list args)
{
    char line[HPS_SAY_LINE];
    size_t n = hps_say_line(line, level, format, args);

    if (aloud) hps_say_write(line, n);
    if (take_voice()) {
        put_log(line, n);
        pthread_mutex_unlock(&voice);
    }
}

void hps_say_last(const char *line, size_t n)
{
    hps_say_write(line, n);
    if (!take_voice()) return;
    put_log(line, n);
    fflush(stdout);
    if (me.log) fflush(me.log);
    pthread_mutex_unlock(&voice);
}

enum hps_level hps_say_min(enum hps_level level)
{
    return (enum hps_level)atomic_exchange(&min_level, (int)level);
}

void hps_say(enum hps_level level, bool all, const char *format, ...)
{
    va_list args;

    if ((int)level < atomic_load(&min_level) || (hps_rank() != 0 && !all && !me.log)) return;
    va_start(args, format);
    say(level, hps_rank() == 0 || all, format, args);
    va_end(args);
}

static FILE *open_log(const char *path)
{
    int fd = hps_file_open(path, O_WRONLY | O_APPEND | O_CREAT);
    FILE *log = fd < 0 ? NULL : fdopen(fd, "a");

    if (fd >= 0 && !log) close(fd);
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
    if (me.log) whole = fclose(me.log) == 0;
    me.log = log;
    pthread_mutex_unlock(&voice);
    if (!whole) HPS_SAY(HPS_WARN, "the log before is not whole: %s", strerror(errno));
    return HPS_OK;
}

/* The caller holds the mutex. */
static void put_out(const char *text, size_t n)
{
    char shown[4096];

    for (size_t done; n > 0;) {
        done = 0;
        size_t taken = hps_escape(shown, &done, sizeof shown, text, n, true);
        if (fwrite(shown, 1, done, stdout) != done && !me.out_errno) me.out_errno = errno;
        put_log(shown, done);
        text += taken;
        n -= taken;
    }
}

void hps_out(const char *format, ...)
{
    va_list args, again;
    char brief[1024], *text = brief;

    if (hps_rank() != 0) return;
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
    if (text != brief) hps_mem_free(text);
}

enum hps_status hps_out_flush(void)
{
    bool report;

    if (hps_rank() != 0) return HPS_OK;
    pthread_mutex_lock(&voice);
    if (fflush(stdout) != 0 && !me.out_errno) me.out_errno = errno;
    report = me.out_errno && !me.out_reported;
    me.out_reported |= report;
    pthread_mutex_unlock(&voice);
    if (report) HPS_SAY(HPS_ERROR, "standard output cannot be written: %s", strerror(me.out_errno));
    return me.out_errno ? HPS_OUTPUT : HPS_OK;
}
