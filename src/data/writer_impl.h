/* writer_impl.h - the private struct of the writer. */
#ifndef HPS_DATA_WRITER_IMPL_H
#define HPS_DATA_WRITER_IMPL_H

#include "base/part_file.h"
#include "data/writer.h"

struct hps_writer_column {
    char *ids, *offsets;            /* names in the file; offsets NULL: one id an example */
    uint64_t ids_key, offsets_key;
    long long *offset;              /* (rows) behind each buffered row, from 0            */
    long long nid, nid_written;     /* multi: buffered, in the file                       */
    size_t cap;
};

struct hps_writer_impl {
    struct hps_part_file file;
    struct hps_h5 h5;
    bool exists;                    /* this program created PATH.part                      */
    bool grows;                     /* it is appended to: attributes that it lacks are not added */
    bool made;                      /* its datasets were created                           */
    bool settled;                   /* rows are scaled when they are buffered              */
    bool sums;                      /* it has a checksum                                   */
    bool multi;                     /* a slot has any number of ids                        */
    uint64_t sum;
    char *buffer;                   /* label, dense, ids of slots with one id              */
    struct hps_writer_column *column;   /* (nslot) */
};

/* Write the buffered rows to the file; `last`: there are no more. */
enum hps_status hps_writer_flush(struct hps_writer *w, bool last);

#endif
