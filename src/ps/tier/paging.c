/* paging.c - rows of a step to their slots, a step ahead. */
#include "ps/paging.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"

/* Numbers of a step under way stay while those of the next are made. */
enum { KEPT = 2 };
/* Rows that are worth another thread. */
enum { MANY = 16384 };

/* A growing array of numbers. */
struct numbers {
    int *x;
    size_t cap;
};

struct turn {
    const struct hps_request_step *asked;   /* the step as it was asked for               */
    struct hps_request_step step;           /* and with slots                             */
    bool pinned;                /* its rows have slots, which are pinned                  */
    bool tried;                 /* to prepare it: there were too few slots                */
    bool changed;               /* its rows are noted as changed                          */
    size_t n;                   /* so many rows                                           */
    struct numbers slot;        /* (n) these                                              */
    struct numbers row, sum_row, id_row;    /* of row, of sums, of lookups by table row   */
    struct hps_merge_list *sums;
    size_t sums_cap;
    struct hps_lookup *lookup;
    size_t lookup_cap;
};

struct hps_paging_steps {
    struct hps_paging *paging;
    struct hps_paging_steps *next;      /* in the list of all      */
    bool learns;
    size_t nlayer;
    struct turn turn[KEPT];
    long long taken;
    struct turn *now;                   /* the step under way      */
};

struct hps_paging {
    struct hps_row_store *store;
    struct hps_dev *dev;
    char *what;
    struct hps_paging_steps *first;     /* sequences               */
    struct numbers lent;                /* slots of rows of no step */
    size_t nlent;
    double since_s, waited_s;           /* when a step lacked rows last, 0: none does; in all */
    enum hps_status status;
};

struct hps_paging *hps_paging_new(struct hps_row_store *store, struct hps_dev *dev,
                                  const char *what)
{
    struct hps_paging *p = hps_mem_new(1, sizeof *p);

    p->store = store;
    p->dev = dev;
    p->what = hps_mem_print("%s", what);
    return p;
}

void hps_paging_free(struct hps_paging *p)
{
    if (!p) return;
    hps_mem_free(p->what);
    hps_mem_free(p->lent.x);
    hps_mem_free(p);
}

struct hps_paging_steps *hps_paging_steps_new(struct hps_paging *p, bool learns, size_t nlayer)
{
    struct hps_paging_steps *s = hps_mem_new(1, sizeof *s);

    s->paging = p;
    s->learns = learns;
    s->nlayer = nlayer;
    s->next = p->first;
    p->first = s;
    return s;
}

/* The rows of a step may leave. */
static void unpin(struct hps_paging *p, struct turn *t)
{
    if (t->pinned) hps_row_store_release(p->store, t->n, t->slot.x);
    t->pinned = false;
}

/* The step under way has ended: its rows are final. */
static void end(struct hps_paging_steps *s)
{
    struct hps_paging *p = s->paging;

    p->dev->ops->sync(p->dev);
    if (s->now) unpin(p, s->now);
    s->now = NULL;
}

void hps_paging_steps_free(struct hps_paging_steps *s)
{
    if (!s) return;
    struct hps_paging_steps **link = &s->paging->first;

    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    end(s);
    for (struct turn *t = s->turn; t < s->turn + KEPT; t++) {
        unpin(s->paging, t);
        hps_mem_free(t->slot.x);
        hps_mem_free(t->row.x);
        hps_mem_free(t->sum_row.x);
        hps_mem_free(t->id_row.x);
        hps_mem_free(t->sums);
        hps_mem_free(t->lookup);
    }
    hps_mem_free(s);
}

/* ---- rows ---- */

static int *grown(struct numbers *a, size_t n)
{
    hps_mem_grow(&a->x, &a->cap, n + 1, sizeof *a->x);
    return a->x;
}

static struct turn *next_turn(struct hps_paging_steps *s)
{
    return &s->turn[s->taken % KEPT];
}

