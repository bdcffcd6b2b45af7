/* import.c - the list of formats, and the options that they share. */
#include "data/import.h"

#include <stdio.h>
#include <string.h>

static const struct hps_import *const all[] = { &hps_import_csv, &hps_import_criteo,
                                                &hps_import_avazu, &hps_import_slot,
                                                &hps_import_libsvm };

enum { NFORMAT = sizeof all / sizeof *all };

const struct hps_field hps_import_fields[] = {
    HPS_FIELD(hps_import_opt, output, HPS_TEXT, NULL, 0, 0, "", "the dataset to write"),
    HPS_FIELD(hps_import_opt, test_output, HPS_TEXT, "", 0, 0, "",
              "a second dataset, for the rows of the split"),
    HPS_FIELD(hps_import_opt, schema, HPS_TEXT, "", 0, 0, "", "csv: what the columns mean (YAML)"),
    HPS_FIELD(hps_import_opt, scaling, HPS_TEXT, "", 0, 0, "",
              "take scaling constants and categories from this dataset"),
    HPS_FIELD(hps_import_opt, source, HPS_TEXT, "", 0, 0, "",
              "where the data come from; empty: the inputs' names"),
    HPS_FIELD(hps_import_opt, split, HPS_TEXT, "", 0, 0, "",
              "rows for --test-output: file (the last), random, or of the highest COLUMN"),
    HPS_FIELD(hps_import_opt, split_at, HPS_TEXT, "", 0, 0, "",
              "instead of a share: rows whose COLUMN is at least this number or date"),
    HPS_FIELD(hps_import_opt, test_share, HPS_REAL, "0", 0, 1, "",
              "share of the rows for --test-output; 0: as the schema says, or 0.2"),
    HPS_FIELD(hps_import_opt, seed, HPS_LONG, "1", 0, 1e15, "", "of --split random"),
    HPS_FIELD(hps_import_opt, buckets, HPS_LONG, "1000001", 2, 1e12, "",
              "ids of a slot; id 0 is for no value; csv: see the schema"),
    HPS_CHOICE(hps_import_opt, ids, "keep", "keep|hash",
               "slot, libsvm: the numbers as they are, below --buckets, or hashed"),
    HPS_CHOICE(hps_import_opt, labels, "binary", "binary|keep",
               "slot, libsvm: 1 for what is above 0, else 0; or the numbers"),
    HPS_FIELD(hps_import_opt, label_name, HPS_TEXT, "click", 0, 0, "", "slot: name of the label"),
    HPS_FIELD(hps_import_opt, dense_names, HPS_TEXT, "dense_feature", 0, 0, "",
              "slot: names of numbers, joined by commas"),
    HPS_FIELD(hps_import_opt, dense_columns, HPS_LONG, "0", 0, 1e5, "",
              "libsvm: indices 1 to this are numbers, those behind it ids"),
    HPS_CHOICE(hps_import_opt, dense, "auto",
               "auto|none|log1p|minmax|zscore|log1p+minmax|log1p+zscore",
               "scaling of the numbers (auto: criteo log1p, else none); log1p takes negative "
               "ones as 0; csv: see the schema"),
    HPS_CHOICE(hps_import_opt, header, "auto", "auto|yes|no",
               "criteo, avazu: is there a header line"),
    HPS_CHOICE(hps_import_opt, delimiter, "auto", "auto|tab|comma", "criteo: between the columns"),
    HPS_FIELD(hps_import_opt, bad_share, HPS_REAL, "0.01", 0, 1, "",
              "more bad lines than this share of all are refused"),
    HPS_FIELD(hps_import_opt, append, HPS_BOOL, "false", 0, 1, "",
              "add to the datasets, with their constants"),
    { 0 }
};

const struct hps_import *hps_import_find(const char *name)
{
    for (int i = 0; i < NFORMAT; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

static bool is_one(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, word, n) == 0 && (at[n] == '|' || !at[n])) return true;
    }
    return false;
}

bool hps_import_takes(const struct hps_import *format, const char *field)
{
    bool special = false;

    for (int i = 0; i < NFORMAT; i++)
        special |= is_one(all[i]->options, field);
    return !special || is_one(format->options, field);
}

const char *hps_import_words(void)
{
    static char words[256];
    size_t at = 0;

    for (int i = 0; i < NFORMAT; i++)
        at += (size_t)snprintf(words + at, sizeof words - at, "%s%s", i ? "|" : "", all[i]->name);
    return words;
}
