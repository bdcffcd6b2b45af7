/* storage_opt.c - the deck's `storage` section. */
#include "ps/storage_opt.h"

#include <math.h>
#include <string.h>

#include "comm/topk.h"

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
    { "host_memory", HPS_REAL, offsetof(struct hps_storage_opt, host_memory), "0", 0, 1e15, "auto",
      "bytes",
      "of each rank on a CPU for hot rows of tables, the others are in `file`; auto: what the host "
      "or its memory group leaves; 0: all in memory" },
    HPS_FIELD(hps_storage_opt, file, HPS_TEXT, "", 0, 0, "",
              "directory on a disk of the node, for rows that `host_memory` does not hold; files "
              "in it have no name and end with the run; empty: none"),
    HPS_CHOICE(hps_storage_opt, rows, "fp32", HPS_NUMBER_WEIGHTS,
               "weights of rows at rest, rounded by chance at each update; int8: with a scale a "
               "row. On CPUs"),
    HPS_CHOICE(hps_storage_opt, states, "fp32", HPS_NUMBER_STATES,
               "optimiser states of rows at rest. On CPUs"),
    { 0 }
};

static const struct hps_field message_fields[] = {
    HPS_CHOICE(hps_message_opt, rows, "fp32", "fp32|bf16|fp16",
               "of tables, from owners to readers that share no memory with them; half the bytes"),
    HPS_CHOICE(hps_message_opt, gradients, "fp32", "fp32|bf16|fp16",
               "of these rows, from readers to owners; half the bytes, sums are fp32"),
    HPS_CHOICE(hps_message_opt, activations, "fp32", "fp32|bf16|fp16",
               "between stages, and their gradients; half the bytes"),
    HPS_CHOICE(hps_message_opt, dense, "fp32", "fp32|bf16|fp16|topk",
               "gradients summed over ranks that share no memory; half the bytes, sums are fp32; "
               "topk: the largest alone, what is left is added to the next ones"),
    HPS_FIELD(hps_message_opt, dense_share, HPS_REAL, "0.01", 1e-6, 1, "",
              "of the numbers of dense gradients that travel with topk"),
    HPS_CHOICE(hps_message_opt, ids, "plain", "plain|delta",
               "numbers of rows in requests to owners that share no memory with the reader; delta: "
               "as differences, each in as few bytes as it needs"),
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
    if (!st && (opt->host_memory > 0) != (opt->file[0] != '\0'))
        st = hps_deck_wrong(storage, opt->file[0] ? "file" : "host_memory",
                            "host_memory and file are given together or not at all");
    if (!st) st = hps_item_map(storage, "messages", &messages);
    if (!st) st = hps_deck_bind(deck, messages, message_fields, NULL, NULL, &opt->messages);
    return st;
}

void hps_storage_print_reference(enum hps_deck_form form)
{
    hps_deck_print_section(form, "storage", NULL);
    hps_deck_print_table(form, false, storage_fields);
    hps_deck_print_group(form, "messages: {...}", "what travels between ranks");
    hps_deck_print_table(form, true, message_fields);
}

const struct hps_codec_ops *hps_storage_codec(const struct hps_storage_opt *opt,
                                              enum hps_message kind)
{
    const struct hps_message_opt *m = &opt->messages;
    const char *const word[HPS_MESSAGES] = { [HPS_MESSAGE_ROWS] = m->rows,
                                             [HPS_MESSAGE_GRADIENTS] = m->gradients,
                                             [HPS_MESSAGE_ACTIVATIONS] = m->activations,
                                             [HPS_MESSAGE_DENSE] = m->dense };

    if (kind == HPS_MESSAGE_DENSE && hps_storage_dense_share(opt) > 0) return &hps_codec_fp32;
    return word[kind] ? hps_codec_find(word[kind]) : &hps_codec_fp32;
}

double hps_storage_dense_share(const struct hps_storage_opt *opt)
{
    const char *dense = opt->messages.dense;

    return dense && strcmp(dense, "topk") == 0 ? opt->messages.dense_share : 0;
}

double hps_storage_dense_bytes(const struct hps_storage_opt *opt, size_t n)
{
    double share = hps_storage_dense_share(opt);

    if (share == 0 || n == 0)
        return (double)hps_storage_codec(opt, HPS_MESSAGE_DENSE)->bytes(1) / sizeof(float);
    return (double)hps_topk_words(n, hps_topk_count(n, share)) / (double)n;
}

struct hps_storage_opt hps_storage_in_memory(const struct hps_storage_opt *opt)
{
    struct hps_storage_opt all = *opt;

    all.host_memory = 0;
    all.file = "";
    return all;
}

bool hps_storage_sends_differences(const struct hps_storage_opt *opt)
{
    return opt->messages.ids && strcmp(opt->messages.ids, "delta") == 0;
}

static enum hps_number number_of(const char *of_table, const char *of_all)
{
    bool own = of_table && strcmp(of_table, "same") != 0;

    return own ? hps_number_find(of_table) : of_all ? hps_number_find(of_all) : HPS_AS_FP32;
}

struct hps_row_format hps_storage_row_format(const struct hps_storage_opt *opt,
                                             const struct hps_table_shape *shape,
                                             const struct hps_train_opt *train)
{
    struct hps_rule rule = hps_opt_rule(train, &shape->override, hps_update_of(0, 1));
    size_t dim = (size_t)shape->dim, stride = hps_rule_stride(&rule, shape->dim);

    return hps_row_format_of(number_of(shape->row_encoding, opt->rows),
                             number_of(shape->state_encoding, opt->states), dim, stride - dim);
}
