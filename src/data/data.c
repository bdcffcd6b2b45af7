/* data.c - opens a dataset and checks its shape. */
#include "data/data_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"

enum { MAX_NAME = 255 };

const struct hps_field hps_data_fields[] = {
    HPS_FIELD(hps_data_opt, train, HPS_LIST, NULL, 0, 0, "",
              "datasets to train on; names may be patterns"),
    HPS_FIELD(hps_data_opt, test, HPS_LIST, "[]", 0, 0, "", "datasets to evaluate on; empty: none"),
    HPS_FIELD(hps_data_opt, batch, HPS_LONG, "256", 1, 1e9, "examples", "examples of one step"),
    HPS_FIELD(hps_data_opt, microbatches, HPS_INT, "4", 1, 65536, "", "parts of a batch"),
    HPS_FIELD(hps_data_opt, shuffle, HPS_BOOL, "true", 0, 1, "", "another order every epoch"),
    HPS_CHOICE(hps_data_opt, files, "mixed", "mixed|in_turn",
               "several files: shuffled as one, or one after the other, each in itself"),
    HPS_FIELD(hps_data_opt, prefetch, HPS_INT, "2", 1, 64, "batches", "batches read ahead"),
    { 0 }
};

/* A file while it is checked. */
struct look {
    struct hps_h5 h5;
    struct hps_data *data;
};

static enum hps_status wrong(const struct look *at, const char *what)
{
    HPS_SAY_ALL(HPS_ERROR, "%s: %s", at->h5.path, what);
    return HPS_DECK;
}

/* Split names at commas, in place; NULL: there are none. */
static const char **cut_names(char *text, int *n)
{
    const char **name;

    *n = 0;
    if (!*text) return NULL;
    *n = 1;
    for (const char *c = text; *c; c++)
        *n += *c == ',';
    name = hps_mem_new((size_t)*n, sizeof *name);
    for (int i = 0; i < *n; i++) {
        size_t length = strcspn(text, ",");
        name[i] = text;
        text[length] = 0;
        text += length + 1;
    }
    return name;
}

static enum hps_status check_names(const struct look *at, int n, const char *const *name)
{
    for (int i = 0; i < n; i++)
        if (!*name[i] || strlen(name[i]) > MAX_NAME || strchr(name[i], '/'))
            return wrong(at, "a slot or dense feature has an empty, too long or unfit name");
    return HPS_OK;
}

static enum hps_status look_at_root(struct look *at)
{
    struct hps_data *d = at->data;
    char *format = NULL;
    enum hps_status s = HPS_OK;

    if (hps_h5_get_text(&at->h5, "/", "format", &format, true))
        s = wrong(at, "not a heterps dataset: it has no text attribute 'format'");
    else if (strcmp(format, "heterps-dataset-1") != 0)
        s = wrong(at, "not a heterps dataset: its format is not heterps-dataset-1");
    hps_mem_free(format);
    if (!s) s = hps_h5_get_text(&at->h5, "/", "slots", &d->slot_text, false);
    if (!s) s = hps_h5_get_text(&at->h5, "/", "dense", &d->dense_text, false);
    return s;
}

/* An HDF5 dataset of one dimension, and where its bytes are. */
static enum hps_status look_at_column(struct look *at, const char *path, H5T_class_t class,
                                      int size, struct hps_h5_extent *extent)
{
    long long nrow;
    int width;
    enum hps_status s = hps_h5_shape(&at->h5, path, &nrow, &width);

    if (!s && width) {
        HPS_SAY_ALL(HPS_ERROR, "%s: dataset %s: its shape is (%lld, %d), (%lld) is wanted: one "
                               "dimension", at->h5.path, path, nrow, width, nrow);
        s = HPS_DECK;
    }
    return s ? s : hps_h5_extent(&at->h5, path, class, size, extent);
}

static enum hps_status look_at_label(struct look *at)
{
    struct hps_data *d = at->data;
    long long told;
    enum hps_status s = look_at_column(at, "label", H5T_FLOAT, 4, &d->label);

