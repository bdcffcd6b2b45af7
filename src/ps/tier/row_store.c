/* row_store.c - rows to slots and from them. A snapshot's reader takes part: all is done under a
 * lock. */
#include "ps/tier/row_store_impl.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"

enum { CHUNK = 1 << 20 };       /* bytes of records that are written at a time */

size_t hps_row_store_row_bytes(void)
{
    return hps_slots_row_bytes();
}

size_t hps_row_store_slot_bytes(void)
{
    return hps_slots_slot_bytes() + sizeof(uint32_t);
}

/* A row's copy in the file has another place; it is that of a slot or the row itself. */
static void moved(void *context, int row, uint32_t from, uint32_t to)
{
    struct hps_row_store *s = context;
    uint32_t at = hps_slots_place(s->slots, row);

    if (at == (HPS_SLOTS_AWAY | from))
        hps_slots_set_place(s->slots, row, HPS_SLOTS_AWAY | to);
    else if (at < HPS_SLOTS_NEVER && s->copy[at] == (HPS_SLOTS_AWAY | from))
        s->copy[at] = HPS_SLOTS_AWAY | to;
}

static enum hps_status open_log(struct hps_row_store *s, const struct hps_row_store_opt *opt)
{
    if (s->row_bytes > HPS_ROW_LOG_ROW_BYTES) {
        HPS_SAY_ALL(HPS_ERROR, "storage.file: table '%s' and those beside it have rows of %zu "
                    "bytes, %d at most can be in a file", s->table[0]->shape->name, s->row_bytes,
                    HPS_ROW_LOG_ROW_BYTES);
        return HPS_DECK;
    }
    char *what = hps_mem_print("table '%s'", s->table[0]->shape->name);
    struct hps_row_log_opt log = { .directory = opt->directory, .what = what,
                                   .row_bytes = s->row_bytes, .max_rows = s->table[0]->nrow,
                                   .run = opt->run, .moved = moved, .context = s };
    enum hps_status st = hps_row_log_open(&s->log, &log);

    hps_mem_free(what);
    return st;
}

enum hps_status hps_row_store_new(struct hps_row_store **out, const struct hps_row_store_opt *opt)
{
    struct hps_row_store *s = hps_mem_new(1, sizeof *s);
    enum hps_status st;

    s->ntable = opt->ntable;
    s->slots = opt->slots;
    s->table = hps_mem_new((size_t)opt->ntable, sizeof(struct hps_table *));
    s->at = hps_mem_new((size_t)opt->ntable, sizeof *s->at);
    for (int i = 0; i < opt->ntable; i++) {
        s->table[i] = opt->table[i];
        s->at[i] = s->row_bytes;
        s->row_bytes += opt->table[i]->format.bytes;
        if (opt->table[i]->stride > s->max_stride) s->max_stride = opt->table[i]->stride;
    }
    s->chunk = CHUNK / s->row_bytes + 1;
    s->record = hps_mem_new(s->chunk, s->row_bytes);
    s->copy = hps_mem_new((size_t)hps_slots_count(s->slots), sizeof *s->copy);
    pthread_mutex_init(&s->lock, NULL);
    st = open_log(s, opt);
    for (int i = 0; !st && i < opt->ntable; i++)
        opt->table[i]->store = s;
    *out = s;
    if (!st) return HPS_OK;
    hps_row_store_free(s);
    *out = NULL;
    return st;
}

void hps_row_store_free(struct hps_row_store *s)
{
    if (!s) return;
    if (s->log && s->reads.n > 0) hps_row_store_end_reads(s);
    hps_row_log_close(s->log);
    pthread_mutex_destroy(&s->lock);
    hps_mem_free(s->reads.slot);
    hps_mem_free(s->reads.place);
    hps_mem_free(s->reads.data);
    hps_mem_free(s->list.row);
    hps_mem_free(s->list.slot);
    hps_mem_free(s->list.place);
    hps_mem_free(s->record);
    hps_mem_free(s->copy);
    hps_mem_free(s->table);
    hps_mem_free(s->at);
    hps_mem_free(s);
}

