/* A file system that stops answering: preloaded, calls with a path that has $HANG_PATH in it do not
 * return once the file $HANG_WHEN is there. And one that is slow to wake: the first
 * fsync takes $SLOW_S. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void ask(const char *path)
{
    const char *part = getenv("HANG_PATH"), *when = getenv("HANG_WHEN");

    if (part && when && strstr(path, part) &&
        syscall(SYS_faccessat, AT_FDCWD, when, F_OK) == 0)
        for (;;)
            pause();
}

/* The next one of that name. */
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define GO(type, name, ...) ((type (*)())next(name))(__VA_ARGS__)

int access(const char *path, int mode)
{
    ask(path);
    return GO(int, "access", path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    ask(path);
    return GO(int, "mkdir", path, mode);
}

int stat(const char *path, struct stat *s)
{
    ask(path);
    return GO(int, "stat", path, s);
}

FILE *fopen(const char *path, const char *mode)
{
    ask(path);
    return GO(FILE *, "fopen", path, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    ask(path);
    return GO(int, "open", path, flags, mode);
}

int fsync(int fd)
{
    const char *slow = getenv("SLOW_S");

    if (slow) sleep((unsigned)atoi(slow));
    unsetenv("SLOW_S");
    return GO(int, "fsync", fd);
}
