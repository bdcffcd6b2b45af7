/* options.c - the list of the deck's sections, and their binding. */
#include "app/options.h"

#include <string.h>

#include "base/say.h"
#include "net/layer.h"
#include "config.h"

static const char *const sections[] = { "run",       "data",     "model",   "train",
                                        "resources", "schedule", "storage", "checkpoint",
                                        "perf",      "generate", NULL };

/* An omitted section; `data` is required. */
static enum hps_status check_absent(const struct hps_deck *deck, const char *section,
                                    const struct hps_field *table)
{
    for (; table->name; table++)
        if (!table->preset)
            return hps_deck_wrong(hps_deck_root(deck), NULL, "%s.%s: must be given", section,
                                  table->name);
    return HPS_OK;
}

static enum hps_status bind(const struct hps_deck *deck, const char *section,
                            const struct hps_field *table, void *into)
{
    const struct hps_item *item;
    enum hps_status st = hps_deck_map(deck, section, &item);
    if (!st && !item) st = check_absent(deck, section, table);
    return st ? st : hps_deck_bind(deck, item, table, NULL, NULL, into);
}

/* The name is used for a directory. */
static enum hps_status check_name(const struct hps_options *o)
{
    const struct hps_item *run;
    const char *name = o->run.name;
    enum hps_status st = hps_deck_map(o->deck, "run", &run);

    if (!st && (!name[0] || name[0] == '.' || strchr(name, '/')))
        st = hps_deck_wrong(run, "name", "'%s' cannot name a directory in runs/", name);
    return st;
}

/* What asynchronous workers need, and what they cannot do. */
static enum hps_status check_async(const struct hps_options *o, const struct hps_item *train)
{
    const char *how = o->train.synchronization;

    if (strcmp(how, "bsp") != 0 && o->storage.servers == 0)
        return hps_deck_wrong(train, "synchronization", "%s needs servers, which apply gradients "
                              "as they come: storage.servers of at least 1", how);
    if (o->train.record && !hps_train_is_async(&o->train))
        return hps_deck_wrong(train, "record", "there is no order to record: under bsp it is "
                              "always the same");
    if (!hps_train_is_async(&o->train)) return HPS_OK;
    if (o->sched.replan && o->train.record)
        return hps_deck_wrong(train, "record", "a record is of one plan: not with schedule.replan");
    return HPS_OK;
}

/* Where servers hold the dense weights, each worker's gradients go to them alone, whole. */
static enum hps_status check_dense(const struct hps_options *o)
{
    const struct hps_item *storage, *messages = NULL;
    enum hps_status st = hps_deck_map(o->deck, "storage", &storage);
    bool served = hps_train_is_async(&o->train) && !hps_train_sums_dense(&o->train);

    if (!st) st = hps_item_map(storage, "messages", &messages);
    if (st || !served || hps_storage_dense_share(&o->storage) == 0) return st;
    return hps_deck_wrong(messages, "dense", "topk is for gradients that ranks sum, under bsp or "
                          "hybrid; under %s servers apply them", o->train.synchronization);
}

static enum hps_status check(const struct hps_options *o)
{
    const struct hps_item *data, *train;
    enum hps_status st = hps_deck_map(o->deck, "data", &data);
    if (!st) st = hps_deck_map(o->deck, "train", &train);
    if (!st) st = check_name(o);
    if (st) return st;
    if (o->data.train.n == 0) return hps_deck_wrong(data, "train", "names no dataset");
    if (o->data.microbatches > o->data.batch)
        return hps_deck_wrong(data, "microbatches",
                              "%d micro-batches are more than the %lld examples of a batch",
                              o->data.microbatches, o->data.batch);
    st = hps_train_check(&o->train, train);
    if (!st) st = check_async(o, train);
    return st ? st : check_dense(o);
}

