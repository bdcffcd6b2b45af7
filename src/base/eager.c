#include "base/eager.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/quit.h"

#define EAGER   "1052672"       /* of 1 MiB with what the library puts before it */
#define SEGMENT "33554432"

/* Four times what the ranks of this host would take, so that others find room too. All of them must
 * come to the same answer, since ranks with different settings wait for each other for ever: so the
 * size counts, not what is free at this moment. */
static bool is_there_room(void)
{
    const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    struct statvfs s;

    if (statvfs("/dev/shm", &s) == 0)
        return (double)s.f_blocks * (double)s.f_frsize >
               4 * atof(SEGMENT) * (ranks ? atof(ranks) : 1);
    if (errno != ENOENT && errno != EACCES) HPS_DIE("/dev/shm: %s", strerror(errno));
    return false;
}

static void prefer(const char *name, const char *value)
{
    if (setenv(name, value, 0) != 0) HPS_DIE("%s cannot be set: %s", name, strerror(errno));
}

/* The component is called vader up to Open MPI 4, sm from 5 on. */
void hps_eager_prefer(void)
{
    if (!is_there_room()) return;
    prefer("OMPI_MCA_btl_vader_eager_limit", EAGER);
    prefer("OMPI_MCA_btl_vader_segment_size", SEGMENT);
    prefer("OMPI_MCA_btl_sm_eager_limit", EAGER);
    prefer("OMPI_MCA_btl_sm_segment_size", SEGMENT);
}
