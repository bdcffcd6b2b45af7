/* writer_file.c - the file of a writer: created or appended to, finished, renamed. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"
#include "data/checksum.h"
#include "data/writer.h"
#include "data/writer_impl.h"

enum { BUFFER_BYTES = 32 << 20 };

/* Columns are not multiples of 4 KiB apart, or they would compete for few cache sets. */
static size_t column_bytes(const struct hps_writer *w, size_t element)
{
    return ((size_t)w->rows * element + 63) / 64 * 64 + 192;
}

static void new_buffers(struct hps_writer *w)
{
    const struct hps_writer_form *f = w->form;
    size_t row = sizeof(float) * (size_t)(f->D + 1) + sizeof(long long) * (size_t)f->nslot;
    char *at;

    w->rows = HPS_WRITER_ROWS;
    while (w->rows > HPS_BLOCK_ROWS &&
           ((size_t)w->rows * row > BUFFER_BYTES ||     /* or many more than there will be */
            (f->rows_about > 0 && (double)w->rows > 8 * f->rows_about)))
        w->rows /= 2;
    at = w->impl->buffer = hps_mem_new(column_bytes(w, sizeof(float)) +
                                      column_bytes(w, sizeof(float) * (size_t)f->D) +
                                      column_bytes(w, sizeof(long long)) * (size_t)f->nslot, 1);
    w->label = (float *)(void *)at;
    at += column_bytes(w, sizeof(float));
    w->dense = (float *)(void *)at;
    at += column_bytes(w, sizeof(float) * (size_t)f->D);
    for (int j = 0; j < f->nslot; j++) {
        struct hps_writer_column *c = &w->impl->column[j];
        if (f->slot[j].multi) {
            w->impl->multi = true;
            c->offset = hps_mem_new((size_t)w->rows, sizeof *c->offset);
            continue;
        }
        w->ids[j] = (long long *)(void *)at;
        at += column_bytes(w, sizeof(long long));
    }
}

static struct hps_writer *new_writer(const char *path, const struct hps_writer_form *form)
{
    struct hps_writer *w = hps_mem_new(1, sizeof *w);

    w->form = form;
    w->impl = hps_mem_new(1, sizeof *w->impl);
    w->impl->file = hps_part_file(path);
    w->impl->h5.file = -1;
    w->impl->sums = true;
    w->impl->settled = form->settled || !hps_scale_needs_pass(form->scale, form->D);
    w->impl->column = hps_mem_new((size_t)form->nslot, sizeof *w->impl->column);
    w->ids = hps_mem_new((size_t)form->nslot, sizeof *w->ids);
    for (int j = 0; j < form->nslot; j++) {
        struct hps_writer_column *c = &w->impl->column[j];
        c->ids = hps_mem_print("slots/%s/ids", form->slot[j].name);
        c->ids_key = hps_checksum_key(c->ids);
        if (form->slot[j].multi) c->offsets = hps_mem_print("slots/%s/offsets", form->slot[j].name);
        if (form->slot[j].multi) c->offsets_key = hps_checksum_key(c->offsets);
    }
    new_buffers(w);
    return w;
}

enum hps_status hps_writer_new(struct hps_writer **writer, const char *path,
                               const struct hps_writer_form *form)
{
    struct hps_writer *w = new_writer(path, form);
    enum hps_status s = hps_folder_for(path);

    if (!s) s = hps_h5_create(&w->impl->h5, w->impl->file.part, MPI_COMM_NULL);
    w->impl->exists = !s;
    *writer = w;
    if (!s) return HPS_OK;
    hps_writer_free(w);
    *writer = NULL;
    return s;
}

static enum hps_status system_trouble(const char *path, enum hps_status status)
{
    HPS_SAY(HPS_ERROR, "%s: %s", path, strerror(errno));
    return status;
}

