/* Calls that fail: preloaded, the n-th call of a kind (memory, open, write, ...) returns an error
 * instead of being made. A new call or kind is one line in one of the two lists below.
 *
 *   FAIL_KIND     which kind; `short`: a write of which half is done
 *   FAIL_FROM     whose calls: `own`, those made by the program's own text; `library`, all others;
 *                 or a part of a library's file name (libjansson). What the C library calls is
 *                 its caller's.
 *   FAIL_N        which of them, 1 is the first; absent or 0: none
 *   FAIL_ERRNO    as this number says; absent: the kind's usual one
 *   FAIL_MODE     `once`, or `on`: all from the n-th on; absent: once
 *   FAIL_RANK     on this rank only; absent: everywhere
 *   FAIL_LOG      a file: a line for the first call that failed, with the stack that made it
 *   FAIL_TRACE    a file: such a line for each call of the kind, none of which fails
 *   FAIL_COUNTS   a file: at an end in order, the number of calls of each kind by each object */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Kinds, and how they fail where nothing else is said. */
#define KINDS(X)                                                                               \
    X(memory, ENOMEM)   /* malloc and its like         */                                      \
    X(map, ENOMEM)      /* mmap                        */                                      \
    X(open, EMFILE)     /* files, folders, scratch     */                                      \
    X(read, EIO)                                                                               \
    X(write, ENOSPC)                                                                           \
    X(short, 0)         /* half of a write is done     */                                      \
    X(stream, ENOSPC)   /* writes through stdio        */                                      \
    X(sync, EIO)                                                                               \
    X(size, ENOSPC)     /* room for a file, its length */                                      \
    X(rename, EIO)                                                                             \
    X(close, EIO)                                                                              \
    X(folder, ENOSPC)   /* mkdir                       */                                      \
    X(facts, EIO)       /* stat and its like           */                                      \
    X(spawn, EAGAIN)    /* children, words to them     */                                      \
    X(lock, ENOLCK)                                                                            \
    X(thread, EAGAIN)

#define ENUM(kind, code) of_##kind,
enum kind { KINDS(ENUM) NKIND };
#define NAME(kind, code) #kind,
static const char *const kind_name[] = { KINDS(NAME) };
#define CODE(kind, code) code,
static const int kind_code[] = { KINDS(CODE) };

enum { OBJECTS = 128, FRAMES = 24 };

static struct {
    bool on;                        /* this process is one that is to fail           */
    int kind, code;
    long n;
    bool from_then_on;
    const char *from, *log, *trace, *counts;
    uintptr_t first, last;          /* the program's own text                        */
    atomic_long calls;              /* of the kind, by whom it is asked              */
    atomic_bool logged;
} me = { .kind = -1 };

/* Who called what how often; filled where it is asked. */
static struct {
    char name[64];
    atomic_long calls[NKIND];
} object[OBJECTS];
static pthread_mutex_t objects = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local bool busy;     /* in here: what this calls itself is not counted */

static int find_program(struct dl_phdr_info *i, size_t size, void *none)
{
    (void)size;
    (void)none;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        me.first = i->dlpi_addr + p->p_vaddr;
        me.last = me.first + p->p_memsz;
    }
    return 1;                       /* the first object is the program */
}

static const char *object_of(const void *address)
{
    Dl_info at;

    if ((uintptr_t)address >= me.first && (uintptr_t)address < me.last)
        return "own";
    if (!dladdr(address, &at) || !at.dli_fname)
        return "unknown";
    const char *slash = strrchr(at.dli_fname, '/');
    return slash ? slash + 1 : at.dli_fname;
}

static bool is_system(const char *name)
{
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
           strncmp(name, "fail_call", 9) == 0;
}

