/* h5_close.c - HDF5 files: flushed and closed, or given up. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/h5/h5_impl.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"

/* What is still to be written goes to memory instead, on every rank: it needs no room on a disk
 * that may be full, and the library can close the file. */
static void give_up(const struct hps_h5 *h)
{
    int nowhere = memfd_create("heterps", MFD_CLOEXEC);
    struct stat facts;

    if (nowhere < 0 || stat(h->path, &facts) != 0 || !hps_fd_divert(&facts, nowhere))
        HPS_SAY(HPS_DEBUG, "%s cannot be given up: %s", h->path, strerror(errno));
    if (nowhere >= 0) close(nowhere);
}

/* Close it; NULL, or why it cannot be. With MPI the library visits a file that it could not close
 * once more at the end, and crashes: so this is the end. */
static const char *shut(struct hps_h5 *h, enum hps_status status)
{
    const char *why = H5Fclose(h->file) < 0 ? hps_h5_why() : NULL;
    int parallel = 0;

    h->file = -1;
    if (why) HPS_MPI(MPI_Initialized(&parallel));
    if (parallel && status == HPS_OUTPUT) unlink(h->path); /* a half, and nobody comes back to it */
    if (parallel)
        hps_quit(status, "%s: cannot be %s: %s", h->path,
                 status == HPS_OUTPUT ? "written" : "closed", why);
    return why;
}

void hps_h5_drop(struct hps_h5 *h)
{
    const char *why;

    if (h->file < 0) return;
    give_up(h);
    why = shut(h, HPS_OUTPUT);
    if (why) HPS_SAY(HPS_DEBUG, "%s: %s", h->path, why);
}

/* One rank writes what describes the data, and where it fails it does not come to the meeting with
 * which a flush ends: the others would wait for ever. Collective writes may fail without a word. So
 * there is room for all, and a little more, before a flush begins. NULL: there is, or the file
 * system does not tell. */
static const char *reserve(const struct hps_h5 *h)
{
    enum { MORE = 64 << 10 };
    const char *why = NULL;
    struct stat facts;
    int rank, fd;

    HPS_MPI(MPI_Comm_rank(h->comm, &rank));
    if (rank != 0) return NULL;
    fd = open(h->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (fstat(fd, &facts) == 0 &&
        fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, facts.st_size + MORE) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        why = strerror(errno);
    close(fd);
    return why;
}

static enum hps_status flush(struct hps_h5 *h)
{
    const char *why = h->comm == MPI_COMM_NULL ? NULL : reserve(h);
    enum hps_status s = hps_h5_verdict(h, why ? HPS_OUTPUT : HPS_OK, "cannot be written: %s",
                                       why ? why : "");
    bool good = s || H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0;

    if (!s)
        s = hps_h5_verdict(h, good ? HPS_OK : HPS_OUTPUT, "cannot be written: %s",
                           good ? "" : hps_h5_why());
    if (s) give_up(h);
    return s;
}

enum hps_status hps_h5_close(struct hps_h5 *h)
{
    const char *why;
    enum hps_status s = HPS_OK;
    unsigned intent;
    bool change;

    if (h->file < 0) return HPS_OK;
    HPS_H5(H5Fget_intent(h->file, &intent));
    change = intent & H5F_ACC_RDWR;
    if (change) s = flush(h);
    if (change && !s)                                   /* what was not found may be there */
        s = hps_agree(h->comm, h->failed ? HPS_INPUT : HPS_OK);
    why = shut(h, change ? HPS_OUTPUT : HPS_INPUT);
    if (!why && change && h->comm == MPI_COMM_NULL && !s && !hps_file_sync(h->path))
        why = strerror(errno);
    if (s) return s;
    if (why && !change)                                 /* what was read was read */
        HPS_SAY_ALL(HPS_WARN, "%s: cannot be closed: %s", h->path, why);
    return hps_h5_verdict(h, why && change ? HPS_OUTPUT : HPS_OK, "cannot be written: %s",
                          why ? why : "");
}

enum hps_status hps_h5_read(struct hps_h5 *h, enum hps_status s)
{
    enum hps_status closed = hps_h5_close(h);

    if (!s && h->failed) return HPS_INPUT;
    return s ? s : closed;
}

enum hps_status hps_h5_leave(struct hps_h5 *h)
{
    bool flushed;
    const char *why;

    if (h->file < 0) return HPS_OK;
    flushed = H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0;
    if (!flushed) {
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot be written: %s", h->path, hps_h5_why());
        give_up(h);
    }
    why = shut(h, HPS_OUTPUT);
    if (why && flushed) return hps_h5_verdict(h, HPS_OUTPUT, "cannot be written: %s", why);
    return flushed ? HPS_OK : HPS_OUTPUT;
}
