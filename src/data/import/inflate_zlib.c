/* inflate_zlib.c - one member of a gzip stream, by zlib. */
#include "data/inflate.h"

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/quit.h"
#include "data/unpack.h"

void hps_inflate_new(struct hps_inflate *z)
{
    z_stream *state = hps_mem_new(1, sizeof *state);

    z->state = state;
    if (inflateInit2(state, 15 + 16) != Z_OK) HPS_DIE("zlib cannot begin");
}

void hps_inflate_again(struct hps_inflate *z)
{
    inflateReset(z->state);
}

void hps_inflate_free(struct hps_inflate *z)
{
    inflateEnd(z->state);
    hps_mem_free(z->state);
}

enum hps_inflated hps_inflate_some(struct hps_inflate *z)
{
    z_stream *state = z->state;
    int rc;

    state->next_in = (unsigned char *)(uintptr_t)z->in; /* it is only read */
    state->avail_in = (unsigned)z->nin;
    state->next_out = z->out;
    state->avail_out = (unsigned)z->nout;
    rc = inflate(state, Z_NO_FLUSH);
    z->in = state->next_in;
    z->nin = state->avail_in;
    z->out = state->next_out;
    z->nout = state->avail_out;
    if (rc == Z_STREAM_END) return HPS_INFLATE_END;
    return rc == Z_OK || rc == Z_BUF_ERROR ? HPS_INFLATE_ON : HPS_INFLATE_BAD;
}

const char *hps_unpack_library(void)
{
    static char words[32];

    snprintf(words, sizeof words, "zlib %.20s", zlibVersion());
    return words;
}