static enum hps_status copy_bytes(int from, int to, const struct hps_writer_impl *impl)
{
    enum { PIECE = 1 << 20 };
    char *buffer = hps_mem_new(PIECE, 1);
    enum hps_status s = HPS_OK;
    ssize_t n = 1;

    while (!s && n > 0) {
        do
            n = read(from, buffer, PIECE);
        while (n < 0 && errno == EINTR);
        if (n < 0) s = system_trouble(impl->file.path, HPS_INPUT);
        for (ssize_t done = 0, put; !s && done < n; done += put) {
            put = write(to, buffer + done, (size_t)(n - done));
            if (put < 0 && errno == EINTR)
                put = 0;
            else if (put < 0)
                s = system_trouble(impl->file.part, HPS_OUTPUT);
        }
    }
    hps_mem_free(buffer);
    return s;
}

/* The dataset is unchanged until its longer copy is complete. */
static enum hps_status copy_file(struct hps_writer_impl *impl)
{
    int from = open(impl->file.path, O_RDONLY | O_CLOEXEC), to;
    enum hps_status s;

    if (from < 0) return system_trouble(impl->file.path, HPS_INPUT);
    to = hps_file_new(impl->file.part, 0);
    impl->exists = to >= 0;
    s = to < 0 ? system_trouble(impl->file.part, HPS_OUTPUT) : copy_bytes(from, to, impl);
    if (to >= 0 && close(to) != 0 && !s) s = system_trouble(impl->file.part, HPS_OUTPUT);
    close(from);
    return s;
}

static const char *difference(const struct hps_writer_form *f, const struct hps_data *d)
{
    if (f->D != d->D || f->nslot != d->nslot)
        return "it has another number of slots or dense features";
    for (int i = 0; i < f->D; i++)
        if (strcmp(f->dense_name[i], d->dense_name[i]) != 0) return "it has other dense features";
    for (int j = 0; j < f->nslot; j++)
        if (strcmp(f->slot[j].name, d->slot[j].name) != 0 ||
            f->slot[j].multi != d->slot[j].multi)
            return "it has other slots";
    for (int j = 0; j < f->nslot; j++)
        if (f->slot[j].buckets != d->slot[j].buckets)
            return "its slots have other numbers of buckets";
    return NULL;
}

/* Add a count of a slot to *to, where the dataset has it. */
static enum hps_status add_count(struct hps_h5 *h, const char *slot, const char *name,
                                 long long *to)
{
    long long count;

    if (hps_h5_get_long(h, slot, name, &count, true)) return HPS_OK;
    if (count < 0) {
        HPS_SAY(HPS_ERROR, "%s: attribute %s of %s is %lld: no count", h->path, name, slot, count);
        return HPS_DECK;
    }
    *to += count;
    return HPS_OK;
}

/* The counts of the existing rows. */
static enum hps_status take_over(struct hps_writer *w, const struct hps_data *d)
{
    struct hps_writer_impl *impl = w->impl;
    char *text = NULL;
    enum hps_status s = HPS_OK;

    w->written = d->N;
    w->positives = (long long)(d->positives * (double)d->N + 0.5);
    impl->sums = !hps_h5_get_text(&impl->h5, "/", "checksum", &text, true) &&
                strncmp(text, "sum64:", 6) == 0;
    if (impl->sums) impl->sum = strtoull(text + 6, NULL, 16);
    hps_mem_free(text);
    for (int j = 0; j < d->nslot && !s; j++) {
        struct hps_writer_slot *slot = &w->form->slot[j];
        impl->column[j].nid_written = d->slot[j].multi ? d->slot[j].ids.nrow : 0;
        text = hps_mem_print("slots/%s", d->slot[j].name);
        s = add_count(&impl->h5, text, "missing", &slot->missing);
        if (!s) s = add_count(&impl->h5, text, "unknown", &slot->unknown);
        hps_mem_free(text);
    }
    return s ? s : hps_scale_load(w->form->scale, d->D, &impl->h5);
}

