/* deep_read.h - reads of many places of a file at the depth that a disk needs: a solid-state disk
 * gives ten times as many reads of 4 KiB a second where a hundred are under way as where one is.
 * By io_uring where the program is linked with it and the kernel allows it (containers and sites
 * forbid it), else by threads that each make one read at a time.
 *
 * All calls are Local, by any thread. */
#ifndef HPS_BASE_DEEP_READ_H
#define HPS_BASE_DEEP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hps_deep_reader;

/* Some reads of one file. The caller's storage; the batch, `at` and `size` are lent from begin
 * until wait has said that the batch has ended. */
struct hps_deep_batch {
    int fd;
    size_t bytes;               /* of each read; for direct I/O a multiple of 4096 */
    size_t n;
    const uint64_t *at;         /* (n) offsets in the file                         */
    const size_t *size;         /* (n) bytes of each, where they differ; else NULL */
    /* Read i has come, into memory of the reader that is lent for this call and page aligned; or it
     * failed: `error` is its errno (0: none; ENODATA: the file ends before). By threads of the
     * reader, by several at once. */
    void (*arrived)(void *context, size_t i, const unsigned char *page, int error);
    void *context;
    /* the reader's own */
    size_t taken, left;
    struct hps_deep_batch *next;
};

/* A reader by this way, "io_uring" or "threads"; NULL: by the best one here; "threads" alone with
 * HETERPS_URING=0 in the environment. NULL where that way is not to be had, or no thread can be
 * started; nothing is said. */
struct hps_deep_reader *hps_deep_reader_new(const char *way);
void hps_deep_reader_free(struct hps_deep_reader *reader); /* NULL is fine; no batch is under way */
/* The one reader of this process, which all files share, so that the depth is the disk's and not
 * that times the files. Each get needs a put; the last frees it. NULL as above. */
struct hps_deep_reader *hps_deep_reader_get(void);
void hps_deep_reader_put(struct hps_deep_reader *reader); /* NULL is fine */
const char *hps_deep_reader_way(const struct hps_deep_reader *reader);

/* Batches are begun in the order of these calls. n = 0 is fine. */
void hps_deep_begin(struct hps_deep_reader *reader, struct hps_deep_batch *batch);
/* Wait until all reads of the batch have ended, or hps_steady_s() is until_s: then false. */
bool hps_deep_wait(struct hps_deep_reader *reader, struct hps_deep_batch *batch, double until_s);

#endif