void hps_row_store_note(struct hps_row_store *s, enum hps_status st)
{
    if (!s->status) s->status = st;
}

void hps_row_store_get(const struct hps_row_store *s, int slot, unsigned char *record)
{
    for (int i = 0; i < s->ntable; i++)
        memcpy(record + s->at[i], hps_row_store_slot(s->table[i], slot), s->table[i]->format.bytes);
}

void hps_row_store_put(const struct hps_row_store *s, int slot, const unsigned char *record)
{
    for (int i = 0; i < s->ntable; i++)
        memcpy(hps_row_store_slot(s->table[i], slot), record + s->at[i], s->table[i]->format.bytes);
}

/* ---- rows that leave ---- */

static void note_row(struct hps_row_store *s, int row, int slot)
{
    size_t n = s->list.n + 1;

    hps_mem_grow(&s->list.row, &s->list.row_cap, n, sizeof *s->list.row);
    hps_mem_grow(&s->list.slot, &s->list.slot_cap, n, sizeof *s->list.slot);
    s->list.row[s->list.n] = row;
    s->list.slot[s->list.n++] = slot;
}

/* Those that are as their copies go there at once; the others are listed. */
static void list_changed(struct hps_row_store *s, const struct hps_slots_moves *m)
{
    s->list.n = 0;
    for (size_t i = 0; i < m->nout; i++) {
        uint32_t copy = s->copy[m->out_slot[i]];
        if (copy == HPS_ROW_CHANGED)
            note_row(s, m->out_row[i], m->out_slot[i]);
        else
            hps_slots_set_place(s->slots, m->out_row[i], copy);
    }
}

/* Those that are listed are written. */
static void write_listed(struct hps_row_store *s)
{
    size_t all = s->list.n;

    hps_mem_grow(&s->list.place, &s->list.place_cap, s->chunk, sizeof *s->list.place);
    for (size_t first = 0, n; first < all && !s->status; first += n) {
        n = all - first < s->chunk ? all - first : s->chunk;
        for (size_t i = 0; i < n; i++)
            hps_row_store_get(s, s->list.slot[first + i], s->record + i * s->row_bytes);
        const int *row = s->list.row + first;
        hps_row_store_note(s, hps_row_log_append(s->log, n, row, s->record, s->list.place));
        for (size_t i = 0; i < n && !s->status; i++)
            hps_slots_set_place(s->slots, row[i], HPS_SLOTS_AWAY | s->list.place[i]);
    }
}

/* ---- rows that come ---- */

/* What is in no file is made, by all threads. */
static void make(struct hps_row_store *s)
{
    s->made += (double)s->list.n;
#ifdef _OPENMP
#pragma omp parallel num_threads(s->table[0]->dev->nthread)
#endif
    {
        float *x = hps_mem_new(s->max_stride, sizeof *x);
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
        for (size_t k = 0; k < s->list.n; k++)
            for (int i = 0; i < s->ntable; i++)
                hps_table_make(s->table[i], s->list.row[k], x,
                               hps_row_store_slot(s->table[i], s->list.slot[k]));
        hps_mem_free(x);
    }
}

static void begin_reads(struct hps_row_store *s, const struct hps_slots_moves *m)
{
    struct hps_row_reads *r = &s->reads;

    s->list.n = r->n = 0;
    hps_mem_grow(&r->slot, &r->cap, m->nin, sizeof *r->slot);
    hps_mem_grow(&r->place, &r->place_cap, m->nin, sizeof *r->place);
    for (size_t i = 0; i < m->nin; i++) {
        uint32_t copy = s->copy[m->in_slot[i]];     /* it may have been moved meanwhile */
        if (copy == HPS_ROW_MADE) {
            note_row(s, m->in_row[i], m->in_slot[i]);
            continue;
        }
        r->slot[r->n] = m->in_slot[i];
        r->place[r->n++] = copy & ~HPS_SLOTS_AWAY;
    }
    if (s->list.n > 0) make(s);
    if (r->n == 0) return;
    hps_mem_grow(&r->data, &r->data_cap, r->n * s->row_bytes, 1);
    hps_row_store_note(s, hps_row_log_read_begin(s->log, r->n, r->place, r->data));
    if (s->status) r->n = 0;
}