/* Look-ups are counted once. */
static bool pin(struct hps_paging_steps *s, struct turn *t)
{
    bool counts = s->learns && t != s->now;

    t->n = (size_t)t->asked->nmerge;
    t->pinned = hps_row_store_take(s->paging->store, t->n, t->asked->merged_host, counts,
                                   grown(&t->slot, t->n));
    return t->pinned;
}

void hps_paging_prepare(struct hps_paging_steps *s, const struct hps_request_step *step)
{
    struct turn *t = next_turn(s);

    if (t->pinned || t->tried || !hps_row_store_arrived(s->paging->store)) return;
    t->asked = step;
    t->tried = !pin(s, t);
}

void hps_paging_unprepare(struct hps_paging_steps *s)
{
    unpin(s->paging, next_turn(s));
}

/* All other steps make room; one that was prepared is not tried again before it is brought. */
static void unpin_others(struct hps_paging *p, const struct turn *mine)
{
    p->dev->ops->sync(p->dev);
    for (struct hps_paging_steps *s = p->first; s; s = s->next)
        for (struct turn *t = s->turn; t < s->turn + KEPT; t++) {
            if (t == mine) continue;
            if (t == next_turn(s)) t->tried |= t->pinned;
            unpin(p, t);
        }
}

static void refuse(struct hps_paging_steps *s, struct turn *t)
{
    struct hps_paging *p = s->paging;
    int n = hps_slots_count(hps_row_store_slots(p->store));

    if (!p->status)
        HPS_SAY_ALL(HPS_ERROR, "storage.host_memory: a step needs %d rows of table '%s' at this "
                    "rank, there is room for %d: more memory, smaller batches or more ranks are "
                    "needed",
                    t->asked->nmerge, p->what, n);
    p->status = HPS_DECK;
    for (size_t i = 0; i < t->n; i++)
        t->slot.x[i] = (int)i % n;
}

/* Its rows get slots now, whatever that takes. */
static void pin_now(struct hps_paging_steps *s, struct turn *t)
{
    if (t->pinned || pin(s, t)) return;
    unpin_others(s->paging, t);
    if (!pin(s, t)) refuse(s, t);
}

/* The step that has its turn is looked at again: has it its rows? */
static void count_wait(struct hps_paging *p, bool here)
{
    double now_s = hps_now_s();

    if (p->since_s > 0) p->waited_s += now_s - p->since_s;
    p->since_s = here ? 0 : now_s;
}

/* What a step had read for it comes before the next one has its turn. */
static bool bring(struct hps_paging_steps *s, struct turn *t, bool may_begin)
{
    struct hps_row_store *store = s->paging->store;
    bool here = hps_row_store_arrived(store);

    if (here && !t->pinned && may_begin) {
        pin_now(s, t);
        here = hps_row_store_arrived(store);
    } else {
        here = here && t->pinned;
    }
    if (may_begin) count_wait(s->paging, here);
    return here;
}

bool hps_paging_bring(struct hps_paging_steps *s, const struct hps_request_step *step,
                      bool may_begin)
{
    if (s->now) end(s);
    next_turn(s)->asked = step;
    return bring(s, next_turn(s), may_begin);
}

bool hps_paging_bring_again(struct hps_paging_steps *s, bool may_begin)
{
    return bring(s, s->now, may_begin);
}

void hps_paging_change(struct hps_paging_steps *s)
{
    struct hps_paging *p = s->paging;
    struct turn *t = s->now;

    if (t->changed) return;
    if (!t->pinned) {
        pin_now(s, t);
        hps_row_store_settle(p->store);
    }
    if (t->pinned) hps_row_store_change(p->store, t->n, t->slot.x);
    t->changed = true;
}

/* ---- rows of no step ---- */

const int *hps_paging_lend(struct hps_paging *p, size_t n, const int *row)
{
    int *slot = grown(&p->lent, n);
    bool taken = hps_row_store_take(p->store, n, row, false, slot);

    if (!taken) {
        unpin_others(p, NULL);
        taken = hps_row_store_take(p->store, n, row, false, slot);
    }
    assert(taken && p->nlent == 0);     /* nothing else is pinned */
    p->nlent = n;
    hps_row_store_settle(p->store);
    hps_row_store_change(p->store, n, slot);
    return slot;
}