/* Whose call it is: behind the C library stands who called it. */
static const char *owner_of(const void *caller)
{
    const char *name = object_of(caller);
    void *frame[FRAMES];

    if (!is_system(name))
        return name;
    int n = backtrace(frame, FRAMES);
    for (int i = 0; i < n; i++)
        if (!is_system(object_of(frame[i])))
            return object_of(frame[i]);
    return name;
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAIL_KIND"), *n = getenv("FAIL_N"), *code = getenv("FAIL_ERRNO");
    const char *mode = getenv("FAIL_MODE"), *rank = getenv("FAIL_RANK");
    const char *mine = getenv("OMPI_COMM_WORLD_RANK");

    dl_iterate_phdr(find_program, NULL);
    if (strcmp(program_invocation_short_name, "heterps") != 0)
        return;                     /* a launcher or a helper of it */
    if (rank && *rank && strcmp(rank, mine ? mine : "0") != 0)
        return;
    for (int k = 0; kind && k < NKIND; k++)
        if (strcmp(kind, kind_name[k]) == 0)
            me.kind = k;
    me.n = n ? atol(n) : 0;
    me.code = code && *code ? atoi(code) : me.kind >= 0 ? kind_code[me.kind] : 0;
    me.from_then_on = mode && strcmp(mode, "on") == 0;
    me.from = getenv("FAIL_FROM");
    me.log = getenv("FAIL_LOG");
    me.trace = getenv("FAIL_TRACE");
    me.counts = getenv("FAIL_COUNTS");
    me.on = me.kind >= 0 || me.counts;
}

static void put(int fd, const char *text)
{
    for (size_t n = strlen(text); n > 0;) {
        long done = syscall(SYS_write, fd, text, n);
        if (done <= 0)
            return;
        text += done;
        n -= (size_t)done;
    }
}

static int create(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
}

/* "write own+0x1234 own+0x5678 libc.so.6+0x23 ...": for addr2line. */
static void tell(int kind, const char *path)
{
    int fd = create(path);
    void *frame[FRAMES];
    char text[FRAMES * 120];
    int n = backtrace(frame, FRAMES), end = snprintf(text, sizeof text, "%s", kind_name[kind]);

    for (int i = 0; i < n; i++) {
        Dl_info at;
        if (!dladdr(frame[i], &at) || strstr(at.dli_fname, "fail_call"))
            continue;
        end += snprintf(text + end, sizeof text - (size_t)end, " %.90s+0x%lx", object_of(frame[i]),
                        (unsigned long)((char *)frame[i] - (char *)at.dli_fbase));
    }
    text[end] = '\n';                   /* one write: threads do not mix */
    text[end + 1] = 0;
    put(fd, text);
    syscall(SYS_close, fd);
}

static void count(int kind, const char *name)
{
    int i = 0;

    pthread_mutex_lock(&objects);
    while (i < OBJECTS - 1 && *object[i].name && strncmp(object[i].name, name, 63) != 0)
        i++;
    if (!*object[i].name)
        strncpy(object[i].name, name, sizeof object[i].name - 1);
    pthread_mutex_unlock(&objects);
    object[i].calls[kind]++;
}

__attribute__((destructor)) static void end(void)
{
    char text[160];
    int fd;

    if (!me.on || !me.counts)
        return;
    fd = create(me.counts);
    for (int i = 0; i < OBJECTS && *object[i].name; i++)
        for (int k = 0; k < NKIND; k++)
            if (object[i].calls[k] > 0) {
                snprintf(text, sizeof text, "%s %.63s %ld\n", kind_name[k], object[i].name,
                         object[i].calls[k]);
                put(fd, text);
            }
    syscall(SYS_close, fd);
}

static bool is_asked(const char *name)
{
    if (!me.from || strcmp(me.from, "own") == 0)
        return strcmp(name, "own") == 0;
    if (strcmp(me.from, "library") == 0)
        return strcmp(name, "own") != 0;
    return strstr(name, me.from) != NULL;
}

