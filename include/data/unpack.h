/* unpack.h - unpacks gzip streams in a thread, ahead of the reader: by ISA-L where it was found
 * (two to three times as fast), else by zlib. */
#ifndef HPS_DATA_UNPACK_H
#define HPS_DATA_UNPACK_H

#include <stddef.h>

#include "base/status.h"

/* Members follow one another; zeros behind the last one are ignored. Memory is under 2 MiB. */
struct hps_unpack;

/* Start unpacking: the bytes of the stream that were already read, first[0..n), then `fd`. `fd`
 * stays the caller's and must stay open until hps_unpack_free. */
void hps_unpack_new(struct hps_unpack **unpack, int fd, const void *first, size_t n);

/* Read up to n bytes of text, at least one; *got = 0 at the end. Damaged or truncated data:
 * HPS_DECK, a read error: HPS_INPUT, with the reason in *why; hps_text_stop (data/text.h):
 * HPS_AGAIN. Waits. */
enum hps_status hps_unpack_read(struct hps_unpack *unpack, void *to, size_t n, size_t *got,
                                const char **why);
void hps_unpack_free(struct hps_unpack *unpack);    /* NULL is fine */

const char *hps_unpack_library(void);               /* "ISA-L 2.30.0", "zlib 1.2.13" */

#endif
