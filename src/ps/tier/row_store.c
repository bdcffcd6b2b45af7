/* row_store.c - which rows move to slots and from them, for a step to come; a thread moves them (
 * row_store_move.c). A snapshot's reader takes part too: what is shared is under a lock. */
#include "ps/tier/row_store_impl.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/thread.h"

double hps_row_store_row_bytes(void)
{
    return (double)hps_slots_row_bytes() + HPS_ROW_LOG_BYTES;
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

static enum hps_status start(struct hps_row_store *s, const struct hps_row_store_opt *opt)
{
    int error = hps_row_thread_get();

    if (error) {
        HPS_SAY_ALL(HPS_ERROR, "table '%s': no thread for the rows in %s: %s",
                    s->table[0]->shape->name, opt->directory, strerror(error));
        return HPS_FAIL;
    }
    enum hps_status st = open_log(s, opt);
    if (st) hps_row_thread_put();
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
    s->copy = hps_mem_new((size_t)hps_slots_count(s->slots), sizeof *s->copy);
    pthread_mutex_init(&s->lock, NULL);
    hps_cond_init(&s->moved);
    st = start(s, opt);
    for (int i = 0; !st && i < opt->ntable; i++)
        opt->table[i]->store = s;
    *out = s;
    if (!st) return HPS_OK;
    hps_row_store_free(s);
    *out = NULL;
    return st;
}

static void free_moves(struct hps_row_moves *l)
{
    hps_mem_free(l->row);
    hps_mem_free(l->slot);
    hps_mem_free(l->place);
}

void hps_row_store_free(struct hps_row_store *s)
{
    if (!s) return;
    if (s->log) {
        pthread_mutex_lock(&s->lock);
        hps_row_store_end_moves(s);
        pthread_mutex_unlock(&s->lock);
        hps_row_log_close(s->log);
        hps_row_thread_put();
    }
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
    free_moves(&s->leave);
    free_moves(&s->read);
    free_moves(&s->make);
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

/* ---- which rows move ---- */

static void list_row(struct hps_row_moves *l, int row, int slot)
{
    hps_mem_grow(&l->row, &l->row_cap, l->n + 1, sizeof *l->row);
    hps_mem_grow(&l->slot, &l->slot_cap, l->n + 1, sizeof *l->slot);
    l->row[l->n] = row;
    l->slot[l->n++] = slot;
}

/* Those that are as their copies are where these are; the others are to be written. */
static void list_leaving(struct hps_row_store *s, const struct hps_slots_moves *m)
{
    s->leave.n = 0;
    for (size_t i = 0; i < m->nout; i++) {
        uint32_t copy = s->copy[m->out_slot[i]];
        if (copy == HPS_ROW_CHANGED)
            list_row(&s->leave, m->out_row[i], m->out_slot[i]);
        else
            hps_slots_set_place(s->slots, m->out_row[i], copy);
    }
}

/* What is in no file is to be made. */
static void list_coming(struct hps_row_store *s, const struct hps_slots_moves *m)
{
    struct hps_row_moves *l = &s->read;

    s->make.n = l->n = 0;
    hps_mem_grow(&l->place, &l->place_cap, m->nin, sizeof *l->place);
    for (size_t i = 0; i < m->nin; i++) {
        uint32_t from = m->in_from[i];
        s->copy[m->in_slot[i]] = from;
        if (from == HPS_ROW_MADE) {
            list_row(&s->make, m->in_row[i], m->in_slot[i]);
            continue;
        }
        l->place[l->n] = from & ~HPS_SLOTS_AWAY;
        list_row(l, m->in_row[i], m->in_slot[i]);
    }
    s->made += (double)s->make.n;
    s->read_rows += (double)l->n;
    s->made_to = 0;
}

/* ---- a step ---- */

void hps_row_store_end_moves(struct hps_row_store *s)
{
    while (s->state != HPS_ROWS_SETTLED || s->nhelp > 0)
        pthread_cond_wait(&s->moved, &s->lock);
    if (s->reading) hps_row_store_note(s, hps_row_log_read_end(s->log));
    s->reading = false;
}

bool hps_row_store_take(struct hps_row_store *s, size_t n, const int *row, bool learns, int *slot)
{
    struct hps_slots_moves m;

    pthread_mutex_lock(&s->lock);
    hps_row_store_end_moves(s);
    bool taken = hps_slots_take(s->slots, n, row, learns, &m);
    if (taken) {
        list_leaving(s, &m);
        list_coming(s, &m);
        hps_slots_find(s->slots, n, row, slot);
        if (s->leave.n + s->read.n + s->make.n > 0) hps_row_thread_give(s);
    }
    pthread_mutex_unlock(&s->lock);
    return taken;
}

/* Whatever is left to be made, by all threads, which have nothing else to do. With the lock, but
 * not while rows are made. Returns the seconds that it took. */
static double help(struct hps_row_store *s)
{
    double t0 = hps_now_s();

    if (s->state != HPS_ROWS_COMING || s->made_to >= s->make.n) return 0;
    s->nhelp++;
    pthread_mutex_unlock(&s->lock);
#ifdef _OPENMP
#pragma omp parallel num_threads(s->table[0]->dev->nthread)
#endif
    hps_row_store_make(s);
    pthread_mutex_lock(&s->lock);
    s->nhelp--;
    pthread_cond_broadcast(&s->moved);
    return hps_now_s() - t0;
}

void hps_row_store_settle(struct hps_row_store *s)
{
    double t0 = hps_now_s();

    pthread_mutex_lock(&s->lock);
    while (s->state == HPS_ROWS_LEAVING)
        pthread_cond_wait(&s->moved, &s->lock);
    double helped_s = help(s);
    hps_row_store_end_moves(s);
    s->waited_s += hps_now_s() - t0 - helped_s;
    pthread_mutex_unlock(&s->lock);
}

bool hps_row_store_arrived(struct hps_row_store *s)
{
    pthread_mutex_lock(&s->lock);
    bool all = s->state == HPS_ROWS_SETTLED && s->nhelp == 0 &&
               (!s->reading || hps_row_log_read_arrived(s->log));
    if (all) hps_row_store_end_moves(s);
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
    hps_row_store_end_moves(s);
    hps_mem_grow(&s->leave.place, &s->leave.place_cap, n, sizeof *s->leave.place);
    for (size_t i = 0; i < n; i++) {
        uint32_t *copy = &s->copy[slot[i]];
        if (*copy == HPS_ROW_CHANGED) continue;
        if (*copy != HPS_ROW_MADE) s->leave.place[k++] = *copy & ~HPS_SLOTS_AWAY;
        *copy = HPS_ROW_CHANGED;
    }
    if (k > 0) hps_row_log_drop(s->log, k, s->leave.place);
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
    hps_row_store_end_moves(s);
    struct hps_row_log_count l = hps_row_log_counted(s->log);
    double rows = (double)s->table[0]->nrow, slots = hps_slots_count(s->slots);
    struct hps_tier_count c = {
        .asked = hps_slots_asked(s->slots),
        .hits = hps_slots_hits(s->slots),
        .made = s->made,
        .read = s->read_rows,
        .written = l.rows_appended,
        .bytes = l.bytes_written + l.rows_read * (double)s->row_bytes,
        .waited_s = s->waited_s,
        .index_bytes = rows * (double)hps_slots_row_bytes() + l.index_bytes +
                       slots * (double)hps_row_store_slot_bytes(),
        .slots = slots,
        .rows = rows,
        .pages_read = l.pages_read,
    };
    pthread_mutex_unlock(&s->lock);
    return c;
}
