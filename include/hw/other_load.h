/* other_load.h - what else runs on the processors of the ranks: what the kernel counts as busy
 * there (/proc/stat), less what the ranks have used themselves. Times that were measured meanwhile
 * hold for such a machine. */
#ifndef HPS_HW_OTHER_LOAD_H
#define HPS_HW_OTHER_LOAD_H

#include "hw/pool.h"

#define HPS_OTHER_LOAD_SAID 0.25        /* cores from which it is said: below may be rounding */

/* What a rank knows when it begins to look. */
struct hps_other_load {
    double now_s, own_s;        /* the clock; CPU seconds of this process                       */
    double busy_s;              /* of all processors of the host that ranks may use, summed; NaN:
                                   another rank of the host looks, or it is not known           */
};
struct hps_other_load hps_other_load_begin(const struct hps_pool *pool);        /* Local. */

/* Processors busy with something else since then, on average, on the host that has most of that;
 * `rank`: one of that host. NaN where no host knows. The same on all ranks. Collective over world,
 * which all ranks of the pool are in (MPI_COMM_NULL: alone). */
struct hps_other_load_found { double cores; int rank; };
struct hps_other_load_found hps_other_load_end(const struct hps_other_load *began,
                                               const struct hps_pool *pool, MPI_Comm world);

/* Ticks of the clock for which the processors of a mask (HPS_NODE_MASK) were busy, of the text of
 * /proc/stat; also what a hypervisor took. NaN where it names none of them. Pure. */
double hps_other_load_ticks(const char *text, const unsigned char *mask);

#endif
