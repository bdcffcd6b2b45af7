/* crc.h - the checksum of gzip: by ISA-L where it was found, else by zlib; the same number. */
#ifndef HPS_BASE_CRC_H
#define HPS_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t hps_crc(const void *x, size_t bytes); /* pure */

#endif
