/* writer.h - writes a dataset row by row in bounded memory: buffers of blocks, a second pass for
 * the scaling, a checksum of the content; the file is PATH.part until it is complete.
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
    const char *rule;               /* how its ids are made, a text; NULL: not stated           */
    long long missing, unknown;     /* counted by the caller                                    */
    const char *index;              /* texts of ids 1.., each ended by a zero; NULL: none       */
    size_t index_bytes;
};

/* The shape of the rows. */
struct hps_writer_form {
    int D, nslot;
    const char *const *dense_name;  /* (D), borrowed                                            */
    struct hps_scale *scale;        /* (D), the caller's                                        */
    bool settled;                   /* the scaling constants are given                          */
    struct hps_writer_slot *slot;   /* (nslot), the caller's                                    */
    const char *source;
    const char *rule;               /* how labels are made, a text; NULL: not stated            */
    bool classes;                   /* labels are 0 or 1                                        */
    bool any_scaling;               /* the scaling of the dataset that is appended to           */
    double rows_about;              /* a guess, for the size of chunks; 0: none                 */
};

/* The current row is number `row` of the buffers: fill in label[row], dense[row * D + d] (NaN:
 * missing) and ids[j][row] of slots with one id, add ids to multi slots, then call
 * hps_writer_row. */
struct hps_writer {
    const struct hps_writer_form *form;     /* borrowed */
    float *label, *dense;
    long long **ids;                        /* (nslot) */
    long long row, rows;                    /* filled, and the size of the buffers        */
    long long written;                      /* rows in the file                           */
    long long positives;
    struct hps_writer_impl *impl;           /* of writer*.c alone */
};

/* Create PATH.part; HPS_OUTPUT where that fails. */
enum hps_status hps_writer_new(struct hps_writer **writer, const char *path,
                               const struct hps_writer_form *form);
/* Append to the dataset PATH: PATH.part is a copy of it, and the form must agree with the dataset
 * (hps_writer_agrees, else HPS_DECK). */
enum hps_status hps_writer_append(struct hps_writer **writer, const char *path,
                                  const struct hps_writer_form *form);

/* Add an id to a multi slot of the current row; the current row is complete. */
void hps_writer_id(struct hps_writer *w, int slot, long long id);
enum hps_status hps_writer_row(struct hps_writer *w);

/* Write the last rows, the scaling and the attributes; `constants`: those of the train file, NULL:
 * from its own rows. Without rows HPS_DECK. The file stays open: notes may follow. */
enum hps_status hps_writer_finish(struct hps_writer *w, const struct hps_scale *constants);
enum hps_status hps_writer_note(struct hps_writer *w, const char *name, double value);
/* Flush PATH.part to the disk. */
enum hps_status hps_writer_close(struct hps_writer *w);
/* Rename PATH.part to PATH. */
enum hps_status hps_writer_commit(struct hps_writer *w);
/* Free; PATH.part is removed unless it was committed. NULL is fine. */
void hps_writer_free(struct hps_writer *w);

/* Do the rows of the dataset PATH agree with the form: the same scaling, the same rules of ids and,
 * with `label`, of labels? HPS_DECK with a message that names the first difference. A rule that the
 * dataset does not state is assumed to agree, with a warning. */
enum hps_status hps_writer_agrees(const char *path, const struct hps_writer_form *form, bool label);

/* Set form->scale to the constants of the dataset PATH, which must have the same dense names and
 * agree with the form (hps_writer_agrees, else HPS_DECK). Counts and statistics are 0. */
enum hps_status hps_writer_constants(const char *path, const struct hps_writer_form *form);
/* The texts of ids 1, 2, .. of a slot of the dataset PATH, zero-terminated; to free with
 * hps_mem_free. HPS_DECK when the slot has none. */
enum hps_status hps_writer_index(const char *path, const char *slot, char **texts, size_t *bytes);

/* Compare the content of a dataset with its checksum. HPS_DECK with a message when they differ;
 * *has_checksum [out]. Reads the whole file in blocks. */
enum hps_status hps_writer_verify(const struct hps_data *data, bool *has_checksum);

#endif
