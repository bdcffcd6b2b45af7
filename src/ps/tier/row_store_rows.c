/* row_store_rows.c - consecutive rows of one table, wherever they lie: for checkpoints. */
#include "ps/tier/row_store_impl.h"

#include "base/mem.h"

enum { BAND = 1024 };           /* rows under one lock: a step may wait for it */

/* A band's records as they are now: made, from slots or from the file. */
struct band {
    struct hps_row_store *store;
    int first, n;
    unsigned char *record;      /* (n, row_bytes), as many for the file, and one more */
    float *x;                   /* (stride) scratch                                   */
    uint32_t place[BAND];       /* (n) where the rows lie                             */
    size_t nmove;               /* those that are read or written: ...                */
    int row[BAND];              /* ... the number of each in the band, or its own     */
    uint32_t at[BAND];          /* and its place in the file                          */
};

static struct band *band_new(struct hps_row_store *s)
{
    struct band *b = hps_mem_new(1, sizeof *b);

    b->store = s;
    b->record = hps_mem_new(2 * BAND + 1, s->row_bytes);
    b->x = hps_mem_new(s->max_stride, sizeof *b->x);
    return b;
}

static void band_free(struct band *b)
{
    hps_mem_free(b->record);
    hps_mem_free(b->x);
    hps_mem_free(b);
}

static unsigned char *record_of(const struct band *b, int i)
{
    return b->record + (size_t)i * b->store->row_bytes;
}

static void make(const struct band *b, int i)
{
    const struct hps_row_store *s = b->store;

    for (int t = 0; t < s->ntable; t++)
        hps_table_make(s->table[t], b->first + i, b->x, record_of(b, i) + s->at[t]);
}

/* Those that lie in the file, at once: they come behind the band's records. */
static void read_listed(struct band *b)
{
    struct hps_row_store *s = b->store;
    unsigned char *to = record_of(b, BAND);

    if (b->nmove == 0) return;
    hps_row_store_note(s, hps_row_log_read_begin(s->log, b->nmove, b->at, to));
    if (!s->status) hps_row_store_note(s, hps_row_log_read_end(s->log));
    for (size_t i = 0; i < b->nmove; i++)
        memcpy(record_of(b, b->row[i]), to + i * s->row_bytes, s->row_bytes);
}

/* With the lock. The moves of the step to come end first: slots have their rows then, and the log
 * is ours. */
static void fetch(struct band *b, long long first, long long left)
{
    struct hps_row_store *s = b->store;

    b->first = (int)first;
    b->n = left < BAND ? (int)left : BAND;
    b->nmove = 0;
    hps_row_store_end_moves(s);
    for (int i = 0; i < b->n; i++) {
        uint32_t at = b->place[i] = hps_slots_place(s->slots, b->first + i);
        if (at == HPS_SLOTS_NEVER)
            make(b, i);
        else if (at < HPS_SLOTS_NEVER)
            hps_row_store_get(s, (int)at, record_of(b, i));
        else {
            b->row[b->nmove] = i;
            b->at[b->nmove++] = at & ~HPS_SLOTS_AWAY;
        }
    }
    read_listed(b);
}

static size_t part_of(const struct hps_row_store *s, const struct hps_table *t)
{
    int i = 0;

    while (s->table[i] != t)
        i++;
    return s->at[i];
}

enum hps_status hps_row_store_read(struct hps_row_store *s, const struct hps_table *t,
                                   long long first, long long n, float *x)
{
    struct band *b = band_new(s);
    size_t at = part_of(s, t);
    enum hps_status st = HPS_OK;

    for (long long i = 0; i < n && !st; i += BAND) {
        pthread_mutex_lock(&s->lock);
        fetch(b, first + i, n - i);
        st = s->status;
        pthread_mutex_unlock(&s->lock);
        for (int k = 0; k < b->n; k++)
            hps_row_decode(&t->format, 1, record_of(b, k) + at, x + (size_t)(i + k) * t->stride);
    }
    band_free(b);
    return st;
}

/* ---- rows that are given ---- */

/* Row i of the band became x. Has it changed? */
static bool replace(struct band *b, const struct hps_table *t, size_t at, int i, const float *x)
{
    unsigned char *old = record_of(b, i) + at, *new = record_of(b, 2 * BAND);

    hps_row_encode(&t->format, 1, x, NULL, new);
    if (memcmp(old, new, t->format.bytes) == 0) return false;
    memcpy(old, new, t->format.bytes);
    return true;
}

/* Row i of the band, which lies in a slot, has changed. */
static void to_slot(struct band *b, int i)
{
    struct hps_row_store *s = b->store;
    uint32_t slot = b->place[i], copy = s->copy[slot];

    hps_row_store_put(s, (int)slot, record_of(b, i));
    if (copy != HPS_ROW_CHANGED && copy != HPS_ROW_MADE)
        hps_row_log_drop(s->log, 1, &(uint32_t){ copy & ~HPS_SLOTS_AWAY });
    s->copy[slot] = HPS_ROW_CHANGED;
}

/* The listed rows of the band have changed, and lie in no slot. What append moves has a new place,
 * so that the places before are asked for behind it. */
static void to_file(struct band *b)
{
    struct hps_row_store *s = b->store;

    if (b->nmove == 0) return;
    hps_row_store_note(s, hps_row_log_append(s->log, b->nmove, b->row, record_of(b, BAND), b->at));
    for (size_t i = 0; i < b->nmove && !s->status; i++) {
        uint32_t before = hps_slots_place(s->slots, b->row[i]);
        if (before != HPS_SLOTS_NEVER)
            hps_row_log_drop(s->log, 1, &(uint32_t){ before & ~HPS_SLOTS_AWAY });
        hps_slots_set_place(s->slots, b->row[i], HPS_SLOTS_AWAY | b->at[i]);
    }
}

/* The band becomes x (n, stride) of table t. */
static void change(struct band *b, const struct hps_table *t, size_t at, const float *x)
{
    size_t bytes = b->store->row_bytes;

    b->nmove = 0;
    for (int k = 0; k < b->n; k++) {
        if (!replace(b, t, at, k, x + (size_t)k * t->stride)) continue;
        if (b->place[k] < HPS_SLOTS_NEVER) {
            to_slot(b, k);
            continue;
        }
        memcpy(record_of(b, BAND + (int)b->nmove), record_of(b, k), bytes);
        b->row[b->nmove++] = b->first + k;
    }
    to_file(b);
}

void hps_row_store_write(struct hps_row_store *s, struct hps_table *t, long long first,
                         long long n, const float *x)
{
    struct band *b = band_new(s);
    size_t at = part_of(s, t);

    pthread_mutex_lock(&s->lock);
    for (long long i = 0; i < n && !s->status; i += BAND) {
        fetch(b, first + i, n - i);
        if (!s->status) change(b, t, at, x + (size_t)i * t->stride);
    }
    pthread_mutex_unlock(&s->lock);
    band_free(b);
}
