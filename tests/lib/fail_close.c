/* Preloaded: what closes a file that has bytes, and whose path has $FAIL_CLOSE in it, is told of an
 * error, as file systems tell that late that what was written is lost. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int close(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    const char *part = getenv("FAIL_CLOSE");
    char link[64], path[1024] = "";
    struct stat facts;
    int bad;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bad = part && readlink(link, path, sizeof path - 1) > 0 && strstr(path, part) &&
          fstat(fd, &facts) == 0 && facts.st_size > 0;
    if (real(fd) != 0)
        return -1;
    if (bad)
        errno = EIO;
    return bad ? -1 : 0;
}
