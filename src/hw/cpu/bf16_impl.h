/* bf16_impl.h - what the sources of bf16 products share. For src/hw/cpu/bf16*.c. */
#ifndef HPS_HW_CPU_BF16_IMPL_H
#define HPS_HW_CPU_BF16_IMPL_H

#include <stdint.h>

#include "base/multiversion.h"
#include "hw/bf16.h"

extern const struct hps_bf16_lib hps_bf16_onednn;       /* where the build has oneDNN */

/* The upper 16 bits of a float, rounded to the nearest, ties to even; a NaN stays one. */
HPS_INLINE uint16_t hps_bf16_bits(uint32_t bits)
{
    uint32_t up = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;

    return (uint16_t)(((bits & 0x7fffffff) > 0x7f800000 ? nan : up) >> 16);
}

/* A packed (k, n): blocks of 32 rows and 64 columns, padded with zeros; numbers from one block to
 * the next along k, along n. In a block two rows lie side by side, number by number. */
struct hps_bf16_blocks {
    size_t k, n, k_stride, n_stride;
};
/* Pack w (k, n), or (n, k) where it is transposed, as hps_bf16_lib.pack does. */
void hps_bf16_pack_blocks(const struct hps_bf16_blocks *b, bool transposed, const float *w,
                          uint16_t *to);

#endif
