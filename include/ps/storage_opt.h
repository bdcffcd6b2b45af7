/* storage_opt.h - the deck's `storage` section: where tables are, and how numbers travel. */
#ifndef HPS_PS_STORAGE_OPT_H
#define HPS_PS_STORAGE_OPT_H

#include "base/deck.h"

struct hps_storage_opt {
    double servers;                     /* a whole number; INFINITY: auto */
    const char *server_type;            /* "": the cheapest CPU type with enough ranks */
    double gpu_memory, host_memory;
    const char *file;
    const char *dense_gradients;        /* messages: fp32|bf16 */
};

/* Fill from the deck; text is borrowed from it. A wrong key: HPS_DECK with one message. */
enum hps_status hps_storage_bind(struct hps_storage_opt *opt, const struct hps_deck *deck);
/* The section's keys, on hps_out. */
void hps_storage_print_reference(enum hps_deck_form form);

/* Do dense gradients travel as bf16? Pure. */
bool hps_storage_rounds_gradients(const struct hps_storage_opt *opt);

#endif
