/* direct_file.h - writes of large files that leave the page cache alone (direct I/O), where the
 * file system has it. A checkpoint is not read again by the run that writes it; in the page cache
 * it takes the memory of the job, and pages that were not used before may come slowly. Small
 * pieces, and the ends of large ones that share a page with something else, go through the page
 * cache. */
#ifndef HPS_BASE_DIRECT_FILE_H
#define HPS_BASE_DIRECT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;

/* Pieces of at least so many bytes are written like that, in whole pages: of 4 KiB, or of 64 on
 * some processors. A large file is laid out so that its large parts begin with one. */
enum { HPS_DIRECT_MIN_BYTES = 1 << 20, HPS_DIRECT_PAGE = 65536 };

struct hps_direct_file {
    int fd;                     /* -1: not open                                        */
    int direct;                 /* of the same file; -1: the file system has it not    */
    char *buffer;               /* pieces pass through it, since they are not aligned  */
};

/* Open an own file (base/file.h) that exists, to write. False with errno, and nothing to close.
 * Local. */
bool hps_direct_open(struct hps_direct_file *file, const char *path);
/* Write all n bytes; or n pieces, one behind the other in the file; their list is overwritten.
 * Ranks may write to different places of a file. False with errno. Local. */
bool hps_direct_put(struct hps_direct_file *file, const void *from, size_t n, uint64_t at);
bool hps_direct_put_pieces(struct hps_direct_file *file, struct iovec *piece, int n, uint64_t at);
/* Is all of the file on the disk? False with errno. Local. */
bool hps_direct_sync(struct hps_direct_file *file);
/* False with errno; it is closed then too. Local. */
bool hps_direct_close(struct hps_direct_file *file);

#endif
