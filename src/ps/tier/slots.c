/* tier.c - a slot for each row of a step, by a clock with counts. */
#include "ps/slots.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_COUNT = 7 };              /* rounds of the hand that a row can outlast */

struct hps_slots {
    int nrow, slots, hand;
    int used;                   /* slots that have had a row: those before it */
    int *slot_of;               /* (nrow) -1: not there                       */
    int *row_of;                /* (slots)                                    */
    unsigned char *count;       /* (slots)                                    */
    long long *wanted;          /* (slots) the last step that needs its row   */
    long long step;
    int *out_row, *out_slot, *in_row, *in_slot; /* (slots) */
    double asked, hits;
};

struct hps_slots *hps_slots_new(int nrow, int slots)
{
    struct hps_slots *t = hps_mem_new(1, sizeof *t);

    t->nrow = nrow;
    t->slot_of = hps_mem_new((size_t)nrow, sizeof *t->slot_of);
    hps_slots_resize(t, slots);
    return t;
}

static void free_slots(struct hps_slots *t)
{
    hps_mem_free(t->row_of);
    hps_mem_free(t->count);
    hps_mem_free(t->wanted);
    hps_mem_free(t->out_row);
}

void hps_slots_free(struct hps_slots *t)
{
    if (!t) return;
    free_slots(t);
    hps_mem_free(t->slot_of);
    hps_mem_free(t);
}

void hps_slots_resize(struct hps_slots *t, int slots)
{
    size_t n = (size_t)slots;

    assert(1 <= slots && slots <= t->nrow);
    free_slots(t);
    t->slots = slots;
    t->row_of = hps_mem_new(n, sizeof *t->row_of);
    t->count = hps_mem_new(n, sizeof *t->count);
    t->wanted = hps_mem_new(n, sizeof *t->wanted);
    t->out_row = hps_mem_new(4 * n, sizeof *t->out_row);
    t->out_slot = t->out_row + n;
    t->in_row = t->out_row + 2 * n;
    t->in_slot = t->out_row + 3 * n;
    hps_slots_forget(t);
}

void hps_slots_forget(struct hps_slots *t)
{
    memset(t->slot_of, -1, (size_t)t->nrow * sizeof *t->slot_of);
    t->used = t->hand = 0;
}

/* A slot that this step does not need: a free one, else where the hand stops. */
static int find(struct hps_slots *t)
{
    if (t->used < t->slots) return t->used++;
    for (;; t->hand++) {
        if (t->hand == t->slots) t->hand = 0;
        if (t->wanted[t->hand] == t->step) continue;
        if (t->count[t->hand] == 0) return t->hand++;
        t->count[t->hand]--;
    }
}

/* Those that are there are wanted before a slot is given away. */
static size_t keep(struct hps_slots *t, size_t n, const int *row)
{
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        int s = t->slot_of[row[i]];
        if (s < 0) continue;
        t->wanted[s] = t->step;
        t->count[s] += t->count[s] < MAX_COUNT;
        hits++;
    }
    return hits;
}

struct hps_slots_moves hps_slots_take(struct hps_slots *t, size_t n, const int *row)
{
    struct hps_slots_moves m = { 0, 0, t->out_row, t->out_slot, t->in_row, t->in_slot };

    assert(n <= (size_t)t->slots);
    t->step++;
    t->asked += (double)n;
    t->hits += (double)keep(t, n, row);
    for (size_t i = 0; i < n; i++) {
        if (t->slot_of[row[i]] >= 0) continue;
        int before = t->used, s = find(t);
        if (t->used == before) {
            t->out_row[m.nout] = t->row_of[s];
            t->out_slot[m.nout++] = s;
            t->slot_of[t->row_of[s]] = -1;
        }
        t->in_row[m.nin] = t->row_of[s] = row[i];
        t->in_slot[m.nin++] = t->slot_of[row[i]] = s;
        t->wanted[s] = t->step;
        t->count[s] = 0;
    }
    return m;
}

void hps_slots_find(const struct hps_slots *t, size_t n, const int *row, int *slot)
{
    for (size_t i = 0; i < n; i++)
        slot[i] = t->slot_of[row[i]];
}

int hps_slots_count(const struct hps_slots *t)
{
    return t->slots;
}

struct hps_slots_moves hps_slots_all(struct hps_slots *t)
{
    for (int s = 0; s < t->used; s++)
        t->out_slot[s] = s;
    return (struct hps_slots_moves){ (size_t)t->used, 0, t->row_of, t->out_slot, t->in_row,
                                    t->in_slot };
}

double hps_slots_asked(const struct hps_slots *t)
{
    return t->asked;
}

double hps_slots_hits(const struct hps_slots *t)
{
    return t->hits;
}
