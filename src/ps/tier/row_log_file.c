/* row_log_file.c - the scratch file of a row log: how it is opened, and the thread that writes it
 * and reads segments that are cleaned. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/thread.h"
#include "ps/tier/row_log_impl.h"

/* -- opening ----------------------------------------------------------------------------------- */

/* From here on without the page cache, if a page can be written and read like that. */
static bool go_direct(struct hps_log_file *f)
{
    int flags = fcntl(f->fd, F_GETFL);
    unsigned char *page = hps_mem_pages(f->page.bytes);
    bool good = flags >= 0 && fcntl(f->fd, F_SETFL, flags | O_DIRECT) == 0;

    good = good && pwrite(f->fd, page, f->page.bytes, 0) == (ssize_t)f->page.bytes &&
           pread(f->fd, page, f->page.bytes, 0) == (ssize_t)f->page.bytes;
    hps_mem_free(page);
    return good;
}

/* Else the page cache keeps nothing for later: rows are read from anywhere, and once. */
static enum hps_status go_cached(struct hps_log_file *f)
{
    int flags = fcntl(f->fd, F_GETFL);

    if (flags < 0 || fcntl(f->fd, F_SETFL, flags & ~O_DIRECT) != 0)
        return hps_log_file_failed(f, "open", 0, 0, errno);
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);      /* a hint */
    HPS_SAY(HPS_INFO, "%s: %s has no direct I/O: the row log goes through the page cache", f->what,
            f->directory);
    return HPS_OK;
}

/* The errno of a reservation; a signal ends none. */
static int allocate(int fd, uint64_t bytes)
{
    while (fallocate(fd, 0, 0, (off_t)bytes) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

/* Is there room for all of it? What is reserved now is not missing later; where nothing can be
 * reserved, or what is reserved is memory, the free space is looked at alone. */
static enum hps_status reserve(const struct hps_log_file *f, uint64_t bytes)
{
    struct statvfs facts;

    if (fstatvfs(f->fd, &facts) != 0) return hps_log_file_failed(f, "open", 0, 0, errno);
    uint64_t have = (uint64_t)facts.f_bavail * facts.f_frsize;
    int error = bytes > have ? ENOSPC : 0;
    if (!error && f->direct) error = allocate(f->fd, bytes);
    if (error == 0 || error == EOPNOTSUPP) return HPS_OK;
    if (error != ENOSPC) return hps_log_file_failed(f, "reserve", (size_t)bytes, 0, error);
    HPS_SAY_ALL(HPS_ERROR, "%s: the row log in %s needs %llu bytes, and %llu are free", f->what,
                f->directory, (unsigned long long)bytes, (unsigned long long)have);
    return HPS_OUTPUT;
}

/* -- the thread -------------------------------------------------------------------------------- */

/* What is written leaves the page cache soon. Hints. */
static void forget(const struct hps_log_file *f, const struct hps_log_job *job)
{
    if (f->direct) return;
    sync_file_range(f->fd, (off_t)job->at, (off_t)job->bytes, SYNC_FILE_RANGE_WRITE);
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static int read_pages(const struct hps_log_file *f, const struct hps_log_job *job)
{
    for (size_t done = 0; done < job->bytes;) {
        ssize_t n = pread(f->fd, job->pages + done, job->bytes - done, (off_t)(job->at + done));
        if (n == 0) return ENODATA;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

static int write_pages(const struct hps_log_file *f, const struct hps_log_job *job)
{
    for (size_t k = 0; k * f->page.bytes < job->bytes; k++)
        hps_log_page_seal(&f->page, job->pages + k * f->page.bytes, job->sequence + k);
    if (!hps_file_put(f->fd, job->pages, job->bytes, job->at)) return errno;
    forget(f, job);
    return 0;
}

static void *run(void *file)
{
    struct hps_log_file *f = file;

    pthread_mutex_lock(&f->mutex);
    for (;;) {
        while (!f->first && !f->closes)
            pthread_cond_wait(&f->work, &f->mutex);
        struct hps_log_job *job = f->first;
        if (!job) break;
        pthread_mutex_unlock(&f->mutex);
        int error = job->reads ? read_pages(f, job) : write_pages(f, job);
        pthread_mutex_lock(&f->mutex);
        f->first = job->next;
        if (!f->first) f->last = &f->first;
        job->error = error;
        job->ended = true;
        pthread_cond_signal(&f->ended);
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

void hps_log_file_begin(struct hps_log_file *f, struct hps_log_job *job)
{
    job->error = 0;
    job->ended = false;
    job->next = NULL;
    pthread_mutex_lock(&f->mutex);
    *f->last = job;
    f->last = &job->next;
    pthread_cond_signal(&f->work);
    pthread_mutex_unlock(&f->mutex);
}

bool hps_log_file_ended(struct hps_log_file *f, struct hps_log_job *job, bool wait)
{
    struct hps_log_patience patience = hps_log_patience();

    pthread_mutex_lock(&f->mutex);
    while (wait && !job->ended)
        if (!hps_cond_wait(&f->ended, &f->mutex, patience.until_s))
            hps_log_patience_out(&patience, f, job->reads ? "a read of" : "a write of");
    bool ended = job->ended;
    pthread_mutex_unlock(&f->mutex);
    return ended;
}

static enum hps_status start(struct hps_log_file *f)
{
    pthread_mutex_init(&f->mutex, NULL);
    hps_cond_init(&f->work);
    hps_cond_init(&f->ended);
    f->last = &f->first;
    int error = hps_thread_start(&f->thread, run, f);
    if (error == 0) return HPS_OK;
    HPS_SAY_ALL(HPS_ERROR, "%s: no thread for the row log in %s: %s", f->what, f->directory,
                strerror(error));
    return HPS_FAIL;
}

static void free_file(struct hps_log_file *f)
{
    if (f->fd >= 0) close(f->fd);           /* scratch: nothing is lost */
    hps_mem_free(f->what);
    hps_mem_free(f->directory);
    *f = (struct hps_log_file){ .fd = -1 };
}

enum hps_status hps_log_file_open(struct hps_log_file *f, const struct hps_row_log_opt *opt,
                                  const struct hps_log_page *page, uint64_t bytes)
{
    *f = (struct hps_log_file){ .fd = hps_file_scratch(opt->directory), .page = *page,
                                .what = hps_mem_text(opt->what),
                                .directory = hps_mem_text(opt->directory) };
    enum hps_status st = f->fd < 0 ? hps_log_file_failed(f, "open", 0, 0, errno) : HPS_OK;
    if (!st) f->direct = go_direct(f);
    if (!st && !f->direct) st = go_cached(f);
    if (!st) st = reserve(f, bytes);
    if (!st) st = start(f);
    if (st) free_file(f);
    return st;
}

void hps_log_file_close(struct hps_log_file *f)
{
    pthread_mutex_lock(&f->mutex);
    f->closes = true;
    pthread_cond_signal(&f->work);
    pthread_mutex_unlock(&f->mutex);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->work);
    pthread_cond_destroy(&f->ended);
    pthread_mutex_destroy(&f->mutex);
    free_file(f);
}
