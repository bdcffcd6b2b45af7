#include "base/eager.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#define EAGER   "1052672"       /* of 1 MiB with what the library puts before it */
#define SEGMENT "33554432"

/* Four times what the ranks of this host would take, so that others find room too. */
static int is_there_room(void)
{
    const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    struct statvfs s;

    if (statvfs("/dev/shm", &s) != 0)
        return 0;
    return (double)s.f_bavail * (double)s.f_frsize >
           4 * atof(SEGMENT) * (ranks ? atof(ranks) : 1);
}

/* The component is called vader up to Open MPI 4, sm from 5 on. */
void hps_eager_prefer(void)
{
    if (!is_there_room())
        return;
    setenv("OMPI_MCA_btl_vader_eager_limit", EAGER, 0);
    setenv("OMPI_MCA_btl_vader_segment_size", SEGMENT, 0);
    setenv("OMPI_MCA_btl_sm_eager_limit", EAGER, 0);
    setenv("OMPI_MCA_btl_sm_segment_size", SEGMENT, 0);
}
