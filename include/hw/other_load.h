/* other_load.h - what else runs on the processors of the ranks: what the kernel counts as busy
 * there (/proc/stat), less what the ranks have used themselves. Times that were measured meanwhile
 * hold for such a machine. */
#ifndef HPS_HW_OTHER_LOAD_H
#define HPS_HW_OTHER_LOAD_H

#include "hw/pool.h"

/* What the first rank of a host knows when it begins to look; of its host. */
struct hps_other_load {
    double now_s;
    double own_s;               /* CPU seconds of its ranks                                     */
    double busy_s;              /* of all processors that they may use, summed; NaN: unknown    */
};
/* Collective over world, which all ranks of the pool are in (MPI_COMM_NULL: alone). */
struct hps_other_load hps_other_load_begin(const struct hps_pool *pool, MPI_Comm world);

/* Processors busy with something else since then, on average, on the host that has most of that;
 * `rank`: one of that host. NaN where no host knows. The same on all ranks. Said from a quarter of
 * a processor on, below may be rounding; `when` goes behind "busy". Collective, as above. */
struct hps_other_load_found { double cores; int rank; };
struct hps_other_load_found hps_other_load_end(const struct hps_other_load *began,
                                               const struct hps_pool *pool, const char *when,
                                               MPI_Comm world);

/* Ticks of the clock for which the processors of a mask (HPS_NODE_MASK) were busy, of the text of
 * /proc/stat; also what a hypervisor took. NaN where it names none of them. Pure. */
double hps_other_load_ticks(const char *text, const unsigned char *mask);

#endif
