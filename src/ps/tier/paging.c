/* paging.c - rows of a step to their slots, a step ahead. */
#include "ps/paging.h"

#include <string.h>

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
    struct hps_request_step step;
    bool pinned;                /* its rows have slots, which are pinned                  */
    bool tried;                 /* to prepare it: there were too few slots                */
    struct numbers slot;        /* (nmerge) these                                         */
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
};

struct hps_paging {
    struct hps_row_store *store;
    struct hps_dev *dev;
    char *what;
    struct hps_paging_steps *first;     /* sequences               */
    struct turn *now;                   /* the step under way      */
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
static void end(struct hps_paging *p, struct turn *t)
{
    if (t->pinned) hps_row_store_release(p->store, (size_t)t->step.nmerge, t->slot.x);
    t->pinned = false;
    if (p->now == t) p->now = NULL;
}

void hps_paging_steps_free(struct hps_paging_steps *s)
{
    if (!s) return;
    struct hps_paging_steps **link = &s->paging->first;

    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    s->paging->dev->ops->sync(s->paging->dev);
    for (struct turn *t = s->turn; t < s->turn + KEPT; t++) {
        end(s->paging, t);
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

static bool pin(struct hps_paging_steps *s, struct turn *t, const struct hps_request_step *step)
{
    size_t n = (size_t)step->nmerge;

    t->step = *step;
    t->pinned = hps_row_store_take(s->paging->store, n, step->merged_host, s->learns,
                                   grown(&t->slot, n));
    return t->pinned;
}

void hps_paging_prepare(struct hps_paging_steps *s, const struct hps_request_step *step)
{
    struct turn *t = &s->turn[s->taken % KEPT];

    if (!t->pinned && !t->tried) t->tried = !pin(s, t, step);
}

/* Steps that were prepared make room; they are read again when they are taken. */
static void unprepare_others(struct hps_paging *p)
{
    for (struct hps_paging_steps *s = p->first; s; s = s->next)
        end(p, &s->turn[s->taken % KEPT]);
}

static void refuse(struct hps_paging_steps *s, struct turn *t)
{
    struct hps_paging *p = s->paging;
    int n = hps_slots_count(hps_row_store_slots(p->store));

    if (!p->status)
        HPS_SAY_ALL(HPS_ERROR, "storage.host_memory: a step needs %d rows of table '%s' at this "
                    "rank, there is room for %d: more memory, smaller batches or more ranks are "
                    "needed",
                    t->step.nmerge, p->what, n);
    p->status = HPS_DECK;
    for (int i = 0; i < t->step.nmerge; i++)
        t->slot.x[i] = i % n;
}

/* Its rows get slots now, whatever that takes. */
static void pin_now(struct hps_paging_steps *s, struct turn *t, const struct hps_request_step *step)
{
    if (t->pinned || pin(s, t, step)) return;
    unprepare_others(s->paging);
    if (!pin(s, t, step)) refuse(s, t);
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
    struct hps_paging *p = s->paging;
    struct turn *t = &s->turn[s->taken % KEPT];

    p->dev->ops->sync(p->dev);          /* the rows of the step before are final */
    if (p->now) end(p, p->now);
    pin_now(s, t, step);
    t->tried = false;
    s->taken++;
    p->now = t;
    hps_row_store_settle(p->store);
    if (s->learns && t->pinned) hps_row_store_change(p->store, (size_t)step->nmerge, t->slot.x);
    t->step = *step;
    renumber(s, t);
    return &t->step;
}

enum hps_status hps_paging_status(const struct hps_paging *p)
{
    return p->status ? p->status : hps_row_store_status(p->store);
}