/* Does this call fail? Then errno says why. */
static bool fails(int kind, const void *caller)
{
    bool yes = false;

    if (!me.on || busy || (me.kind != kind && !me.counts))
        return false;
    int before = errno;
    busy = true;
    const char *name = owner_of(caller);
    if (me.counts)
        count(kind, name);
    if (me.kind == kind && me.trace && is_asked(name))
        tell(kind, me.trace);
    else if (me.kind == kind && me.n > 0 && is_asked(name)) {
        long n = ++me.calls;
        yes = n == me.n || (n > me.n && me.from_then_on);
        if (yes && me.log && !atomic_exchange(&me.logged, true))
            tell(kind, me.log);
    }
    busy = false;
    errno = yes ? me.code : before;
    return yes;
}

/* The next function of a name. */
static void *next(void **known, const char *name)
{
    if (!*known) {
        bool was = busy;
        busy = true;
        *known = dlsym(RTLD_NEXT, name);
        busy = was;
    }
    return *known;
}

/* A call of a kind: its type, name, parameters, the arguments to pass on, what a failed one does
 * and answers. */
#define FAILS(kind) fails(of_##kind, __builtin_return_address(0))
#define CALL(kind, type, name, parameters, arguments, bad)                                     \
    type name parameters                                                                       \
    {                                                                                          \
        static void *known;                                                                    \
        type(*real) parameters = (type(*) parameters)next(&known, #name);                      \
        if (FAILS(kind))                                                                       \
            return bad;                                                                        \
        return real arguments;                                                                 \
    }

/* A write: where it comes short, half is done. Standard error is how a run tells what failed. */
#define WRITE(name, bytes, parameters, arguments, half)                                        \
    ssize_t name parameters                                                                    \
    {                                                                                          \
        static void *known;                                                                    \
        ssize_t(*real) parameters = (ssize_t(*) parameters)next(&known, #name);                \
        if (fd != STDERR_FILENO && FAILS(write))                                               \
            return -1;                                                                         \
        if (fd != STDERR_FILENO && (bytes) > 1 && FAILS(short))                                \
            return real half;                                                                  \
        return real arguments;                                                                 \
    }

/* A close is made and then fails, as Linux has it. */
#define CLOSE(kind, type, name, parameters, arguments, bad)                                    \
    type name parameters                                                                       \
    {                                                                                          \
        static void *known;                                                                    \
        type(*real) parameters = (type(*) parameters)next(&known, #name);                      \
        if (!FAILS(kind))                                                                      \
            return real arguments;                                                             \
        int code = errno;                                                                      \
        real arguments;                                                                        \
        errno = code;                                                                          \
        return bad;                                                                            \
    }

/* A stream remembers that it failed; as the C library has it in <bits/types/struct_FILE.h>. */
enum { READ_ONLY = 0x8, ERROR_SEEN = 0x20 };
#define SPOIL(f) ((f)->_flags |= ERROR_SEEN)

CALL(map, void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from),
     (at, n, prot, flags, fd, from), MAP_FAILED)
CALL(map, void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, off_t from),
     (at, n, prot, flags, fd, from), MAP_FAILED)
CALL(open, int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
CALL(open, int, mkstemp, (char *path), (path), -1)
CALL(open, int, mkostemp, (char *path, int flags), (path, flags), -1)
CALL(open, int, dup, (int fd), (fd), -1)
CALL(open, FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
CALL(open, FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
CALL(open, DIR *, opendir, (const char *path), (path), NULL)
CALL(read, ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), -1)
CALL(read, ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), -1)
CALL(read, ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), -1)
CALL(read, ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), -1)
CALL(read, ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), -1)
CALL(read, ssize_t, preadv64, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), -1)
CALL(read, size_t, fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f),
     (SPOIL(f), 0))
CALL(read, char *, fgets, (char *to, int n, FILE *f), (to, n, f), (SPOIL(f), NULL))
CALL(read, struct dirent *, readdir, (DIR *d), (d), NULL)
WRITE(write, n, (int fd, const void *from, size_t n), (fd, from, n), (fd, from, n / 2))
WRITE(pwrite, n, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at),
      (fd, from, n / 2, at))
WRITE(pwrite64, n, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at),
      (fd, from, n / 2, at))
