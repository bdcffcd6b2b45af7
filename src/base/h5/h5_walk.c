/* h5_walk.c - the walker: what it does, and how this process talks to it. */
#include "base/h5_walk.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/h5/h5_impl.h"
#include "base/quit.h"
#include "base/say.h"

enum { LOOK_CPU_S = 10, LOOK_BYTES = 1 << 30 };    /* that one file may take          */
enum { GOOD, REFUSED = 101 };   /* exit codes of one who looks; nobody else ends with these */
enum { NKEY = 64 };                                /* files that are remembered       */

struct answer {
    int error;                  /* errno where no child could be made; 0: it was looked through */
    bool good;
    char why[HPS_H5_WHY];
};

/* ---- in the walker ---- */

/* The child goes with its parent. */
static void follow(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) hps_leave(HPS_FAIL);
}

static void limit(int resource, rlim_t most)
{
    struct rlimit r;

    if (getrlimit(resource, &r) != 0 || (r.rlim_cur != RLIM_INFINITY && r.rlim_cur <= most)) return;
    r.rlim_cur = most;
    setrlimit(resource, &r);
}

/* A crash leaves no core, and neither time nor memory is endless. */
static void limit_all(void)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU };
    unsigned long long pages;
    FILE *size = fopen("/proc/self/statm", "r");

    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, LOOK_CPU_S);
    if (size && fscanf(size, "%llu", &pages) == 1)
        limit(RLIMIT_AS, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + LOOK_BYTES);
    if (size) fclose(size);
}

static _Noreturn void look(const char *path, char why[HPS_H5_WHY])
{
    hid_t list = hps_h5_access(MPI_COMM_NULL), file = H5Fopen(path, H5F_ACC_RDONLY, list);
    bool good = file >= 0;

    if (good)
        good = hps_h5_survey(file, why);
    else
        snprintf(why, HPS_H5_WHY, "not a whole HDF5 file: %s", hps_h5_why());
    if (file >= 0 && H5Fclose(file) < 0)    /* a heap that was written over is seen here */
        HPS_SAY(HPS_DEBUG, "%s: %s", path, hps_h5_why());
    hps_leave(good ? GOOD : REFUSED);
}

static void judge(int how, struct answer *a)
{
    a->good = WIFEXITED(how) && WEXITSTATUS(how) == GOOD;
    if (a->good || (WIFEXITED(how) && WEXITSTATUS(how) == REFUSED)) return;
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU)
        snprintf(a->why, sizeof a->why, "damaged: the HDF5 library does not come to an end on it");
    else if (WIFSIGNALED(how))
        snprintf(a->why, sizeof a->why, "damaged: the HDF5 library crashes on it (%s)",
                 strsignal(WTERMSIG(how)));
    else
        snprintf(a->why, sizeof a->why, "damaged: the HDF5 library crashes on it (status %d)",
                 WEXITSTATUS(how));
}

/* One file by a child; its answer is in *a, which both see. */
static void walk(const char *path, struct answer *a)
{
    pid_t me = getpid(), child = fork();
    int how = 0;

    if (child == 0) {
        follow(me);
        limit_all();
        look(path, a->why);
    }
    if (child < 0) {
        a->error = errno;
        return;
    }
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    judge(how, a);
}

/* Signals are the parent's business: a terminal and a launcher send them to the whole group. */
static void be_deaf(void)
{
    static const int group[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                 SIGPIPE, SIGXCPU };

    for (size_t i = 0; i < sizeof group / sizeof *group; i++)
        signal(group[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

static _Noreturn void serve(int from, pid_t parent)
{
    char path[PATH_MAX + 1];
    struct answer *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0);
    ssize_t n;

    follow(parent);
    be_deaf();
    prctl(PR_SET_NAME, "heterps-walker");
    hps_fd_keep_only(from);
    if (a == MAP_FAILED) hps_leave(HPS_FAIL);
    hps_h5_prepare();
    for (;;) {
        while ((n = recv(from, path, sizeof path - 1, 0)) < 0 && errno == EINTR)
            ;
        if (n <= 0) hps_leave(HPS_OK);
        path[n] = 0;
        *a = (struct answer){ 0 };
        walk(path, a);
        if (send(from, a, sizeof *a, 0) < 0) hps_leave(HPS_OK);
    }
}

/* ---- in this process ---- */

/* What the system says of a file: another content has another. */
struct key {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
};

static struct {
    int to;                     /* the socket; -1: there is no walker              */
    pid_t pid;
    int error;                /* errno, why there is none; 0: nobody wanted one  */
    bool sent, known;
    struct key key, good[NKEY]; /* of the file asked about; found good, the oldest goes first */
    int ngood;
    int settle_s;               /* younger changes may hide behind one time of a file */
} walker = { .to = -1, .settle_s = 2 };

void hps_h5_walk_settle(int seconds)
{
    walker.settle_s = seconds;
}

void hps_h5_walk_begin(void)
{
    int pair[2];
    pid_t me = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        walker.error = errno;
        return;
    }
    walker.pid = fork();
    if (walker.pid == 0) {
        close(pair[0]);         /* or its end would never be seen */
        serve(pair[1], me);
    }
    walker.error = walker.pid < 0 ? errno : 0;
    close(pair[1]);
    if (walker.pid < 0)
        close(pair[0]);
    else
        walker.to = pair[0];
}

void hps_h5_walk_end(void)
{
    if (walker.to < 0) return;
    close(walker.to);
    walker.to = -1;
    while (waitpid(walker.pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static struct key key_of(const char *path)
{
    struct stat f;

    if (stat(path, &f) != 0) return (struct key){ 0 };
    return (struct key){ f.st_dev, f.st_ino, f.st_size, f.st_ctim };
}

static bool same(const struct key *a, const struct key *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static void remember(const struct key *key)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && key->changed.tv_sec > 0 &&
        now.tv_sec - key->changed.tv_sec > walker.settle_s)
        walker.good[walker.ngood++ % NKEY] = *key;
}

void hps_h5_walk_request(const char *path)
{
    walker.key = key_of(path);
    walker.sent = walker.known = false;
    for (int i = 0; i < walker.ngood && i < NKEY; i++)
        walker.known = walker.known || same(&walker.key, &walker.good[i]);
    if (walker.to >= 0 && !walker.known)
        walker.sent = send(walker.to, path, strlen(path), MSG_NOSIGNAL) >= 0;
}

/* No walker: it is said once, where one was wanted. */
static bool alone(bool *walked)
{
    if (walker.to >= 0) walker.error = ECHILD;
    hps_h5_walk_end();
    if (walker.error)
        HPS_SAY_ALL(HPS_WARN, "no other process looks through HDF5 files first (%s): a damaged "
                              "one may end this program with a signal", strerror(walker.error));
    walker.error = 0;
    *walked = false;
    return true;
}

bool hps_h5_walk_response(bool *walked, char why[HPS_H5_WHY])
{
    struct answer a = { 0 };
    ssize_t n = -1;

    *walked = true;
    if (walker.known) return true;
    while (walker.sent && (n = recv(walker.to, &a, sizeof a, 0)) < 0 && errno == EINTR)
        ;
    if (n != (ssize_t)sizeof a) return alone(walked);
    if (a.error) {              /* of the system, not of the file */
        HPS_SAY_ALL(HPS_WARN, "no other process looks through this HDF5 file first: %s",
                    strerror(a.error));
        *walked = false;
        return true;
    }
    if (a.good)
        remember(&walker.key);
    else
        snprintf(why, HPS_H5_WHY, "%s", a.why);
    return a.good;
}
