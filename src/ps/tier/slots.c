/* slots.c - a slot for each row of a step, by sampled frequency. The counts of rows in slots lie in
 * the order of the slots, so that those of neighbours are one line of the cache. */
#include "ps/slots.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { NEIGHBOURS = 8, MAX_COUNT = UINT8_MAX, PERIOD = 10 };    /* look-ups a row, until halved */

struct hps_slots {
    int nrow, slots;
    int used;                   /* slots that have had a row: those before it              */
    int npinned;                /* slots that steps in flight need                         */
    uint32_t *place;            /* (nrow) of each row                                      */
    uint8_t *away;              /* (nrow) counts of rows that are in no slot               */
    int *row_of;                /* (slots)                                                 */
    uint8_t *count, *pins;      /* (slots) of its row; steps that need it                  */
    bool *queued;               /* (slots) it is in the queue of rows to be compared       */
    int *queue;                 /* (slots) a ring                                          */
    int first, nqueued;
    uint32_t drawn;             /* random numbers                                          */
    double counted;             /* look-ups since counts were halved                       */
    int *list[4];               /* out_row, out_slot, in_row, in_slot                      */
    uint32_t *from;
    size_t list_cap[4], from_cap;
    double asked, hits;
};

struct hps_slots *hps_slots_new(int nrow, int slots)
{
    struct hps_slots *t = hps_mem_new(1, sizeof *t);

    t->nrow = nrow;
    t->place = hps_mem_new((size_t)nrow, sizeof *t->place);
    t->away = hps_mem_new((size_t)nrow, sizeof *t->away);
    hps_slots_resize(t, slots);
    return t;
}

static void free_slots(struct hps_slots *t)
{
    hps_mem_free(t->row_of);
    hps_mem_free(t->count);
    hps_mem_free(t->pins);
    hps_mem_free(t->queued);
    hps_mem_free(t->queue);
}

void hps_slots_free(struct hps_slots *t)
{
    if (!t) return;
    free_slots(t);
    for (int i = 0; i < 4; i++)
        hps_mem_free(t->list[i]);
    hps_mem_free(t->from);
    hps_mem_free(t->place);
    hps_mem_free(t->away);
    hps_mem_free(t);
}

size_t hps_slots_row_bytes(void)
{
    return sizeof(uint32_t) + sizeof(uint8_t);
}

size_t hps_slots_slot_bytes(void)
{
    return 2 * sizeof(int) + 2 * sizeof(uint8_t) + sizeof(bool);
}

void hps_slots_resize(struct hps_slots *t, int slots)
{
    size_t n = (size_t)slots;

    assert(1 <= slots && slots <= t->nrow);
    free_slots(t);
    t->slots = slots;
    t->row_of = hps_mem_new(n, sizeof *t->row_of);
    t->count = hps_mem_new(n, sizeof *t->count);
    t->pins = hps_mem_new(n, sizeof *t->pins);
    t->queued = hps_mem_new(n, sizeof *t->queued);
    t->queue = hps_mem_new(n, sizeof *t->queue);
    hps_slots_forget(t);
}

void hps_slots_forget(struct hps_slots *t)
{
    for (int r = 0; r < t->nrow; r++)
        t->place[r] = HPS_SLOTS_NEVER;
    memset(t->pins, 0, (size_t)t->slots * sizeof *t->pins);
    memset(t->queued, 0, (size_t)t->slots * sizeof *t->queued);
    t->used = t->npinned = t->first = t->nqueued = 0;
}

/* ---- counts ---- */

static void halve(uint8_t *count, int n)
{
    for (int i = 0; i < n; i++)
        count[i] /= 2;
}

static void counted(struct hps_slots *t, size_t n)
{
    t->counted += (double)n;
    if (t->counted < (double)PERIOD * t->nrow) return;
    t->counted = 0;
    halve(t->away, t->nrow);
    halve(t->count, t->slots);
}

/* ---- who leaves ---- */

static void enqueue(struct hps_slots *t, int s)
{
    t->queue[((unsigned)t->first + (unsigned)t->nqueued) % (unsigned)t->slots] = s;
    t->nqueued++;
    t->queued[s] = true;
}

static int dequeue(struct hps_slots *t)
{
    int s = t->queue[t->first++];

    if (t->first == t->slots) t->first = 0;
    t->nqueued--;
    t->queued[s] = false;
    return s;
}

/* The least counted of some neighbours that are not pinned; there is a slot that is not. */
static int sample(struct hps_slots *t)
{
    int min = -1, s = (int)(((uint64_t)hps_rng_mix32(t->drawn++) * (uint64_t)t->slots) >> 32);

    for (int i = 0; i < NEIGHBOURS || min < 0; i++, s = s + 1 < t->slots ? s + 1 : 0)
        if (!t->pins[s] && (min < 0 || t->count[s] < t->count[min])) min = s;
    return min;
}

/* The next row that came in and has not been compared, -1: none. One that is pinned has its turn
 * later. */
static int newcomer(struct hps_slots *t)
{
    if (t->nqueued == 0) return -1;
    int s = dequeue(t);
    if (!t->pins[s]) return s;
    enqueue(t, s);
    return -1;
}

