/* row_store_move.c - the rows of a step to come move, beside the step that is computed: those that
 * leave are copied out of their slots and appended to the file, those that come are read or
 * made. */
#include "base/mem.h"
#include "ps/tier/row_store_impl.h"

enum { CHUNK = 1 << 20 };       /* bytes of records that are appended at a time */
enum { SOME = 32 };             /* rows that a thread makes at a time           */
enum { AHEAD = 8 };             /* rows whose memory is asked for early         */

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

static void ask_for(const struct hps_row_store *s, int slot)
{
    for (int i = 0; i < s->ntable; i++) {
        const unsigned char *row = hps_row_store_slot(s->table[i], slot);
        __builtin_prefetch(row);
        __builtin_prefetch(row + s->table[i]->format.bytes - 1);
    }
}

/* From here on their slots are free. */
static void copy_out(struct hps_row_store *s)
{
    const struct hps_row_moves *l = &s->leave;

    hps_mem_grow(&s->record, &s->record_cap, l->n * s->row_bytes, 1);
    for (size_t i = 0; i < l->n; i++) {
        if (i + AHEAD < l->n) ask_for(s, l->slot[i + AHEAD]);
        hps_row_store_get(s, l->slot[i], s->record + i * s->row_bytes);
    }
}

/* A row that was in the file. By threads of the reader too. */
static void came(void *store, size_t i, const unsigned char *record)
{
    struct hps_row_store *s = store;

    hps_row_store_put(s, s->read.slot[i], record);
}

static enum hps_status begin_reads(struct hps_row_store *s)
{
    struct hps_row_moves *l = &s->read;

    if (l->n == 0) return HPS_OK;
    enum hps_status st = hps_row_log_read_each(s->log, l->n, l->place, came, s);
    s->reading = st == HPS_OK;
    return st;
}

/* The rows that have left are written, and lie in the file from then on. */
static enum hps_status append(struct hps_row_store *s)
{
    struct hps_row_moves *l = &s->leave;
    const size_t chunk = CHUNK / s->row_bytes + 1;
    enum hps_status st = HPS_OK;

    hps_mem_grow(&l->place, &l->place_cap, chunk, sizeof *l->place);
    for (size_t first = 0, n; first < l->n && !st; first += n) {
        const int *row = l->row + first;
        n = l->n - first < chunk ? l->n - first : chunk;
        st = hps_row_log_append(s->log, n, row, s->record + first * s->row_bytes, l->place);
        for (size_t i = 0; i < n && !st; i++)
            hps_slots_set_place(s->slots, row[i], HPS_SLOTS_AWAY | l->place[i]);
    }
    return st;
}

void hps_row_store_make(struct hps_row_store *s)
{
    const struct hps_row_moves *l = &s->make;
    float *x = hps_mem_new(s->max_stride, sizeof *x);
    size_t first;

    while ((first = atomic_fetch_add(&s->made_to, SOME)) < l->n)
        for (size_t k = first; k < l->n && k < first + SOME; k++)
            for (int i = 0; i < s->ntable; i++)
                hps_table_make(s->table[i], l->row[k], x,
                               hps_row_store_slot(s->table[i], l->slot[k]));
    hps_mem_free(x);
}

static void set_state(struct hps_row_store *s, enum hps_row_state state, enum hps_status st)
{
    pthread_mutex_lock(&s->lock);
    hps_row_store_note(s, st);
    s->state = state;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

void hps_row_store_move(struct hps_row_store *s)
{
    enum hps_status st = s->status;     /* nobody else changes it now */

    if (!st) copy_out(s);
    if (!st) st = begin_reads(s);
    set_state(s, HPS_ROWS_COMING, st);
    if (!st) st = append(s);
    hps_row_store_make(s);
    set_state(s, HPS_ROWS_SETTLED, st);
}
