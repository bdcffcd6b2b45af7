/* slots.c - a slot for each row of a step, by sampled frequency. The counts of rows in slots lie in
 * the order of the slots, so that those of neighbours are one line of the cache. */
#include "ps/slots.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { NEIGHBOURS = 8, MAX_COUNT = UINT8_MAX, PERIOD = 10 };    /* look-ups a row, until halved */
enum { AHEAD = 8 };             /* elements whose memory is asked for early */
enum { SEARCHED = 512 };        /* slots that one search for a newcomer looks at */

struct hps_slots {
    int nrow, slots;
    int used;                   /* slots that have had a row: those before it              */
    int npinned;                /* slots that steps in flight need                         */
    uint32_t *place;            /* (nrow) of each row                                      */
    uint8_t *away;              /* (nrow) counts of rows that are in no slot               */
    int *row_of;                /* (slots)                                                 */
    uint8_t *count, *pins;      /* (slots) of its row; steps that need it                  */
    bool *fresh;                /* (slots) its row came in and has not been compared yet   */
    int hand, nfresh;           /* where the search for the next of them goes on; how many */
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
    hps_mem_free(t->fresh);
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
    return sizeof(int) + 2 * sizeof(uint8_t) + sizeof(bool);
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
    t->fresh = hps_mem_new(n, sizeof *t->fresh);
    hps_slots_forget(t);
}

void hps_slots_forget(struct hps_slots *t)
{
    for (int r = 0; r < t->nrow; r++)
        t->place[r] = HPS_SLOTS_NEVER;
    memset(t->pins, 0, (size_t)t->slots * sizeof *t->pins);
    memset(t->fresh, 0, (size_t)t->slots * sizeof *t->fresh);
    t->used = t->npinned = t->hand = t->nfresh = 0;
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

/* A random slot: the one that is drawn next is `ahead` 0. */
static int drawn(const struct hps_slots *t, uint32_t ahead)
{
    return (int)(((uint64_t)hps_rng_mix32(t->drawn + ahead) * (uint64_t)t->slots) >> 32);
}

static int wrapped(const struct hps_slots *t, int s)
{
    return s < t->slots ? s : s - t->slots;
}

/* The first of the least counted neighbours from s on that are not pinned; -1: all are. Without a
 * branch, which would be a matter of chance. */
static int least_counted(const struct hps_slots *t, int s)
{
    const int n = t->slots < NEIGHBOURS ? t->slots : NEIGHBOURS, pinned = 1 << 16;
    int min = pinned;

    for (int i = 0; i < n; i++) {
        int at = wrapped(t, s + i);
        int key = (t->pins[at] > 0) * pinned + t->count[at] * NEIGHBOURS + i;
        min = key < min ? key : min;
    }
    return min < pinned ? wrapped(t, s + min % NEIGHBOURS) : -1;
}

/* The same of neighbours at a random place, or the next that is not pinned; there is one. */
static int sample(struct hps_slots *t)
{
    const int soon = drawn(t, AHEAD);
    int s = drawn(t, 0), min = least_counted(t, s);

    __builtin_prefetch(&t->pins[soon]);
    __builtin_prefetch(&t->count[soon]);
    t->drawn++;
    if (min >= 0) return min;
    while (t->pins[s])
        s = wrapped(t, s + 1);
    return s;
}

/* The next row that came in and has not been compared, -1: none is near. The hand goes round the
 * slots, as in CLOCK, so that no queue of their numbers is needed: four bytes a slot less, and a
 * row that comes in where the hand has just been waits for a whole round. One that is pinned waits
 * for the next. */
static int newcomer(struct hps_slots *t)
{
    int left = t->slots - t->hand, n = left < SEARCHED ? left : SEARCHED;

    if (t->nfresh == 0) return -1;
    const bool *found = memchr(t->fresh + t->hand, true, (size_t)n);
    int s = found ? (int)(found - t->fresh) : -1;
    t->hand = wrapped(t, found ? s + 1 : t->hand + n);
    if (s < 0 || t->pins[s]) return -1;
    t->fresh[s] = false;
    t->nfresh--;
    return s;
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

static struct hps_slots_moves lists(struct hps_slots *t, size_t n)
{
    for (int i = 0; i < 4; i++)
        hps_mem_grow(&t->list[i], &t->list_cap[i], n, sizeof *t->list[i]);
    hps_mem_grow(&t->from, &t->from_cap, n, sizeof *t->from);
    return (struct hps_slots_moves){ 0, 0, t->list[0], t->list[1], t->list[2], t->list[3],
                                    t->from };
}

static void pin_slot(struct hps_slots *t, uint32_t s)
{
    assert(t->pins[s] < UINT8_MAX);
    t->npinned += t->pins[s]++ == 0;
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

/* Pin those that are there, before a slot is given away, and list the others. False: one of them is
 * pinned too often, and none of them was pinned. */
static bool pin(struct hps_slots *t, size_t n, const int *row, struct hps_slots_moves *m)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t at = t->place[row[i]];
        if (i + AHEAD < n) __builtin_prefetch(&t->place[row[i + AHEAD]], 1);
        if (!is_slot(at)) {
            t->list[2][m->nin] = row[i];
            t->from[m->nin++] = at;
        } else if (t->pins[at] < UINT8_MAX) {
            pin_slot(t, at);
        } else {
            unpin_rows(t, i, row);
            return false;
        }
    }
    return true;
}

/* Each row that comes gets a slot, whose row is to leave. Rows leave and enter in loops of their
 * own, so that memory can be asked for early. */
static void choose_slots(struct hps_slots *t, struct hps_slots_moves *m)
{
    for (size_t i = 0; i < m->nin; i++) {
        int s = t->used < t->slots ? t->used++ : -1;
        if (s < 0) t->list[1][m->nout++] = s = choose(t);
        t->list[3][i] = s;
        pin_slot(t, (uint32_t)s);
        t->nfresh += !t->fresh[s];
        t->fresh[s] = true;
    }
}

static void leave(struct hps_slots *t, const struct hps_slots_moves *m)
{
    for (size_t i = 0; i < m->nout; i++)
        t->list[0][i] = t->row_of[m->out_slot[i]];
    for (size_t i = 0; i < m->nout; i++) {
        if (i + AHEAD < m->nout) {
            __builtin_prefetch(&t->place[m->out_row[i + AHEAD]], 1);
            __builtin_prefetch(&t->away[m->out_row[i + AHEAD]], 1);
        }
        t->place[m->out_row[i]] = HPS_SLOTS_NEVER;
        t->away[m->out_row[i]] = t->count[m->out_slot[i]];
    }
}

static void enter(struct hps_slots *t, const struct hps_slots_moves *m)
{
    for (size_t i = 0; i < m->nin; i++) {
        int row = m->in_row[i], s = m->in_slot[i];
        if (i + AHEAD < m->nin) __builtin_prefetch(&t->away[m->in_row[i + AHEAD]]);
        t->row_of[s] = row;
        t->place[row] = (uint32_t)s;
        t->count[s] = t->away[row];
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
    *moves = lists(t, n);
    if (!pin(t, n, row, moves)) {
        moves->nin = 0;
        return false;
    }
    if (moves->nin > (size_t)(t->slots - t->npinned)) {
        unpin_rows(t, n, row);
        moves->nin = 0;
        return false;
    }
    choose_slots(t, moves);
    leave(t, moves);
    enter(t, moves);
    if (learns) count(t, n, row, n - moves->nin);
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
