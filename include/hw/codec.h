/* codec.h - encodings in which numbers travel between ranks: a table of functions for each, and
 * one list of them. In memory numbers are fp32. Another encoding is a source and a line of the
 * list, with the conversions that senders and receivers then need. */
#ifndef HPS_HW_CODEC_H
#define HPS_HW_CODEC_H

#include <stddef.h>

struct hps_codec_ops {
    const char *name;
    size_t (*bytes)(size_t n); /* of n numbers that are sent together. Pure. */
};

extern const struct hps_codec_ops hps_codec_fp32;  /* sent in place, without a conversion */

/* The encoding of that name; NULL: there is none. Pure. */
const struct hps_codec_ops *hps_codec_find(const char *name);

#endif
