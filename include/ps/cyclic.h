/* cyclic.h - which owner has which rows of a table: block-cyclic, in blocks of HPS_CYCLIC_BLOCK
 * rows. Block b belongs to owner b % k, so which rows are where is arithmetic: a checkpoint is
 * addressed by global row and can be loaded by any number of owners. Pure. */
#ifndef HPS_PS_CYCLIC_H
#define HPS_PS_CYCLIC_H

#include <stddef.h>

#define HPS_CYCLIC_BLOCK 64

/* Which of k owners has a global row, and the row's number among the rows of that owner. */
static inline int hps_cyclic_owner(long long row, int k)
{
    return (int)(row / HPS_CYCLIC_BLOCK % k);
}
static inline long long hps_cyclic_local(long long row, int k)
{
    return row / HPS_CYCLIC_BLOCK / k * HPS_CYCLIC_BLOCK + row % HPS_CYCLIC_BLOCK;
}
/* The global number of a local row of owner `part` of k. */
static inline long long hps_cyclic_global(long long local, int part, int k)
{
    return (local / HPS_CYCLIC_BLOCK * k + part) * HPS_CYCLIC_BLOCK + local % HPS_CYCLIC_BLOCK;
}
/* How many of `rows` rows owner `part` of k has; 0 where part >= k, which is no owner. */
long long hps_cyclic_nlocal(long long rows, int part, int k);

/* The rows of one owner: nrow rows of `stride` floats, weights first, then states of the update
 * rule. */
struct hps_shard {
    int part, parts;                    /* owner `part` of `parts` */
    long long nrow;
    size_t stride;
};

#endif