void hps_paging_give_back(struct hps_paging *p)
{
    p->dev->ops->sync(p->dev);
    hps_row_store_release(p->store, p->nlent, p->lent.x);
    p->nlent = 0;
}

size_t hps_paging_slots(const struct hps_paging *p)
{
    return (size_t)hps_slots_count(hps_row_store_slots(p->store));
}

/* ---- numbers ---- */

/* A row that is in no slot is of a step that is refused, or of bags that could not be read: any
 * will do. */
static void translate(const struct hps_paging_steps *s, size_t n, const int *row, int *to)
{
    const struct hps_slots *slots = hps_row_store_slots(s->paging->store);

#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(s->paging->dev->nthread) if (n > MANY)
#endif
    for (size_t i = 0; i < n; i++) {
        uint32_t at = hps_slots_place(slots, row[i]);
        to[i] = at < HPS_SLOTS_NEVER ? (int)at : 0;
    }
}

/* The rows of the sums that others and I ask for. */
static void translate_sums(struct hps_paging_steps *s, struct turn *t)
{
    size_t lists = (size_t)t->step.M * (size_t)t->step.parts, all = 0;

    if (!t->step.sums) return;
    hps_mem_grow(&t->sums, &t->sums_cap, lists, sizeof *t->sums);
    memcpy(t->sums, t->step.sums, lists * sizeof *t->sums);
    for (size_t i = 0; i < lists; i++)
        all += t->sums[i].n > 0 ? (size_t)t->sums[i].begin[t->sums[i].n] : 0;
    int *to = grown(&t->sum_row, all);
    for (struct hps_merge_list *l = t->sums; l < t->sums + lists; l++) {
        size_t n = l->n > 0 ? (size_t)l->begin[l->n] : 0;
        translate(s, n, l->row, to);
        l->row = to;
        to += n;
    }
    t->step.sums = t->sums;
}

/* Lookups that find rows by their number in the table. */
static void translate_lookups(struct hps_paging_steps *s, struct turn *t)
{
    size_t n = (size_t)t->step.M * s->nlayer, all = 0;

    hps_mem_grow(&t->lookup, &t->lookup_cap, n + 1, sizeof *t->lookup);
    if (n > 0) memcpy(t->lookup, t->step.lookup, n * sizeof *t->lookup);
    for (size_t q = 0; q < n; q++)
        if (t->lookup[q].form == HPS_ROWS_IN_TABLE) all += t->lookup[q].nid;
    int *to = grown(&t->id_row, all);
    for (struct hps_lookup *l = t->lookup; l < t->lookup + n; l++) {
        if (l->form != HPS_ROWS_IN_TABLE) continue;
        translate(s, l->nid, l->of.in_table.row, to);
        l->of.in_table.row = to;
        to += l->nid;
    }
    t->step.lookup = t->lookup;
}

static void renumber(struct hps_paging_steps *s, struct turn *t)
{
    const struct hps_request_step *from = &t->step;
    bool same = from->row_host == from->merged_host;

    if (!same && !from->sums)
        translate(s, from->nsend_all, from->row_host, grown(&t->row, from->nsend_all));
    t->step.row = t->step.row_host = same ? t->slot.x : from->sums ? NULL : t->row.x;
    t->step.merged = t->step.merged_host = t->slot.x;
    translate_sums(s, t);
    translate_lookups(s, t);
}

const struct hps_request_step *hps_paging_take(struct hps_paging_steps *s,
                                               const struct hps_request_step *step)
{
    struct turn *t = next_turn(s);

    end(s);
    t->asked = step;
    pin_now(s, t);
    t->tried = t->changed = false;
    s->taken++;
    s->now = t;
    hps_row_store_settle(s->paging->store);
    t->step = *step;
    renumber(s, t);
    return &t->step;
}

double hps_paging_waited_s(const struct hps_paging *p)
{
    return p->waited_s;
}

enum hps_status hps_paging_status(const struct hps_paging *p)
{
    return p->status ? p->status : hps_row_store_status(p->store);
}
