/* lock.c - a file lock, a record of its holder in the file, and a heartbeat on the file. */
#include "life/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/thread.h"
#include "base/world.h"

/* The interval of heartbeats, and how long another run watches for one: a parallel file system may
 * not answer for several intervals. */
static const double beat_s = 2, look_s = 12;

struct hps_lock {
    char *folder, *path;
    char *record;                       /* of this process */
    int fd;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t end;
    bool over;
};

/* The holder by its record; "": unknown. */
struct holder {
    char host[256], text[512];
};

/* ---- the record ---- */

static void read_holder(int fd, struct holder *h)
{
    char text[512] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);

    *h = (struct holder){ "", "" };
    if (n <= 0) return;
    text[n] = 0;
    char *line = strchr(text, '\n');
    if (!line) return;
    *line++ = 0;
    line[strcspn(line, "\n")] = 0;
    snprintf(h->host, sizeof h->host, "%.*s", (int)sizeof h->host - 1, text);
    snprintf(h->text, sizeof h->text, "%.*s", (int)sizeof h->text - 1, line);
}

/* The host in the first line, a description for people in the second. */
static bool write_holder(struct hps_lock *l)
{
    const char *job = getenv("SLURM_JOB_ID");
    char since[32];
    time_t now = time(NULL);
    struct tm local;

    strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
    l->record = hps_mem_print("%s\n%s%s%shost %s, process %ld, since %s\n",
                              hps_host(), job ? "job " : "", job ? job : "", job ? ", " : "",
                              hps_host(), (long)getpid(), since);
    size_t n = strlen(l->record);
    return ftruncate(l->fd, 0) == 0 && pwrite(l->fd, l->record, n, 0) == (ssize_t)n;
}

/* ---- taking it ---- */

static enum hps_status refuse(const char *folder, const struct holder *h)
{
    HPS_SAY(HPS_ERROR, "the run directory %s is in use by another run%s%s", folder,
            *h->text ? ": " : "", h->text);
    return HPS_OUTPUT;
}

/* Does the path name another file than the open one, or none? False where the file system does not
 * answer. */
static bool is_renamed(const char *path, int fd)
{
    struct stat named, mine;

    if (stat(path, &named) != 0) return errno == ENOENT;
    if (fstat(fd, &mine) != 0) return errno == ESTALE;
    return named.st_ino != mine.st_ino || named.st_dev != mine.st_dev;
}

/* Does another process have it now, or is it gone? */
static bool is_lost(const struct hps_lock *l)
{
    char text[512];
    size_t n = strlen(l->record);

    if (is_renamed(l->path, l->fd)) return true;
    ssize_t have = pread(l->fd, text, sizeof text, 0);
    return have >= 0 && (have != (ssize_t)n || memcmp(text, l->record, n) != 0);
}

/* The time of the last heartbeat, by a new open of the file. */
static struct timespec touched(const char *path)
{
    struct stat s = { 0 };
    int fd = hps_file_open(path, O_RDONLY);

    if (fd < 0) return s.st_mtim;
    fstat(fd, &s);
    close(fd);
    return s.st_mtim;
}

/* Watch for a heartbeat. */
static bool is_alive(const char *path)
{
    struct timespec before = touched(path);

    for (double s = 0; s < look_s; s += 0.25) {
        hps_sleep_s(0.25);
        struct timespec now = touched(path);
        if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) return true;
    }
    return false;
}

/* Check that no other process holds it; *again: the file was replaced and must be opened anew. The
 * system's lock decides on one host, unless the file system has none. */
static enum hps_status claim(const struct hps_lock *l, bool *again)
{
    struct holder h;
    bool free = flock(l->fd, LOCK_EX | LOCK_NB) == 0, held = !free && errno == EWOULDBLOCK;

    *again = is_renamed(l->path, l->fd);
    if (*again) return HPS_OK;
    read_holder(l->fd, &h);
    if (!*h.host || (strcmp(h.host, hps_host()) == 0 && (free || held)))
        return held ? refuse(l->folder, &h) : HPS_OK;
    HPS_SAY(HPS_INFO, "the run directory %s was left by a run (%s): looking whether it lives",
            l->folder, h.text);
    if (is_alive(l->path)) return refuse(l->folder, &h);
    if (held) {
        unlink(l->path);
        *again = true;
    }
    return HPS_OK;
}

static enum hps_status unwritable(const char *folder)
{
    HPS_SAY(HPS_ERROR, "cannot write into the run directory: %s/.lock: %s", folder,
            hps_file_why(errno));
    return HPS_OUTPUT;
}

/* ---- the heartbeat ---- */

static _Noreturn void lost(const struct hps_lock *l)
{
    if (access(l->path, F_OK) != 0)
        hps_quit(HPS_OUTPUT, "the run directory %s was removed, or the file .lock in it",
                 l->folder);
    hps_quit(HPS_OUTPUT, "the run directory %s was taken over by another run: this one was taken "
                         "for dead", l->folder);
}

static void *refresh(void *arg)
{
    struct hps_lock *l = arg;

    pthread_mutex_lock(&l->mutex);
    while (!l->over) {
        hps_cond_wait(&l->end, &l->mutex, hps_steady_s() + beat_s);
        if (l->over) break;
        if (is_lost(l)) lost(l);
        futimens(l->fd, NULL);
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static void start(struct hps_lock *l)
{
    pthread_mutex_init(&l->mutex, NULL);
    hps_cond_init(&l->end);
    int rc = hps_thread_start(&l->thread, refresh, l);
    if (rc) HPS_DIE("pthread_create: %s", strerror(rc));
}

static void drop(struct hps_lock *l)
{
    if (l->fd >= 0) close(l->fd);
    hps_mem_free(l->folder);
    hps_mem_free(l->path);
    hps_mem_free(l->record);
    hps_mem_free(l);
}

enum hps_status hps_lock_take(struct hps_lock **out, const char *folder)
{
    struct hps_lock *l = hps_mem_new(1, sizeof *l);
    enum hps_status st = HPS_OK;
    bool again = true;

    l->fd = -1;
    l->folder = hps_mem_text(folder);
    l->path = hps_mem_print("%s/.lock", folder);
    while (!st && again) {
        if (l->fd >= 0) close(l->fd);
        l->fd = hps_file_open(l->path, O_RDWR | O_CREAT);
        st = l->fd < 0 ? unwritable(folder) : claim(l, &again);
    }
    if (!st && !write_holder(l)) st = unwritable(folder);
    *out = st ? NULL : l;
    if (st)
        drop(l);
    else
        start(l);
    return st;
}

void hps_lock_free(struct hps_lock *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->mutex);
    l->over = true;
    pthread_cond_signal(&l->end);
    pthread_mutex_unlock(&l->mutex);
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->mutex);
    pthread_cond_destroy(&l->end);
    if (!is_lost(l) && ftruncate(l->fd, 0) != 0)
        HPS_SAY(HPS_DEBUG, "%s: %s", l->path, strerror(errno));
    drop(l);
}
