/* h5.h - HDF5 with words: statuses that name file and object; rows and attributes by global index.
 *
 * HDF5's own error stack is silenced; hps_h5_why gives its innermost text. One thread of a rank
 * calls HDF5 at a time (the parallel build is not thread safe): only the main thread. A file that
 * the user named is never a bug: missing or unreadable HPS_INPUT; not HDF5, truncated or of another
 * shape HPS_DECK; cannot be written HPS_OUTPUT. Local unless a communicator is given; with one,
 * every verb that writes is collective over it, its status is the same on every rank, and the
 * lowest rank that failed prints. */
#ifndef HPS_BASE_H5_H
#define HPS_BASE_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Calls on our own objects (types, spaces, property lists) that only a bug can fail. */
#define HPS_H5(call) hps_h5_check((long long)(call), #call, __FILE__, __LINE__)
long long hps_h5_check(long long rc, const char *call, const char *file, int line);

const char *hps_h5_why(void);   /* the library's innermost message of the last failure; static */

struct hps_h5 {
    hid_t file;
    const char *path;           /* borrowed: for messages            */
    MPI_Comm comm;              /* MPI_COMM_NULL: serial             */
    bool failed;                /* the library could not tell whether an object exists */
};

/* Say "PATH: text" (no text: nothing is said) where `mine` is not HPS_OK. Collective over h->comm
 * when parallel: one rank speaks, all get the worst status. The library's reason is not added. */