enum hps_status hps_writer_append(struct hps_writer **writer, const char *path,
                                  const struct hps_writer_form *form)
{
    struct hps_data *d;
    struct hps_writer *w;
    const char *why;
    enum hps_status s = hps_data_open(&d, path, MPI_COMM_NULL);

    *writer = NULL;
    if (s) return s;
    w = new_writer(path, form);
    w->impl->grows = w->impl->made = w->impl->settled = true;
    why = difference(form, d);
    if (why) {
        HPS_SAY(HPS_ERROR, "%s: rows cannot be appended: %s", path, why);
        s = HPS_DECK;
    }
    if (!s) s = hps_writer_agrees(path, form, true);
    if (!s) s = copy_file(w->impl);
    if (!s) s = hps_h5_change(&w->impl->h5, w->impl->file.part);
    if (!s) s = take_over(w, d);
    hps_data_close(d);
    if (s)
        hps_writer_free(w);
    else
        *writer = w;
    return s;
}

static enum hps_status put_slot(struct hps_writer *w, int j)
{
    const struct hps_writer_slot *slot = &w->form->slot[j];
    struct hps_h5 *h = &w->impl->h5;
    char *group = hps_mem_print("slots/%s", slot->name);
    char *index = hps_mem_print("slots/%s/index", slot->name);
    enum hps_status s = hps_h5_put_long(h, group, "buckets", slot->buckets);

    if (!s) s = hps_h5_put_long(h, group, "multi", slot->multi);
    if (!s) s = hps_h5_put_long(h, group, "missing", slot->missing);
    if (!s) s = hps_h5_put_long(h, group, "unknown", slot->unknown);
    if (!s && slot->rule && !w->impl->grows) s = hps_h5_put_text(h, group, "rule", slot->rule);
    if (!s && slot->index && !hps_h5_has(h, index)) {
        long long bytes = (long long)slot->index_bytes;
        s = hps_h5_make(h, index, H5T_NATIVE_UCHAR, bytes, 0, 0);
        if (!s) s = hps_h5_put(h, index, H5T_NATIVE_UCHAR, 0, bytes, 0, slot->index);
    }
    hps_mem_free(index);
    hps_mem_free(group);
    return s;
}

static enum hps_status put_names(struct hps_writer *w, const char *attribute, int n,
                                 const char *(*name)(const struct hps_writer_form *, int))
{
    size_t bytes = 1, at = 0;
    enum hps_status s;

    for (int i = 0; i < n; i++)
        bytes += strlen(name(w->form, i)) + 1;
    char *text = hps_mem_new(bytes, 1);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? "," : "", name(w->form, i));
    s = hps_h5_put_text(&w->impl->h5, "/", attribute, text);
    hps_mem_free(text);
    return s;
}

static const char *slot_name(const struct hps_writer_form *f, int j)
{
    return f->slot[j].name;
}

static const char *dense_name(const struct hps_writer_form *f, int d)
{
    return f->dense_name[d];
}

/* Append to the source attribute of an existing file. */
static enum hps_status put_source(struct hps_writer *w)
{
    char *before = NULL, *text;
    enum hps_status s;

    hps_h5_get_text(&w->impl->h5, "/", "source", &before, true);
    text = hps_mem_print("%s%s%s", before ? before : "", before ? " + " : "", w->form->source);
    s = hps_h5_put_text(&w->impl->h5, "/", "source", text);
    hps_mem_free(text);
    hps_mem_free(before);
    return s;
}

static enum hps_status put_root(struct hps_writer *w)
{
    struct hps_h5 *h = &w->impl->h5;
    char text[32];
    enum hps_status s = hps_h5_put_text(h, "/", "format", "heterps-dataset-1");

