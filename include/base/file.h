/* file.h - how files are opened: the program's own, and a user's text whole.
 *
 * Own files lie in run directories and folders of checkpoints, where their names are known
 * beforehand and others may write. Each is a regular file: a symbolic link with its name is not
 * followed, a FIFO, a device or a folder with its name is an error at once, never a wait. The
 * folders above it may be links. */
#ifndef HPS_BASE_FILE_H
#define HPS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct iovec;

/* Does the name stand for a regular file, or for nothing yet? Else false with errno. Local. */
bool hps_file_fits(const char *path);
/* Open an own file (flags as of open; closed on exec): a descriptor, or -1 with errno. Local. */
int hps_file_open(const char *path, int flags);
/* A new own file to write (O_RDWR with the flags). What had its name before is removed, never
 * opened; a folder is not removed. A descriptor, or -1 with errno. Local. */
int hps_file_new(const char *path, int flags);
/* A file in the directory without a name, or one that has lost it, to read and write: it ends with
 * its descriptor. -1 with errno. Local. */
int hps_file_scratch(const char *directory);
/* Write all n bytes; or n pieces, one behind the other in the file; their list is overwritten.
 * False with errno. Local. */
bool hps_file_put(int fd, const void *from, size_t n, uint64_t at);
bool hps_file_put_pieces(int fd, struct iovec *piece, int n, uint64_t at);
/* What was written to an own file is on the disk. False with errno. Local. */
bool hps_file_sync(const char *path);
/* Replace an own file by one with this text: written into `part`, which is then renamed. False with
 * errno, and the part is removed; what has the name but is no regular file stays. Local. */
bool hps_file_replace(const char *path, const char *part, const char *text);
/* The same through PATH.part. HPS_OUTPUT, said. Local. */
enum hps_status hps_file_save(const char *path, const char *text);

/* Read a file that the user named, whole, of any kind: links are followed, pipes read to their end.
 * A file of more than `max` bytes is cut: then *length > max. False with errno, also where no
 * process writes to a FIFO for seconds, or nothing comes for a minute. To free with hps_mem_free.
 * Local. */
bool hps_file_read(char **text, size_t *length, size_t max, const char *path);

/* The errno of one of these, in words. Borrowed, until the next call. */
const char *hps_file_why(int error);

#endif
