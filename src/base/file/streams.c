/* streams.c - the three standard streams are open. */
#include "base/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void hps_streams_open(void)
{
    /* what one writes to nowhere cannot be read, and the other way round; messages may vanish */
    static const int mode[] = { O_WRONLY, O_RDONLY, O_RDWR };

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", mode[fd]) != fd)
            return;                                     /* not even that: a sandbox */
}

bool hps_streams_no_input(void)
{
    int mode = fcntl(STDIN_FILENO, F_GETFL);

    return mode < 0 || (mode & O_ACCMODE) == O_WRONLY;
}
