/* checksum.h - the checksum of columns, as data/writer.h defines it. */
#ifndef HPS_DATA_CHECKSUM_H
#define HPS_DATA_CHECKSUM_H

#include <stdint.h>

#include "data/data.h"

uint64_t hps_checksum_key(const char *column);
/* Elements first..first+n-1 of a column. Pure. */
uint64_t hps_checksum_reals(uint64_t key, long long first, long long n, const float *x);
uint64_t hps_checksum_longs(uint64_t key, long long first, long long n, const long long *x);

#endif