CALL(write, ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), -1)
#define HALF(v) &(struct iovec){ (v)->iov_base, (v)->iov_len / 2 }  /* of the first piece alone */
WRITE(pwritev, v->iov_len, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
      (fd, HALF(v), 1, at))
WRITE(pwritev64, v->iov_len, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
      (fd, HALF(v), 1, at))
CALL(stream, size_t, fwrite, (const void *from, size_t size, size_t n, FILE *f),
     (from, size, n, f), (SPOIL(f), 0))
CALL(stream, int, fputs, (const char *text, FILE *f), (text, f), (SPOIL(f), EOF))
CALL(stream, int, fputc, (int c, FILE *f), (c, f), (SPOIL(f), EOF))
CALL(stream, int, vfprintf, (FILE *f, const char *format, va_list args), (f, format, args),
     (SPOIL(f), -1))
CALL(stream, int, fflush, (FILE *f), (f), EOF)
CALL(sync, int, fsync, (int fd), (fd), -1)
CALL(sync, int, fdatasync, (int fd), (fd), -1)
CALL(size, int, ftruncate, (int fd, off_t n), (fd, n), -1)
CALL(size, int, ftruncate64, (int fd, off_t n), (fd, n), -1)
CALL(size, int, truncate, (const char *path, off_t n), (path, n), -1)
CALL(size, int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), -1)
CALL(size, int, fallocate64, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), -1)
CALL(size, int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n), me.code)
CALL(size, int, posix_fallocate64, (int fd, off_t at, off_t n), (fd, at, n), me.code)
CALL(rename, int, rename, (const char *from, const char *to), (from, to), -1)
CLOSE(close, int, close, (int fd), (fd), -1)
CALL(folder, int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
CALL(facts, int, stat, (const char *path, struct stat *to), (path, to), -1)
CALL(facts, int, lstat, (const char *path, struct stat *to), (path, to), -1)
CALL(facts, int, fstat, (int fd, struct stat *to), (fd, to), -1)
CALL(facts, int, statvfs, (const char *path, struct statvfs *to), (path, to), -1)
CALL(facts, int, fstatvfs, (int fd, struct statvfs *to), (fd, to), -1)
CALL(facts, int, access, (const char *path, int mode), (path, mode), -1)
CALL(spawn, pid_t, fork, (void), (), -1)
CALL(spawn, int, socketpair, (int domain, int type, int protocol, int fd[2]),
     (domain, type, protocol, fd), -1)
CALL(spawn, ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags),
     -1)
CALL(spawn, ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), -1)
CALL(lock, int, flock, (int fd, int what), (fd, what), -1)
CALL(thread, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
     (thread, attr, run, arg), me.code)

/* A stream that was only read has nothing to lose. */
int fclose(FILE *f)
{
    static void *known;
    int (*real)(FILE *) = (int (*)(FILE *))next(&known, "fclose");

    if (!(f->_flags & READ_ONLY ? FAILS(close) : FAILS(stream)))
        return real(f);
    int code = errno;
    real(f);
    errno = code;
    return EOF;
}

/* Those whose last parameter may be absent. */
#define OPEN(name, parameters, arguments)                                                      \
    int name parameters                                                                        \
    {                                                                                          \
        static void *known;                                                                    \
        int (*real) parameters = (int (*) parameters)next(&known, #name);                      \
        va_list more;                                                                          \
        va_start(more, flags);                                                                 \
        mode_t mode = va_arg(more, mode_t);                                                    \
        va_end(more);                                                                          \
        return FAILS(open) ? -1 : real arguments;                                              \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

/* Memory: dlsym itself may ask for some, so the C library's own doors are taken. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    return FAILS(memory) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return FAILS(memory) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return FAILS(memory) ? NULL : __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    return FAILS(memory) ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return FAILS(memory) ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    int before = errno;
    void *got = FAILS(memory) ? NULL : __libc_memalign(align, n);

    errno = before;
    if (!got)
        return ENOMEM;
    *p = got;
    return 0;
}
