/* storage_opt.c - the deck's `storage` section. */
#include "ps/storage_opt.h"

#include <math.h>
#include <string.h>

static const struct hps_field storage_fields[] = {
    { "servers", HPS_REAL, offsetof(struct hps_storage_opt, servers), "0", 0, 1000000, "auto",
      "ranks",
      "dedicated parameter servers, which have the tables and train nothing; 0: the ranks that "
      "read a table have it; auto: as the plan chooses" },
    HPS_FIELD(hps_storage_opt, server_type, HPS_TEXT, "", 0, 0, "",
              "type of the servers (resources); empty: the cheapest CPU type with enough ranks, or "
              "as the plan chooses"),
    HPS_FIELD(hps_storage_opt, gpu_memory, HPS_REAL, "0", 0, 1e15, "bytes",
              "of each GPU for hot rows of tables, all are in host memory; 0: all on the GPU"),
    HPS_FIELD(hps_storage_opt, host_memory, HPS_REAL, "0", 0, 0, "bytes",
              "limit of the tier in host memory; this version keeps all rows there"),
    { "file", HPS_WORD, offsetof(struct hps_storage_opt, file), "", 0, 0, "", "",
      "tier in a file; this version has none" },
    { 0 }
};

static const struct hps_field message_fields[] = {
    HPS_CHOICE(hps_storage_opt, dense_gradients, "fp32", "fp32|bf16",
               "sums over ranks that share no memory; bf16: half the bytes, sums are fp32"),
    { 0 }
};

enum hps_status hps_storage_bind(struct hps_storage_opt *opt, const struct hps_deck *deck)
{
    static const char *const inner[] = { "messages", NULL };
    const struct hps_item *storage, *messages = NULL;
    enum hps_status st = hps_deck_map(deck, "storage", &storage);

    if (!st) st = hps_deck_bind(deck, storage, storage_fields, NULL, inner, opt);
    if (!st && isfinite(opt->servers) && opt->servers != floor(opt->servers))
        st = hps_deck_wrong(storage, "servers", "must be auto or a whole number");
    if (!st) st = hps_item_map(storage, "messages", &messages);
    if (!st) st = hps_deck_bind(deck, messages, message_fields, NULL, NULL, opt);
    return st;
}

void hps_storage_print_reference(enum hps_deck_form form)
{
    hps_deck_print_section(form, "storage", NULL);
    hps_deck_print_table(form, false, storage_fields);
    hps_deck_print_group(form, "messages: {...}", "what travels between ranks");
    hps_deck_print_table(form, true, message_fields);
}

bool hps_storage_rounds_gradients(const struct hps_storage_opt *opt)
{
    return strcmp(opt->dense_gradients, "bf16") == 0;
}