    if (!s) s = hps_h5_put_long(h, "/", "examples", w->written);
    if (!s) s = hps_h5_put_long(h, "/", "positives", w->positives);
    if (!s) s = put_names(w, "slots", w->form->nslot, slot_name);
    if (!s) s = put_names(w, "dense", w->form->D, dense_name);
    if (!s) s = put_source(w);
    if (!s && w->form->rule && !w->impl->grows)
        s = hps_h5_put_text(h, "label", "rule", w->form->rule);
    snprintf(text, sizeof text, "sum64:%016llx", (unsigned long long)w->impl->sum);
    if (!s && w->impl->sums) s = hps_h5_put_text(h, "/", "checksum", text);
    return s;
}

/* The second pass: scale the rows that were written before the constants were known. */
static enum hps_status scale_rows(struct hps_writer *w)
{
    struct hps_h5 *h = &w->impl->h5;
    uint64_t key = hps_checksum_key("dense");
    int D = w->form->D;
    enum hps_status s = HPS_OK;

    for (long long first = 0; first < w->written && !s; first += w->rows) {
        long long n = w->written - first < w->rows ? w->written - first : w->rows;
        s = hps_h5_get(h, "dense", H5T_NATIVE_FLOAT, first, n, D, w->dense);
        if (s) break;
        hps_scale_apply(w->form->scale, D, n, w->dense);
        w->impl->sum += hps_checksum_reals(key, first * D, n * D, w->dense);
        s = hps_h5_put(h, "dense", H5T_NATIVE_FLOAT, first, n, D, w->dense);
    }
    return s;
}

enum hps_status hps_writer_finish(struct hps_writer *w, const struct hps_scale *constants)
{
    const struct hps_writer_form *f = w->form;
    enum hps_status s = hps_writer_flush(w, true);

    if (!s && w->written == 0) {
        HPS_SAY(HPS_ERROR, "%s: there is no row to write", w->impl->file.path);
        s = HPS_DECK;
    }
    if (!w->impl->settled) hps_scale_compute(f->scale, f->D);
    for (int d = 0; d < f->D && constants && !w->impl->settled; d++) {
        f->scale[d].shift = constants[d].shift;
        f->scale[d].scale = constants[d].scale;
    }
    if (!s && !w->impl->settled) s = scale_rows(w);
    if (!s) s = put_root(w);
    for (int j = 0; j < f->nslot && !s; j++)
        s = put_slot(w, j);
    if (!s) s = hps_scale_save(f->scale, f->D, &w->impl->h5);
    return s;
}

enum hps_status hps_writer_note(struct hps_writer *w, const char *name, double value)
{
    return hps_h5_put_real(&w->impl->h5, "/", name, 1, &value);
}

enum hps_status hps_writer_close(struct hps_writer *w)
{
    return hps_h5_close(&w->impl->h5);
}

enum hps_status hps_writer_commit(struct hps_writer *w)
{
    const char *path = w->impl->file.path;
    bool renamed, good = hps_part_file_commit(&w->impl->file, &renamed);

    assert(w->impl->h5.file < 0);
    w->impl->exists = !renamed;
    if (good) return HPS_OK;
    if (!renamed) return system_trouble(path, HPS_OUTPUT);
    HPS_SAY(HPS_ERROR, "%s is whole, but its name may not last: %s", path, strerror(errno));
    return HPS_OUTPUT;
}

void hps_writer_free(struct hps_writer *w)
{
    if (!w) return;
    hps_h5_drop(&w->impl->h5);
    hps_part_file_done(&w->impl->file, w->impl->exists);
    for (int j = 0; j < w->form->nslot; j++) {
        struct hps_writer_column *c = &w->impl->column[j];
        if (w->form->slot[j].multi) hps_mem_free(w->ids[j]);
        hps_mem_free(c->offset);
        hps_mem_free(c->ids);
        hps_mem_free(c->offsets);
    }
    hps_mem_free(w->impl->buffer);
    hps_mem_free(w->impl->column);
    hps_mem_free(w->impl);
    hps_mem_free(w->ids);
    hps_mem_free(w);
}
