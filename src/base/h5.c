/* h5.c - HDF5 files: opened, created, closed; and the words for what goes wrong with them. */
#include "base/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outputs.h"

/* Where the system said why, only that: the rest is about file descriptors and buffers. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *text)
{
    const char mark[] = "error message = '", *why = error->desc ? error->desc : "";
    const char *system = strstr(why, mark);

    if (n == 0 && system)
        snprintf(text, 512, "%.*s", (int)strcspn(system + strlen(mark), "'"),
                 system + strlen(mark));
    else if (n == 0)
        snprintf(text, 512, "%.*s", (int)strcspn(why, "\n"), why);
    return 0;
}

const char *hps_h5_why(void)
{
    static char text[512];

    snprintf(text, sizeof text, "unknown reason");
    if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, text) < 0)
        snprintf(text, sizeof text, "unknown reason");
    return text;
}

long long hps_h5_check(long long rc, const char *call, const char *file, int line)
{
    if (rc < 0)
        hps_die(file, line, "%s: %s", call, hps_h5_why());
    return rc;
}

/* The lowest rank in trouble; the number of ranks where there is none. */
static int first_in_trouble(const struct hps_h5 *h, enum hps_status mine, int *rank)
{
    int n, me, first;

    HPS_MPI(MPI_Comm_size(h->comm, &n));
    HPS_MPI(MPI_Comm_rank(h->comm, rank));
    me = mine ? *rank : n;
    HPS_MPI(MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, h->comm));
    return first;
}

enum hps_status hps_h5_verdict(const struct hps_h5 *h, enum hps_status mine, const char *format,
                               ...)
{
    char text[1024];
    va_list args;
    int rank = 0;
    bool speak = mine != HPS_OK;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (h->comm != MPI_COMM_NULL)
        speak = first_in_trouble(h, mine, &rank) == rank && mine;
    if (speak && *text)
        HPS_SAY_ALL(HPS_ERROR, "%s: %s", h->path, text);
    return hps_agree(h->comm, mine);
}

/* Before the first call: at the end of the program the library would visit a file that it could not
 * close, and crash. It says nothing itself. It locks no files, which on parallel file systems often
 * fails: a file is named when it is whole, and nobody changes it then; who will have it otherwise
 * says so in the environment. */
static void prepare(void)
{
    static bool done;

    if (!done) setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    if (!done && H5dont_atexit() < 0)
        HPS_SAY(HPS_DEBUG, "HDF5 was used before, it ends in its own way");
    done = true;
    HPS_H5(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
}

/* Closing a file closes what was left open in it. */
static hid_t access_list(MPI_Comm comm)
{
    hid_t list;

    prepare();
    list = HPS_H5(H5Pcreate(H5P_FILE_ACCESS));
    HPS_H5(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG));
    /* attributes of more than 64 KiB need the format of 1.8, which every library in use reads */
    HPS_H5(H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_LATEST));
    if (comm != MPI_COMM_NULL)
        HPS_H5(H5Pset_fapl_mpio(list, comm, MPI_INFO_NULL));
    return list;
}

/* What the system thinks of the path, in its own words: HDF5's are long. */
static enum hps_status ask_system(const char *path, int flags, enum hps_status status)
{
    struct stat facts;
    int fd = open(path, flags | O_CLOEXEC, 0666);
    const char *why = NULL;

    if (fd < 0 || fstat(fd, &facts) != 0)
        why = strerror(errno);
    else if (!S_ISREG(facts.st_mode))
        why = "not a regular file";
    if (why)
        HPS_SAY_ALL(HPS_ERROR, "%s: %s", path, why);
    status = why ? status : flags == O_RDONLY ? hps_outputs_read(fd, path, true) : HPS_OK;
    if (fd >= 0)
        close(fd);
    return status;
}

static enum hps_status open_as(struct hps_h5 *h, const char *path, bool change)
{
    hid_t list;
    enum hps_status s = change ? ask_system(path, O_RDWR, HPS_OUTPUT)
                               : ask_system(path, O_RDONLY, HPS_INPUT);