    if (s) return s;
    d->N = d->label.nrow;
    if (d->N < 1) return wrong(at, "the dataset has no examples");
    if (!hps_h5_get_long(&at->h5, "/", "examples", &told, true) && told != d->N)
        return wrong(at, "attribute examples is not the length of label");
    return HPS_OK;
}

static enum hps_status look_at_dense(struct look *at)
{
    struct hps_data *d = at->data;
    enum hps_status s;

    d->dense_name = cut_names(d->dense_text, &d->D);
    s = check_names(at, d->D, d->dense_name);
    if (s || d->D == 0) return s;
    s = hps_h5_extent(&at->h5, "dense", H5T_FLOAT, 4, &d->dense);
    if (!s && (d->dense.nrow != d->N || d->dense.width != d->D)) {
        HPS_SAY_ALL(HPS_ERROR,
                    "%s: dataset dense: its shape is (%lld, %d), (%lld, %d) is wanted: as many "
                    "rows as label, as many columns as attribute dense has names",
                    at->h5.path, d->dense.nrow, d->dense.width, d->N, d->D);
        s = HPS_DECK;
    }
    return s;
}

/* CSR: as many offsets as examples and one more, from 0 to the number of ids. */
static enum hps_status look_at_offsets(struct look *at, struct hps_slot *slot, const char *path)
{
    long long N = at->data->N, first = -1, last = -1;
    enum hps_status s = look_at_column(at, path, H5T_INTEGER, 8, &slot->offsets);

    if (s) return s;
    if (slot->offsets.nrow != N + 1) {
        HPS_SAY_ALL(HPS_ERROR, "%s: %s: %lld offsets instead of %lld", at->h5.path, path,
                    slot->offsets.nrow, N + 1);
        return HPS_DECK;
    }
    s = hps_h5_get(&at->h5, path, H5T_NATIVE_LLONG, 0, 1, 0, &first);
    if (!s) s = hps_h5_get(&at->h5, path, H5T_NATIVE_LLONG, N, 1, 0, &last);
    if (!s && (first != 0 || last != slot->ids.nrow)) {
        HPS_SAY_ALL(HPS_ERROR, "%s: %s go from %lld to %lld instead of from 0 to %lld",
                    at->h5.path, path, first, last, slot->ids.nrow);
        s = HPS_DECK;
    }
    return s;
}

static enum hps_status look_at_slot(struct look *at, struct hps_slot *slot)
{
    char path[MAX_NAME + 32];
    enum hps_status s;

    snprintf(path, sizeof path, "slots/%s", slot->name);
    s = hps_h5_get_long(&at->h5, path, "buckets", &slot->buckets, false);
    if (!s && slot->buckets < 1) s = wrong(at, "a slot has no buckets");
    snprintf(path, sizeof path, "slots/%s/ids", slot->name);
    if (!s) s = look_at_column(at, path, H5T_INTEGER, 8, &slot->ids);
    snprintf(path, sizeof path, "slots/%s/offsets", slot->name);
    slot->multi = !s && hps_h5_has(&at->h5, path);
    if (!s && slot->multi) return look_at_offsets(at, slot, path);
    if (!s && slot->ids.nrow != at->data->N) {
        HPS_SAY_ALL(HPS_ERROR, "%s: slot %s: %lld ids for %lld examples", at->h5.path, slot->name,
                    slot->ids.nrow, at->data->N);
        s = HPS_DECK;
    }
    return s;
}

static enum hps_status look_at_slots(struct look *at)
{
    struct hps_data *d = at->data;
    const char **name = cut_names(d->slot_text, &d->nslot);
    enum hps_status s = check_names(at, d->nslot, name);

    d->slot = hps_mem_new((size_t)d->nslot, sizeof *d->slot);
    for (int j = 0; j < d->nslot && !s; j++) {
        d->slot[j].name = name[j];
        for (int i = 0; i < j && !s; i++)
            if (strcmp(name[i], name[j]) == 0) s = wrong(at, "two slots have one name");
        if (!s) s = look_at_slot(at, &d->slot[j]);
    }
    hps_mem_free(name);
    return s;
}