static enum hps_status bind_all(struct hps_options *o)
{
    enum hps_status st = hps_deck_sections(o->deck, sections);
    if (!st) st = bind(o->deck, "run", hps_run_fields, &o->run);
    if (!st) st = bind(o->deck, "data", hps_data_fields, &o->data);
    if (!st) st = bind(o->deck, "train", hps_train_fields, &o->train);
    if (!st) st = hps_pool_bind(&o->pool, o->deck);
    if (!st) st = bind(o->deck, "schedule", hps_sched_fields, &o->sched);
    if (!st) st = hps_storage_bind(&o->storage, o->deck);
    if (!st) o->measured = hps_storage_in_memory(&o->storage);
    if (!st) st = bind(o->deck, "checkpoint", hps_ckpt_fields, &o->ckpt);
    if (!st) st = bind(o->deck, "perf", hps_count_fields, &o->perf);
    if (!st) st = bind(o->deck, "generate", hps_shape_fields, &o->generate);
    return st ? st : check(o);
}

enum hps_status hps_options_load(struct hps_options *o, const char *path, int nset,
                                 char *const *set, MPI_Comm world)
{
    memset(o, 0, sizeof *o);
    enum hps_status st = hps_deck_load(&o->deck, path, nset, set, world);
    if (!st) st = bind_all(o);
    return hps_agree(world, st);
}

void hps_options_done(struct hps_options *o)
{
    hps_pool_opt_done(&o->pool);
    hps_deck_free(o->deck);
}

static void print_section(enum hps_deck_form form, const char *section,
                          const struct hps_field *table)
{
    hps_deck_print_section(form, section, NULL);
    hps_deck_print_table(form, false, table);
}

static const char yaml_head[] =
    "# The reference deck: every section and key with its default.\n"
    "# Printed by `heterps deck`. Keys without a value here must be given.\n\n";

static const char man_head[] =
    ".\\\" printed by `heterps deck --man` from the tables that the program reads decks by\n"
    ".TH HETERPS\\-DECK 5 \"\" \"heterps " PACKAGE_VERSION "\" \"File Formats\"\n"
    ".SH NAME\n"
    "heterps\\-deck \\- what a training run of heterps trains, on what data and hardware\n"
    ".SH DESCRIPTION\n"
    "A deck is a YAML file: one document, without anchors, aliases and tags, whose sections are\n"
    "those below. A section or key that is left out has its default; a key that has none here\n"
    "must be given. An unknown key, a value of another type, and one that is out of bounds end\n"
    "the program with 65 and a message that begins FILE:LINE:COLUMN.\n"
    ".PP\n"
    "The option \\fB\\-\\-set\\fR \\fIKEY\\fB=\\fIVALUE\\fR sets a key: \\fIKEY\\fR walks through\n"
    "sections by name and through lists by the \\fBname\\fR of an entry, as in\n"
    "\\fBmodel.h1.width=128\\fR; \\fIVALUE\\fR is YAML.\n"
    ".PP\n"
    "B is the number of examples of a micro\\-batch, D that of the dense features.\n"
    ".SH SECTIONS\n";

static const char man_tail[] = ".SH SEE ALSO\n"
                               ".BR heterps (1),\n"
                               ".BR heterps\\-formats (5)\n";

void hps_options_print(enum hps_deck_form form)
{
    hps_out("%s", form == HPS_DECK_YAML ? yaml_head : man_head);
    print_section(form, "run", hps_run_fields);
    print_section(form, "data", hps_data_fields);
    hps_layer_print_reference(form);
    print_section(form, "train", hps_train_fields);
    hps_pool_print_reference(form);
    print_section(form, "schedule", hps_sched_fields);
    hps_storage_print_reference(form);
    print_section(form, "checkpoint", hps_ckpt_fields);
    print_section(form, "perf", hps_count_fields);
    print_section(form, "generate", hps_shape_fields);
    hps_out("%s", form == HPS_DECK_YAML ? "" : man_tail);
}