    *h = (struct hps_h5){ -1, path, MPI_COMM_NULL };
    if (s)
        return s;
    list = access_list(MPI_COMM_NULL);
    h->file = H5Fopen(path, change ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
    if (h->file < 0)
        s = hps_h5_verdict(h, HPS_DECK, "not a whole HDF5 file: %s", hps_h5_why());
    HPS_H5(H5Pclose(list));
    return s;
}

enum hps_status hps_h5_open(struct hps_h5 *h, const char *path)
{
    return open_as(h, path, false);
}

enum hps_status hps_h5_change(struct hps_h5 *h, const char *path)
{
    return open_as(h, path, true);
}

enum hps_status hps_h5_create(struct hps_h5 *h, const char *path, MPI_Comm comm)
{
    int rank = 0;
    hid_t list;
    enum hps_status s = HPS_OK;

    *h = (struct hps_h5){ -1, path, comm };
    if (comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0)
        s = ask_system(path, O_WRONLY | O_CREAT, HPS_OUTPUT);
    s = hps_agree(comm, s);
    if (s)
        return s;
    list = access_list(comm);
    h->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list);
    s = hps_h5_verdict(h, h->file < 0 ? HPS_OUTPUT : HPS_OK, "cannot be created: %s",
                       h->file < 0 ? hps_h5_why() : "");
    if (s && rank == 0)
        unlink(path);
    HPS_H5(H5Pclose(list));
    return s;
}

/* A parallel file is synced by HDF5's own flush, a serial one is not. */
static bool sync_serial(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;

    return (fd < 0 || close(fd) == 0) && good;
}

/* MPI_Finalize makes the library visit a file that it could not close, and it crashes. So what
 * could not be written goes nowhere: to memory in place of a serial file, and to the space that an
 * empty file gives back in a parallel one. Collective over h->comm. */
static void give_up(struct hps_h5 *h)
{
    int *fd = NULL, nowhere, rank;

    if (h->comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_rank(h->comm, &rank));
        HPS_MPI(MPI_Barrier(h->comm));
        if (rank == 0 && truncate(h->path, 0) != 0)
            HPS_SAY(HPS_WARN, "%s: %s", h->path, strerror(errno));
        HPS_MPI(MPI_Barrier(h->comm));
        return;
    }
    nowhere = memfd_create("heterps", MFD_CLOEXEC);
    if (nowhere >= 0 && H5Fget_vfd_handle(h->file, H5P_DEFAULT, (void **)&fd) >= 0)
        dup2(nowhere, *fd);
    if (nowhere >= 0)
        close(nowhere);
}

void hps_h5_drop(struct hps_h5 *h)
{
    if (h->file < 0)
        return;
    give_up(h);
    if (H5Fclose(h->file) < 0)
        HPS_SAY(HPS_DEBUG, "%s: %s", h->path, hps_h5_why());
    h->file = -1;
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
    if (rank != 0)
        return NULL;
    fd = open(h->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
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
    if (s)
        give_up(h);
    return s;
}

enum hps_status hps_h5_close(struct hps_h5 *h)
{
    const char *why = NULL;
    enum hps_status s = HPS_OK;
    unsigned intent;

    if (h->file < 0)
        return HPS_OK;
    HPS_H5(H5Fget_intent(h->file, &intent));
    if (intent & H5F_ACC_RDWR)
        s = flush(h);
    if (H5Fclose(h->file) < 0)
        why = hps_h5_why();
    else if ((intent & H5F_ACC_RDWR) && h->comm == MPI_COMM_NULL && !s && !sync_serial(h->path))
        why = strerror(errno);
    h->file = -1;
    if (s)
        return s;
    return hps_h5_verdict(h, why ? HPS_OUTPUT : HPS_OK, "cannot be written: %s", why ? why : "");
}

enum hps_status hps_h5_leave(struct hps_h5 *h)
{
    bool good;

    if (h->file < 0)
        return HPS_OK;
    good = H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0;
    if (!good) {
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot be written: %s", h->path, hps_h5_why());
        give_up(h);
    }
    if (H5Fclose(h->file) < 0 && good)
        good = hps_h5_verdict(h, HPS_OUTPUT, "cannot be written: %s", hps_h5_why()) == HPS_OK;
    h->file = -1;
    return good ? HPS_OK : HPS_OUTPUT;
}
