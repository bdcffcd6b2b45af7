/* inflate.h - unpacks gzip members, by ISA-L where it was found, else by zlib. */
#ifndef HPS_DATA_INFLATE_H
#define HPS_DATA_INFLATE_H

#include <stddef.h>

/* The caller sets in, nin, out and nout; calls advance them. */
struct hps_inflate {
    const unsigned char *in;
    unsigned char *out;
    size_t nin, nout;               /* input left, output capacity; both below 4 GiB     */
    void *state;                    /* of the library                                    */
};

enum hps_inflated { HPS_INFLATE_ON, HPS_INFLATE_END, HPS_INFLATE_BAD };

void hps_inflate_new(struct hps_inflate *z);        /* at the beginning of a member      */
void hps_inflate_free(struct hps_inflate *z);
void hps_inflate_again(struct hps_inflate *z);      /* another member begins             */

/* Unpack as far as input and capacity allow. END: the member is complete and its checksum right. ON
 * without progress: more input is needed. BAD: this is no gzip member. Local. */
enum hps_inflated hps_inflate_some(struct hps_inflate *z);

#endif