/* The class balance, from the attribute or, where that is missing, by counting. */
static enum hps_status look_at_balance(struct look *at)
{
    enum { PIECE = 65536 };
    struct hps_data *d = at->data;
    long long positives = 0;
    float *label;
    enum hps_status s = HPS_OK;

    if (hps_h5_get_long(&at->h5, "/", "positives", &positives, true)) {
        label = hps_mem_new(PIECE, sizeof *label);
        for (long long first = 0; first < d->N && !s; first += PIECE) {
            long long n = d->N - first < PIECE ? d->N - first : PIECE;
            s = hps_h5_get(&at->h5, "label", H5T_NATIVE_FLOAT, first, n, 0, label);
            for (long long i = 0; i < n; i++)
                positives += label[i] > 0.5f;
        }
        hps_mem_free(label);
    }
    if (!s && (positives < 0 || positives > d->N)) {
        HPS_SAY_ALL(HPS_ERROR, "%s: attribute positives is %lld of %lld examples", at->h5.path,
                    positives, d->N);
        s = HPS_DECK;
    }
    d->positives = (double)positives / (double)d->N;
    return s;
}

/* A hash of the scaling constants of dense features; 0: the file has none. */
static void look_at_constants(struct look *at)
{
    static const char *const names[] = { "shift", "scale", "since" };
    struct hps_data *d = at->data;
    double *x = hps_mem_new((size_t)d->D, sizeof *x);
    char *words = NULL;

    if (d->D && !hps_h5_get_text(&at->h5, "dense", "scaling", &words, true))
        d->constants = hps_rng_key(0, words);
    for (int i = 0; i < 3 && words; i++) {
        if (hps_h5_get_real(&at->h5, "dense", names[i], d->D, x, true)) continue;
        for (int k = 0; k < d->D; k++) {
            uint64_t bits;
            memcpy(&bits, x + k, sizeof bits);
            d->constants = hps_rng_sub(d->constants, bits);
        }
    }
    hps_mem_free(words);
    hps_mem_free(x);
}

/* A hash of the rule of the labels; 0: the file has none. */
static void look_at_rule(struct look *at)
{
    char *rule;

    if (hps_h5_get_text(&at->h5, "label", "rule", &rule, true)) return;
    at->data->rule = hps_rng_key(0, rule);
    hps_mem_free(rule);
}

enum hps_status hps_data_open_one(struct hps_data **data, const char *path)
{
    struct hps_data *d = hps_data_new(path, 1);
    struct look at = { .data = d };
    enum hps_status s = hps_h5_open(&at.h5, path);

    *data = d->file[0] = d;

    if (s) return s;
    s = look_at_root(&at);
    if (!s) s = look_at_label(&at);
    if (!s) s = look_at_dense(&at);
    if (!s) s = look_at_slots(&at);
    if (!s) s = look_at_balance(&at);
    if (!s) look_at_constants(&at);
    if (!s) look_at_rule(&at);
    s = hps_h5_read(&at.h5, s);
    if (s) return s;
    hps_data_count(d);
    d->fd = open(d->path, O_RDONLY | O_CLOEXEC);
    if (d->fd >= 0) return HPS_OK;
    HPS_SAY_ALL(HPS_ERROR, "%s: %s", d->path, strerror(errno));
    return HPS_INPUT;
}

void hps_data_close(struct hps_data *data)
{
    if (!data) return;
    if (data->fd >= 0) close(data->fd);
    for (int f = 0; f < data->files.n; f++)
        if (data->file[f] != data) hps_data_close(data->file[f]);
    hps_mem_free(data->files.first);
    hps_mem_free(data->file);
    for (int j = 0; j < data->nslot; j++) {
        hps_mem_free(data->slot[j].ids.offset);
        hps_mem_free(data->slot[j].offsets.offset);
    }
    hps_mem_free(data->label.offset);
    hps_mem_free(data->dense.offset);
    hps_mem_free(data->slot);
    hps_mem_free(data->dense_name);
    hps_mem_free(data->slot_text);
    hps_mem_free(data->dense_text);
    hps_mem_free(data->path);
    hps_mem_free(data);
}
