/* inflate_isal.c - one member of a gzip stream, by ISA-L. */
#include "data/inflate.h"

#include <isa-l.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "data/unpack.h"

void hps_inflate_again(struct hps_inflate *z)
{
    struct inflate_state *state = z->state;

    isal_inflate_init(state);
    state->crc_flag = ISAL_GZIP;
}

void hps_inflate_new(struct hps_inflate *z)
{
    z->state = hps_mem_new(1, sizeof(struct inflate_state));
    hps_inflate_again(z);
}

void hps_inflate_free(struct hps_inflate *z)
{
    hps_mem_free(z->state);
}

enum hps_inflated hps_inflate_some(struct hps_inflate *z)
{
    struct inflate_state *state = z->state;
    int rc;

    state->next_in = (uint8_t *)(uintptr_t)z->in;       /* it is only read */
    state->avail_in = (uint32_t)z->nin;
    state->next_out = z->out;
    state->avail_out = (uint32_t)z->nout;
    rc = isal_inflate(state);
    z->in = state->next_in;
    z->nin = state->avail_in;
    z->out = state->next_out;
    z->nout = state->avail_out;
    if (rc != ISAL_DECOMP_OK) return HPS_INFLATE_BAD;
    return state->block_state == ISAL_BLOCK_FINISH ? HPS_INFLATE_END : HPS_INFLATE_ON;
}

const char *hps_unpack_library(void)
{
    static char words[32];

    snprintf(words, sizeof words, "ISA-L %d.%d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION,
             ISAL_PATCH_VERSION);
    return words;
}
