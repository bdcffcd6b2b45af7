/* writer.h - a dataset written row by row in bounded memory: buffers of whole blocks, a second pass
 * for the scaling, a checksum of what is in the file, PATH.part until it is whole.
 *
 * The checksum (attribute "checksum", "sum64:" and 16 hexadecimal digits) is the sum, modulo 2^64,
 * over all columns and all their elements of
 *     x = (bits + key + (i + 1) * 0x9e3779b97f4a7c15);  x ^= x >> 32;  x *= 0xd6e8feb86659fd93;
 *     x ^= x >> 29
 * where `bits` are the element's bits (float32 as 32, int64 as 64), i its number in the column (in
 * /dense row by row) and `key` is the hash of the column's name in the file without the first '/'
 * (hps_rng_key of 0 and the name). It does not depend on chunks, and rows can be added to it. */
#ifndef HPS_DATA_WRITER_H
#define HPS_DATA_WRITER_H

#include "data/data.h"
#include "data/scale.h"

enum { HPS_WRITER_ROWS = 65536 };   /* rows that are buffered, fewer where rows are long */

/* A slot as it is written. Text is borrowed. */
struct hps_writer_slot {
    const char *name;
    long long buckets;
    bool multi;
    const char *rule;               /* what its ids are, in words; NULL: not told               */
    long long missing, unknown;     /* counted by the caller                                    */
    const char *index;              /* texts of ids 1.., each ended by a zero; NULL: none       */
    size_t index_bytes;
};

/* What the rows look like. */
struct hps_writer_form {
    int D, nslot;
    const char *const *dense_name;  /* (D), borrowed                                            */
    struct hps_scale *scale;        /* (D), the caller's                                        */
    bool settled;                   /* the scaling constants are known beforehand               */
    struct hps_writer_slot *slot;   /* (nslot), the caller's                                    */
    const char *source;
    const char *rule;               /* what label 1 is, or the label, in words; NULL: not told  */
    bool classes;                   /* labels are 0 or 1                                        */
    bool any_scaling;               /* as the dataset has it that is appended to                */
    double rows_about;              /* a guess, for the size of chunks; 0: none                 */
};

/* The row under way is number `row` of the buffers: fill in label[row], dense[row * D + d] (NaN:
 * missing), ids[j][row] of slots with one id; add ids to multi slots; then hps_writer_row. */
struct hps_writer {
    const struct hps_writer_form *form;     /* borrowed */
    float *label, *dense;
    long long **ids;                        /* (nslot) */
    long long row, rows;                    /* filled, and the size of the buffers        */
    long long written;                      /* rows in the file                           */
    long long positives;
    struct hps_writer_impl *impl;           /* of writer*.c alone */
};

/* Begin PATH.part; HPS_OUTPUT where that cannot be. */
enum hps_status hps_writer_new(struct hps_writer **writer, const char *path,
                               const struct hps_writer_form *form);
/* Go on behind the rows of the dataset PATH: PATH.part is a copy of it, and the form must be that
 * of the dataset, as hps_writer_agrees has it (else HPS_DECK). */
enum hps_status hps_writer_append(struct hps_writer **writer, const char *path,
                                  const struct hps_writer_form *form);

void hps_writer_id(struct hps_writer *w, int slot, long long id);   /* to a multi slot            */
enum hps_status hps_writer_row(struct hps_writer *w);               /* the row under way is whole */

/* The last rows, the scaling, the attributes; `constants` (of the train file) instead of its own,
 * NULL: its own. No rows at all: HPS_DECK. The file is still open: notes may follow. */
enum hps_status hps_writer_finish(struct hps_writer *w, const struct hps_scale *constants);
enum hps_status hps_writer_note(struct hps_writer *w, const char *name, double value);
/* PATH.part is on the disk. */
enum hps_status hps_writer_close(struct hps_writer *w);
/* PATH.part becomes PATH. */
enum hps_status hps_writer_commit(struct hps_writer *w);
/* Not committed: PATH.part is removed. NULL is fine. */
void hps_writer_free(struct hps_writer *w);

/* Are the rows of the dataset PATH made as those of the form: dense features scaled, ids (and, with
 * `label`, labels) made by the same rules? HPS_DECK with a message that names the first that is
 * not. What the dataset does not tell is warned of, and taken to be. */
enum hps_status hps_writer_agrees(const char *path, const struct hps_writer_form *form, bool label);

/* Into form->scale, the constants that the dataset PATH was written with, for the same dense names,
 * and made as hps_writer_agrees has it (else HPS_DECK). Counts and statistics are 0. */
enum hps_status hps_writer_constants(const char *path, const struct hps_writer_form *form);
/* The texts of ids 1.. of a slot of the dataset PATH, each ended by a zero; to free with
 * hps_mem_free. HPS_DECK when the slot has none. */
enum hps_status hps_writer_index(const char *path, const char *slot, char **texts, size_t *bytes);

/* Is the content of a dataset what its checksum says? HPS_DECK with a message when it is not, *told
 * false when the file has no checksum. Reads the whole file, in pieces. */
enum hps_status hps_writer_verify(const struct hps_data *data, bool *told);

#endif
