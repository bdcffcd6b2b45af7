/* crc_zlib.c - checksums by zlib. */
#include <zlib.h>

#include "base/crc.h"

uint32_t hps_crc(const void *x, size_t bytes)
{
    return (uint32_t)crc32_z(0, x, bytes);
}