void hps_row_store_end_reads(struct hps_row_store *s)
{
    struct hps_row_reads *r = &s->reads;

    if (r->n == 0) return;
    hps_row_store_note(s, hps_row_log_read_end(s->log));
    for (size_t i = 0; i < r->n; i++)
        hps_row_store_put(s, r->slot[i], r->data + i * s->row_bytes);
    r->n = 0;
}

/* ---- a step ---- */

bool hps_row_store_take(struct hps_row_store *s, size_t n, const int *row, bool learns, int *slot)
{
    struct hps_slots_moves m;

    pthread_mutex_lock(&s->lock);
    hps_row_store_end_reads(s);
    bool taken = hps_slots_take(s->slots, n, row, learns, &m);
    if (taken) {
        list_changed(s, &m);
        for (size_t i = 0; i < m.nin; i++)
            s->copy[m.in_slot[i]] = m.in_from[i];
        write_listed(s);
        begin_reads(s, &m);
        hps_slots_find(s->slots, n, row, slot);
    }
    pthread_mutex_unlock(&s->lock);
    return taken;
}

void hps_row_store_settle(struct hps_row_store *s)
{
    double t0 = hps_now_s();

    pthread_mutex_lock(&s->lock);
    hps_row_store_end_reads(s);
    pthread_mutex_unlock(&s->lock);
    s->waited_s += hps_now_s() - t0;
}

bool hps_row_store_arrived(struct hps_row_store *s)
{
    pthread_mutex_lock(&s->lock);
    bool all = s->reads.n == 0 || hps_row_log_read_arrived(s->log);
    if (all) hps_row_store_end_reads(s);
    pthread_mutex_unlock(&s->lock);
    return all;
}

void hps_row_store_release(struct hps_row_store *s, size_t n, const int *slot)
{
    pthread_mutex_lock(&s->lock);
    hps_slots_release(s->slots, n, slot);
    pthread_mutex_unlock(&s->lock);
}

void hps_row_store_change(struct hps_row_store *s, size_t n, const int *slot)
{
    size_t k = 0;

    pthread_mutex_lock(&s->lock);
    hps_mem_grow(&s->list.place, &s->list.place_cap, n, sizeof *s->list.place);
    for (size_t i = 0; i < n; i++) {
        uint32_t *copy = &s->copy[slot[i]];
        if (*copy == HPS_ROW_CHANGED) continue;
        if (*copy != HPS_ROW_MADE) s->list.place[k++] = *copy & ~HPS_SLOTS_AWAY;
        *copy = HPS_ROW_CHANGED;
    }
    if (k > 0) hps_row_log_drop(s->log, k, s->list.place);
    pthread_mutex_unlock(&s->lock);
}

struct hps_slots *hps_row_store_slots(struct hps_row_store *s)
{
    return s->slots;
}

enum hps_status hps_row_store_status(struct hps_row_store *s)
{
    pthread_mutex_lock(&s->lock);
    enum hps_status st = s->status;
    pthread_mutex_unlock(&s->lock);
    return st;
}

struct hps_tier_count hps_row_store_counted(struct hps_row_store *s)
{
    pthread_mutex_lock(&s->lock);
    struct hps_row_log_count l = hps_row_log_counted(s->log);
    double rows = (double)s->table[0]->nrow, slots = hps_slots_count(s->slots);
    struct hps_tier_count c = {
        .asked = hps_slots_asked(s->slots),
        .hits = hps_slots_hits(s->slots),
        .made = s->made,
        .read = l.rows_read,
        .written = l.rows_appended,
        .bytes = l.bytes_written + l.rows_read * (double)s->row_bytes,
        .waited_s = s->waited_s,
        .index_bytes = rows * (double)hps_row_store_row_bytes() +
                       slots * (double)hps_row_store_slot_bytes(),
        .slots = slots,
        .rows = rows,
    };
    pthread_mutex_unlock(&s->lock);
    return c;
}
