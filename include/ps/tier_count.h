/* tier_count.h - what moved between slots, which have some rows of the tables of one request, and
 * where their other rows are (ps/tier.h). Plain doubles, so that ranks' counts can be summed. */
#ifndef HPS_PS_TIER_COUNT_H
#define HPS_PS_TIER_COUNT_H

struct hps_tier_count {
    double rows, slots;         /* rows of the rank; slots for them                           */
    double asked, hits;         /* rows that steps that learn needed; of them in a slot then  */
    double made, read;          /* rows from the seed and from the file, for steps            */
    double written;             /* rows to the file                                           */
    double bytes;               /* moved, both ways                                           */
    double waited_s;            /* for the file; at a server that serves others then, by the
                                   worker whose turn it is                                   */
    double index_bytes;         /* memory that says where rows are                            */
    double pages_read;          /* by the disk, each with some of the rows read               */
};

enum { HPS_TIER_COUNTS = sizeof(struct hps_tier_count) / sizeof(double) };

#endif
