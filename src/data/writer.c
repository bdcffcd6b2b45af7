/* writer.c - buffers rows of a dataset, scales them, computes the checksum, writes them. */
#include "data/writer.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/checksum.h"
#include "data/writer_impl.h"

enum { MULTI_BYTES = 16 << 20, MIN_CHUNK = 1024, CHUNKS = 256 };

void hps_writer_id(struct hps_writer *w, int slot, long long id)
{
    struct hps_writer_column *c = &w->impl->column[slot];

    hps_mem_grow(&w->ids[slot], &c->cap, (size_t)c->nid + 1, sizeof **w->ids);
    w->ids[slot][c->nid++] = id;
}

enum hps_status hps_writer_row(struct hps_writer *w)
{
    long long most = 0;

    w->positives += w->label[w->row] > 0.5f;
    for (int j = 0; j < w->form->nslot && w->impl->multi; j++) {
        struct hps_writer_column *c = &w->impl->column[j];
        if (!w->form->slot[j].multi) continue;
        c->offset[w->row] = c->nid;
        most += c->nid;
    }
    w->row++;
    if (w->row < w->rows && most * (long long)sizeof **w->ids < MULTI_BYTES) return HPS_OK;
    return hps_writer_flush(w, false);
}

/* Rows of a chunk: all, where they fit the buffers; else 65,536 or, for very many rows, more, so
 * that a column has some 256 chunks at most: finding them takes time quadratic in their number. */
static long long chunk_rows(const struct hps_writer *w, bool last)
{
    long long chunk = HPS_WRITER_ROWS;

    if (last) return w->row > MIN_CHUNK ? w->row : MIN_CHUNK;
    while ((double)chunk * CHUNKS < w->form->rows_about && chunk < (long long)1 << 24)
        chunk *= 2;
    return chunk;
}

static enum hps_status make_slot(struct hps_writer *w, int j, long long chunk)
{
    struct hps_writer_column *c = &w->impl->column[j];
    long long zero = 0, ids = chunk;
    enum hps_status s;

    if (c->offsets) { /* as many ids an example as so far; no room for more than there are */
        double about = w->form->rows_about, rows = (double)chunk;
        if (about >= 1) rows = fmin(rows, 1.01 * about);
        ids = (long long)(rows * ((double)c->nid + 1) / (double)(w->row + 1));
        ids = ids > (long long)rows ? ids : (long long)rows;
        ids = ids > MIN_CHUNK ? ids : MIN_CHUNK;
    }
    s = hps_h5_make(&w->impl->h5, c->ids, H5T_NATIVE_LLONG, 0, 0, ids);
    if (s || !c->offsets) return s;
    s = hps_h5_make(&w->impl->h5, c->offsets, H5T_NATIVE_LLONG, 0, 0, chunk);
    if (!s) s = hps_h5_put(&w->impl->h5, c->offsets, H5T_NATIVE_LLONG, 0, 1, 0, &zero);
    w->impl->sum += hps_checksum_longs(c->offsets_key, 0, 1, &zero);
    return s;
}

static enum hps_status make_all(struct hps_writer *w, bool last)
{
    long long chunk = chunk_rows(w, last);
    enum hps_status s = hps_h5_make(&w->impl->h5, "label", H5T_NATIVE_FLOAT, 0, 0, chunk);

    if (!s && w->form->D)
        s = hps_h5_make(&w->impl->h5, "dense", H5T_NATIVE_FLOAT, 0, w->form->D, chunk);
    for (int j = 0; j < w->form->nslot && !s; j++)
        s = make_slot(w, j, chunk);
    w->impl->made = true;
    return s;
}

static enum hps_status flush_multi(struct hps_writer *w, int j)
{
    struct hps_writer_column *c = &w->impl->column[j];
    enum hps_status s = hps_h5_put(&w->impl->h5, c->ids, H5T_NATIVE_LLONG, c->nid_written, c->nid,
                                   0, w->ids[j]);

    w->impl->sum += hps_checksum_longs(c->ids_key, c->nid_written, c->nid, w->ids[j]);
    for (long long i = 0; i < w->row; i++)
        c->offset[i] += c->nid_written;
    if (!s)
        s = hps_h5_put(&w->impl->h5, c->offsets, H5T_NATIVE_LLONG, w->written + 1, w->row, 0,
                       c->offset);
    w->impl->sum += hps_checksum_longs(c->offsets_key, w->written + 1, w->row, c->offset);
    c->nid_written += c->nid;
    c->nid = 0;
    return s;
}

static enum hps_status flush_slot(struct hps_writer *w, int j)
{
    struct hps_writer_column *c = &w->impl->column[j];

    if (c->offsets) return flush_multi(w, j);
    w->impl->sum += hps_checksum_longs(c->ids_key, w->written, w->row, w->ids[j]);
    return hps_h5_put(&w->impl->h5, c->ids, H5T_NATIVE_LLONG, w->written, w->row, 0, w->ids[j]);
}

static enum hps_status flush_dense(struct hps_writer *w)
{
    int D = w->form->D;

    hps_scale_collect(w->form->scale, D, w->row, w->dense);
    if (w->impl->settled) {
        hps_scale_apply(w->form->scale, D, w->row, w->dense);
        w->impl->sum += hps_checksum_reals(hps_checksum_key("dense"), w->written * D, w->row * D,
                                          w->dense);
    }
    return hps_h5_put(&w->impl->h5, "dense", H5T_NATIVE_FLOAT, w->written, w->row, D, w->dense);
}

enum hps_status hps_writer_flush(struct hps_writer *w, bool last)
{
    enum hps_status s = HPS_OK;

    if (w->row == 0) return HPS_OK;
    if (!w->impl->made) s = make_all(w, last);
    if (!s)
        s = hps_h5_put(&w->impl->h5, "label", H5T_NATIVE_FLOAT, w->written, w->row, 0, w->label);
    w->impl->sum += hps_checksum_reals(hps_checksum_key("label"), w->written, w->row, w->label);
    if (!s && w->form->D) s = flush_dense(w);
    for (int j = 0; j < w->form->nslot && !s; j++)
        s = flush_slot(w, j);
    w->written += w->row;
    w->row = 0;
    return s;
}