/* A slot whose row is to leave. */
static int choose(struct hps_slots *t)
{
    int fresh = newcomer(t), least = sample(t);

    if (fresh < 0) return least;
    return t->count[fresh] > t->count[least] ? least : fresh;
}

/* ---- a step ---- */

static bool is_slot(uint32_t place)
{
    return place < HPS_SLOTS_NEVER;
}

static void unpin(struct hps_slots *t, int s)
{
    assert(t->pins[s] > 0);
    t->npinned -= --t->pins[s] == 0;
}

void hps_slots_release(struct hps_slots *t, size_t n, const int *slot)
{
    for (size_t i = 0; i < n; i++)
        unpin(t, slot[i]);
}

static void unpin_rows(struct hps_slots *t, size_t n, const int *row)
{
    for (size_t i = 0; i < n; i++)
        if (is_slot(t->place[row[i]])) unpin(t, (int)t->place[row[i]]);
}

/* Pin those that are there, before a slot is given away; how many? False: one of them is pinned too
 * often, and none of them was pinned. */
static bool pin(struct hps_slots *t, size_t n, const int *row, size_t *hits)
{
    *hits = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t s = t->place[row[i]];
        if (!is_slot(s)) continue;
        if (t->pins[s] == UINT8_MAX) {
            unpin_rows(t, i, row);
            return false;
        }
        t->npinned += t->pins[s]++ == 0;
        ++*hits;
    }
    return true;
}

/* The row of a slot leaves. */
static void leave(struct hps_slots *t, int s)
{
    int row = t->row_of[s];

    t->place[row] = HPS_SLOTS_NEVER;
    t->away[row] = t->count[s];
}

static void enter(struct hps_slots *t, int row, int s)
{
    t->row_of[s] = row;
    t->place[row] = (uint32_t)s;
    t->count[s] = t->away[row];
    t->pins[s] = 1;
    t->npinned++;
    if (!t->queued[s]) enqueue(t, s);
}

static struct hps_slots_moves lists(struct hps_slots *t, size_t n)
{
    for (int i = 0; i < 4; i++)
        hps_mem_grow(&t->list[i], &t->list_cap[i], n, sizeof *t->list[i]);
    hps_mem_grow(&t->from, &t->from_cap, n, sizeof *t->from);
    return (struct hps_slots_moves){ 0, 0, t->list[0], t->list[1], t->list[2], t->list[3],
                                    t->from };
}

/* Rows that are in no slot get one each. */
static void bring_in(struct hps_slots *t, size_t n, const int *row, struct hps_slots_moves *m)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t from = t->place[row[i]];
        if (is_slot(from)) continue;
        int s = t->used < t->slots ? t->used++ : -1;
        if (s < 0) {
            s = choose(t);
            t->list[0][m->nout] = t->row_of[s];
            t->list[1][m->nout++] = s;
            leave(t, s);
        }
        t->list[2][m->nin] = row[i];
        t->list[3][m->nin] = s;
        t->from[m->nin++] = from;
        enter(t, row[i], s);
    }
}

static void count(struct hps_slots *t, size_t n, const int *row, size_t hits)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t s = t->place[row[i]];
        t->count[s] += t->count[s] < MAX_COUNT;
    }
    t->asked += (double)n;
    t->hits += (double)hits;
    counted(t, n);
}

bool hps_slots_take(struct hps_slots *t, size_t n, const int *row, bool learns,
                    struct hps_slots_moves *moves)
{
    size_t hits;

    if (!pin(t, n, row, &hits)) return false;
    *moves = lists(t, n - hits);
    if (n - hits > (size_t)(t->slots - t->npinned)) {
        unpin_rows(t, n, row);
        return false;
    }
    bring_in(t, n, row, moves);
    if (learns) count(t, n, row, hits);
    return true;
}

void hps_slots_find(const struct hps_slots *t, size_t n, const int *row, int *slot)
{
    for (size_t i = 0; i < n; i++)
        slot[i] = (int)t->place[row[i]];
}

uint32_t hps_slots_place(const struct hps_slots *t, int row)
{
    return t->place[row];
}

void hps_slots_set_place(struct hps_slots *t, int row, uint32_t place)
{
    assert(!is_slot(t->place[row]) && !is_slot(place));
    t->place[row] = place;
}

int hps_slots_row(const struct hps_slots *t, int slot)
{
    return slot < t->used ? t->row_of[slot] : -1;
}

int hps_slots_count(const struct hps_slots *t)
{
    return t->slots;
}

struct hps_slots_moves hps_slots_all(struct hps_slots *t)
{
    struct hps_slots_moves m = lists(t, (size_t)t->used);

    for (int s = 0; s < t->used; s++)
        t->list[1][s] = s;
    m.nout = (size_t)t->used;
    m.out_row = t->row_of;
    return m;
}

double hps_slots_asked(const struct hps_slots *t)
{
    return t->asked;
}

double hps_slots_hits(const struct hps_slots *t)
{
    return t->hits;
}
