/* storage_opt.h - the deck's `storage` section: where tables are, and how numbers travel. */
#ifndef HPS_PS_STORAGE_OPT_H
#define HPS_PS_STORAGE_OPT_H

#include "base/deck.h"
#include "hw/row_format.h"
#include "net/net.h"
#include "comm/messages.h"

/* The encoding in which each kind of message travels. */
struct hps_message_opt {
    const char *rows, *gradients, *activations, *dense, *ids;
    double dense_share;                 /* of the numbers of these, that travels with topk */
};

struct hps_storage_opt {
    double servers;                     /* a whole number; INFINITY: auto */
    const char *server_type;            /* "": the cheapest CPU type with enough ranks */
    double gpu_memory;                  /* 0: all rows are there          */
    double host_memory;                 /* 0: all rows are there; INFINITY: auto */
    const char *file;                   /* a directory; "": none          */
    const char *rows, *states;          /* how rows of tables are kept; NULL: fp32 */
    struct hps_message_opt messages;
};

/* Fill from the deck; text is borrowed from it. A wrong key: HPS_DECK with one message. */
enum hps_status hps_storage_bind(struct hps_storage_opt *opt, const struct hps_deck *deck);
/* The section's keys, on hps_out. */
void hps_storage_print_reference(enum hps_deck_form form);

/* The same, but for memory that has all rows. Pure. */
struct hps_storage_opt hps_storage_in_memory(const struct hps_storage_opt *opt);

/* Do numbers of rows travel as differences? Pure. */
bool hps_storage_sends_differences(const struct hps_storage_opt *opt);
/* The share of the numbers of dense gradients that travels; 0: all of them. Pure. */
double hps_storage_dense_share(const struct hps_storage_opt *opt);
/* Bytes of a message of dense gradients over those of as many numbers of fp32. Pure. */
double hps_storage_dense_bytes(const struct hps_storage_opt *opt, size_t n);
/* The encoding of a kind of numbers; fp32 where the option is not set at all, or where a share of
 * the numbers travels. Pure. */
const struct hps_codec_ops *hps_storage_codec(const struct hps_storage_opt *opt,
                                              enum hps_message kind);

/* How the rows of a table are kept: its layer's keys, or the section's. Pure. */
struct hps_row_format hps_storage_row_format(const struct hps_storage_opt *opt,
                                             const struct hps_table_shape *shape,
                                             const struct hps_train_opt *train);

#endif
