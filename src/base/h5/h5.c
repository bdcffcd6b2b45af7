/* h5.c - HDF5 files: opened, created; and the words for what goes wrong with them. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/direct_file.h"
#include "base/file.h"
#include "base/h5/h5_impl.h"
#include "base/mpi_check.h"
#include "base/outputs.h"
#include "base/quit.h"
#include "base/say.h"

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
    if (rc < 0) hps_die(file, line, "%s: %s", call, hps_h5_why());
    return rc;
}

/* The lowest rank that failed; the number of ranks where there is none. */
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
    if (h->comm != MPI_COMM_NULL) speak = first_in_trouble(h, mine, &rank) == rank && mine;
    if (speak && *text) HPS_SAY_ALL(HPS_ERROR, "%s: %s", h->path, text);
    return hps_agree(h->comm, mine);
}

/* Before the first call: at the end of the program the library would visit a file that it could not
 * close, and crash. It says nothing itself. It locks no files, which on parallel file systems often
 * fails: a file is named when it is whole, and nobody changes it then; who will have it otherwise
 * says so in the environment. It knows no external links, and loads no code that a file asks for:
 * hps_h5_survey refuses both, with better words. */
void hps_h5_prepare(void)
{
    static bool done;

    if (done) return;
    done = true;
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    if (H5dont_atexit() < 0) HPS_SAY(HPS_DEBUG, "HDF5 was used before, it ends in its own way");
    HPS_H5(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
    HPS_H5(H5Lunregister(H5L_TYPE_EXTERNAL));
    HPS_H5(H5PLset_loading_state(0));
}

/* Closing a file closes what was left open in it. */
hid_t hps_h5_access(MPI_Comm comm)
{
    hid_t list;

    hps_h5_prepare();
    list = HPS_H5(H5Pcreate(H5P_FILE_ACCESS));
    HPS_H5(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG));
    /* attributes of more than 64 KiB need the format of 1.8, which every library in use reads */
    HPS_H5(H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_LATEST));
    if (comm != MPI_COMM_NULL) HPS_H5(H5Pset_fapl_mpio(list, comm, MPI_INFO_NULL));
    return list;
}

/* What the system thinks of the path, in its own words: HDF5's are long. */
static enum hps_status ask_system(const char *path, int flags, enum hps_status status)
{
    struct stat facts;
    int fd = flags & O_CREAT ? hps_file_new(path, 0)     /* nobody may answer a FIFO */
                             : open(path, flags | O_NONBLOCK | O_CLOEXEC);
    const char *why = NULL;

    if (fd < 0 || fstat(fd, &facts) != 0)
        why = hps_file_why(errno);
    else if (!S_ISREG(facts.st_mode))
        why = "not a regular file";
    if (why) HPS_SAY_ALL(HPS_ERROR, "%s: %s", path, why);
    if (why && fd >= 0 && flags & O_CREAT) unlink(path);
    status = why ? status : flags == O_RDONLY ? hps_outputs_read(fd, path, true) : HPS_OK;
    if (fd >= 0) close(fd);
    return status;
}

static enum hps_status open_as(struct hps_h5 *h, const char *path, unsigned access)
{
    hid_t list = hps_h5_access(MPI_COMM_NULL);
    enum hps_status s = HPS_OK;

    h->file = H5Fopen(path, access, list);
    if (h->file < 0) s = hps_h5_verdict(h, HPS_DECK, "not a whole HDF5 file: %s", hps_h5_why());
    HPS_H5(H5Pclose(list));
    return s;
}

/* The library begins here while the walker looks. */
enum hps_status hps_h5_open(struct hps_h5 *h, const char *path)
{
    enum hps_status s = ask_system(path, O_RDONLY, HPS_INPUT);
    char why[HPS_H5_WHY];
    bool walked, good;

    *h = (struct hps_h5){ .file = -1, .path = path, .comm = MPI_COMM_NULL };
    if (s) return s;
    hps_h5_walk_request(path);
    hps_h5_prepare();
    good = hps_h5_walk_response(&walked, why);
    if (good) s = open_as(h, path, H5F_ACC_RDONLY);
    if (!s && good && !walked) good = hps_h5_survey(h->file, why);
    if (good) return s;
    hps_h5_close(h);
    return hps_h5_verdict(h, HPS_DECK, "%s", why);
}

enum hps_status hps_h5_change(struct hps_h5 *h, const char *path)
{
    enum hps_status s = ask_system(path, O_RDWR, HPS_OUTPUT);

    *h = (struct hps_h5){ .file = -1, .path = path, .comm = MPI_COMM_NULL };
    return s ? s : open_as(h, path, H5F_ACC_RDWR);
}

enum hps_status hps_h5_create(struct hps_h5 *h, const char *path, MPI_Comm comm)
{
    int rank = 0;
    hid_t list;
    enum hps_status s = HPS_OK;

    *h = (struct hps_h5){ .file = -1, .path = path, .comm = comm };
    if (comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0) s = ask_system(path, O_WRONLY | O_CREAT, HPS_OUTPUT);
    s = hps_agree(comm, s);
    if (s) return s;
    list = hps_h5_access(comm);
    HPS_H5(H5Pset_alignment(list, HPS_DIRECT_MIN_BYTES, HPS_DIRECT_PAGE));
    h->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list);
    s = hps_h5_verdict(h, h->file < 0 ? HPS_OUTPUT : HPS_OK, "cannot be created: %s",
                       h->file < 0 ? hps_h5_why() : "");
    if (s && rank == 0) unlink(path);
    HPS_H5(H5Pclose(list));
    return s;
}
