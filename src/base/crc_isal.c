/* crc_isal.c - checksums by ISA-L, three times as fast as zlib. */
#include <isa-l.h>

#include "base/crc.h"

uint32_t hps_crc(const void *x, size_t bytes)
{
    return crc32_gzip_refl(0, x, bytes);
}