enum hps_status hps_h5_verdict(const struct hps_h5 *h, enum hps_status mine, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

/* Open for reading, serial driver. The file is looked through first (hps_h5_survey), where there is
 * a walker by another process (h5_walk.h): HPS_DECK where the library crashes on it, where a link
 * or a dataset leads out of the file, or a dataset has filters; HPS_USAGE where this command is to
 * write it (base/outputs.h). */
enum hps_status hps_h5_open(struct hps_h5 *h, const char *path);
/* Open for changing too: a file that this program has just written, or copied from one that it has
 * opened; it is not looked through. */
enum hps_status hps_h5_change(struct hps_h5 *h, const char *path);
/* Create for writing, in place of what had the name (hps_file_new); comm MPI_COMM_NULL: serial;
 * else all ranks of comm, the MPI-IO driver. Where the disk has no room for even that, no file is
 * left. Collective over comm. */
enum hps_status hps_h5_create(struct hps_h5 *h, const char *path, MPI_Comm comm);
/* Flush what was written to disk and close. Write errors that appear only now (no space) are
 * HPS_OUTPUT. Closing twice is fine. With MPI, a file that the library cannot close ends all ranks
 * (hps_quit), here and in the two verbs below: it would crash in MPI_Finalize; what this program
 * made of it is removed. HPS_INPUT where the library could not tell of a file that was changed
 * whether an object or an attribute is there. Collective over comm. */
enum hps_status hps_h5_close(struct hps_h5 *h);
/* Close a file that was only read. `s`: what reading ended with; where that is HPS_OK, HPS_INPUT if
 * the library could not tell whether an object or an attribute is there: what was taken for missing
 * may have been there. Local. */
enum hps_status hps_h5_read(struct hps_h5 *h, enum hps_status s);
/* The same, alone, of a file that others write on: what they sync, and this with it, need not be on
 * the disk when it returns. */
enum hps_status hps_h5_leave(struct hps_h5 *h);
/* Close a file that was being written and is not wanted any more, without a word; what is in it
 * then is undefined. Collective over comm. */
void hps_h5_drop(struct hps_h5 *h);

/* Attributes on an object of the file ("/" or a path); an object that is not there is made as a
 * group; an attribute that is there is replaced. Text attributes are fixed-length strings; any
 * length. */
enum hps_status hps_h5_put_text(struct hps_h5 *h, const char *object, const char *name,
                                const char *text);
enum hps_status hps_h5_put_long(struct hps_h5 *h, const char *object, const char *name,
                                long long value);
enum hps_status hps_h5_put_real(struct hps_h5 *h, const char *object, const char *name, int n,
                                const double *value);
/* Absent, or of another kind or length: HPS_DECK with a message, unless `quiet`. Text to free with
 * hps_mem_free (NULL on failure). Variable-length strings (h5py's default) are read too. */
enum hps_status hps_h5_get_text(struct hps_h5 *h, const char *object, const char *name,
                                char **text, bool quiet);
enum hps_status hps_h5_get_long(struct hps_h5 *h, const char *object, const char *name,
                                long long *value, bool quiet);
enum hps_status hps_h5_get_real(struct hps_h5 *h, const char *object, const char *name, int n,
                                double *value, bool quiet);

/* A dataset of `nrow` rows of `width` elements (width 0: one-dimensional) of `type`
 * (H5T_NATIVE_FLOAT, _DOUBLE, _INT, _LLONG, _UCHAR), little-endian, no filters. chunk = 0:
 * contiguous, its place in the file is taken at once; else extendible, chunks of that many rows.
 * Groups on the way are made. Rows that nobody writes have no defined value: nothing is filled in.
 */
enum hps_status hps_h5_make(struct hps_h5 *h, const char *name, hid_t type, long long nrow,
                            int width, long long chunk);
/* Rows first..first+n-1; writing past the end of an extendible one grows it; reading past the end
 * is HPS_DECK. Collective over comm when parallel (n = 0 takes part). */
enum hps_status hps_h5_put(struct hps_h5 *h, const char *name, hid_t type, long long first,
                           long long n, int width, const void *from);
enum hps_status hps_h5_get(struct hps_h5 *h, const char *name, hid_t type, long long first,
                           long long n, int width, void *to);
/* Rows that are dealt to `parts` parts in blocks, block-cyclically: part p has the blocks p,
 * p + parts, ... of `block` rows each (the last may be short), as a sharded table has its rows. */
struct hps_h5_cyclic {
    long long nrow;             /* of the dataset */
    int width, block, part, parts;
    long long first, n;         /* of the part's own blocks; to its last one at most */
};
/* The rows of these blocks of rows->part, packed in `to` in ascending order. Collective over comm
 * when parallel. */
enum hps_status hps_h5_get_cyclic(struct hps_h5 *h, const char *name, hid_t type,
                                  const struct hps_h5_cyclic *rows, void *to);

/* Shape of a dataset: rows and width (0: one-dimensional). HPS_DECK when absent, or of another
 * rank than 1 or 2. */
enum hps_status hps_h5_shape(struct hps_h5 *h, const char *name, long long *nrow, int *width);
bool hps_h5_has(struct hps_h5 *h, const char *name);

/* What is in a file: every dataset with its shape (in the order of names), and every attribute of
 * an object as text (numbers with 17 digits, of a list the first eight). Texts live during the
 * call. HPS_DECK when the file is damaged. */
enum hps_status hps_h5_datasets(struct hps_h5 *h, void *self,
                                void (*each)(void *self, const char *name, long long nrow,
                                             int width));
enum hps_status hps_h5_attributes(struct hps_h5 *h, const char *object, void *self,
                                  void (*each)(void *self, const char *name, const char *text,
                                               bool number));

/* Where a contiguous dataset begins in the file, so that others can write it without HDF5. */
enum hps_status hps_h5_offset(struct hps_h5 *h, const char *name, uint64_t *offset);

/* Where the bytes of a dataset lie in the file, so that a reader thread can pread without HDF5:
 * refused (HPS_DECK) when not stored as `size`-byte (4, 8) little-endian numbers of `class`
 * (H5T_FLOAT: IEEE 754, H5T_INTEGER: two's complement), when rows were never written and HDF5 takes
 * them for another number than 0, or when the file ends before the last row. The file is one that
 * hps_h5_open has opened: it has no filters. Contiguous: chunk = nrow. Row r of width elements lies
 * at offset[r / chunk] + (r % chunk) * width * size. */
struct hps_h5_extent {
    long long nrow, chunk;
    int width, size;            /* width >= 1 here */
    int nchunk;
    uint64_t *offset;           /* (nchunk), UINT64_MAX: never written (read as 0); caller frees */
};
enum hps_status hps_h5_extent(struct hps_h5 *h, const char *name, H5T_class_t class, int size,
                              struct hps_h5_extent *extent);

#endif
