/* h5.c - HDF5 files: opened, created, closed; and the words for what goes wrong with them. */
#include "base/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static herr_t innermost(unsigned n, const H5E_error2_t *error, void *text)
{
    if (n == 0)
        snprintf(text, 512, "%s", error->desc ? error->desc : "");
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

/* Closing a file closes what was left open in it; the library itself says nothing. */
static hid_t access_list(MPI_Comm comm)
{
    hid_t list;

    HPS_H5(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
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
    if (fd >= 0)
        close(fd);
    return why ? status : HPS_OK;
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

enum hps_status hps_h5_close(struct hps_h5 *h)
{
    char why[512] = "";
    unsigned intent;
    bool good = true, wrote;

    if (h->file < 0)
        return HPS_OK;
    HPS_H5(H5Fget_intent(h->file, &intent));
    wrote = intent & H5F_ACC_RDWR;
    if (wrote && H5Fflush(h->file, H5F_SCOPE_GLOBAL) < 0) {
        good = false;
        snprintf(why, sizeof why, "%s", hps_h5_why());
    }
    if (H5Fclose(h->file) < 0 && good) {
        good = false;
        snprintf(why, sizeof why, "%s", hps_h5_why());
    }
    h->file = -1;
    if (good && wrote && h->comm == MPI_COMM_NULL && !sync_serial(h->path)) {
        good = false;
        snprintf(why, sizeof why, "%s", strerror(errno));
    }
    return hps_h5_verdict(h, good ? HPS_OK : HPS_OUTPUT, "cannot be written: %s", why);
}
