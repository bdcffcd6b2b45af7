/* codec.h - the forms in which numbers travel between ranks: a table of facts for each, and one
 * list of them. In memory numbers are fp32; a form that is another one is a file and a line in the
 * list, with the conversions that its senders and receivers then need. */
#ifndef HPS_HW_CODEC_H
#define HPS_HW_CODEC_H

#include <stddef.h>

struct hps_codec_ops {
    const char *name;
    size_t (*bytes)(size_t n); /* of n numbers that are sent together. Pure. */
};

extern const struct hps_codec_ops hps_codec_fp32; /* sent from where they lie, as they are */

/* The form of that name; NULL: there is none. Pure. */
const struct hps_codec_ops *hps_codec_find(const char *name);

#endif
