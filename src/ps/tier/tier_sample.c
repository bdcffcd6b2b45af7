#include "ps/tier_sample.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "hw/lookup.h"
#include "ps/csr.h"
#include "ps/slots.h"

/* Rows of the smaller table, ids of a step that are followed, rows of the stream: at most. */
enum { MAX_ROWS = 1 << 20, MAX_IDS = 1 << 14, MAX_STREAM = 1 << 21, MAX_STEPS = 1 << 14 };
enum { EPOCHS = 3 };            /* of the sample, one behind the other */

struct hps_tier_trace {
    struct hps_csr csr;
    struct hps_lookup *lookup;
    long long rows;
    uint64_t times;             /* 0: not known before the first step           */
    int nrow;                   /* followed                                     */
    int *seen;                  /* (nrow) the last step that needed it, from 1  */
    int *row;                   /* (end[nstep]) distinct ones of each step      */
    size_t row_cap;
    size_t *end;                /* (1 + nstep) behind those of each step        */
    size_t end_cap;
    int *distinct;              /* (1 + nstep) rows in so many steps            */
    size_t distinct_cap;
    int nstep;
};

struct hps_tier_trace *hps_tier_trace_new(int nlayer, const struct hps_layer *const *layer,
                                          long long rows, int M)
{
    struct hps_tier_trace *t = hps_mem_new(1, sizeof *t);

    hps_csr_init(&t->csr, nlayer, layer, rows, M, 1);
    t->lookup = hps_mem_new(hps_csr_lookups(&t->csr), sizeof *t->lookup);
    t->rows = rows;
    hps_mem_grow(&t->end, &t->end_cap, 1, sizeof *t->end);
    hps_mem_grow(&t->distinct, &t->distinct_cap, 1, sizeof *t->distinct);
    t->end[0] = 0;
    t->distinct[0] = 0;
    return t;
}

void hps_tier_trace_free(struct hps_tier_trace *t)
{
    if (!t) return;
    hps_csr_done(&t->csr);
    hps_mem_free(t->lookup);
    hps_mem_free(t->seen);
    hps_mem_free(t->row);
    hps_mem_free(t->end);
    hps_mem_free(t->distinct);
    hps_mem_free(t);
}

/* ---- the stream ---- */

/* How many rows one that is followed stands for. */
static void begin(struct hps_tier_trace *t)
{
    uint64_t by_rows = (uint64_t)t->rows / MAX_ROWS + 1, by_ids = t->csr.nid / MAX_IDS + 1;

    t->times = by_rows > by_ids ? by_rows : by_ids;
    if (t->times > (uint64_t)t->rows) t->times = (uint64_t)t->rows;
    t->nrow = (int)(((uint64_t)t->rows + t->times - 1) / t->times);
    t->seen = hps_mem_new((size_t)t->nrow, sizeof *t->seen);
}

/* Of `times` consecutive rows the one that is followed. */
static bool is_followed(const struct hps_tier_trace *t, uint64_t row, uint64_t group)
{
    return t->times == 1 || hps_rng_mix32((uint32_t)group) % t->times == row - group * t->times;
}

static size_t add_ids(struct hps_tier_trace *t, size_t n, const uint64_t *row, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t group = row[i] / t->times;
        if (!is_followed(t, row[i], group) || t->seen[group] == t->nstep + 1) continue;
        t->distinct[t->nstep + 1] += t->seen[group] == 0;
        t->seen[group] = t->nstep + 1;
        t->row[at++] = (int)group;
    }
    return at;
}

bool hps_tier_trace_add(struct hps_tier_trace *t, const struct hps_batch *batch)
{
    size_t at = t->end[t->nstep], next = (size_t)t->nstep + 2;
    struct hps_csr_walk w;

    if (at >= MAX_STREAM || t->nstep >= MAX_STEPS) return false;
    hps_csr_list(&t->csr, batch, 1, t->lookup);
    if (t->nstep == 0) begin(t);
    hps_mem_grow(&t->end, &t->end_cap, next, sizeof *t->end);
    hps_mem_grow(&t->distinct, &t->distinct_cap, next, sizeof *t->distinct);
    size_t most = t->csr.nid < (size_t)t->nrow ? t->csr.nid : (size_t)t->nrow;
    hps_mem_grow(&t->row, &t->row_cap, at + most + 1, sizeof *t->row);
    t->distinct[t->nstep + 1] = t->distinct[t->nstep];
    hps_csr_walk(&t->csr, &w, 0, t->csr.M, 0);
    while (hps_csr_next(&t->csr, &w))
        at = add_ids(t, w.n, w.key, at);
    t->end[++t->nstep] = at;
    return true;
}

/* ---- slots ---- */

/* Rows that were needed before, and those of them in slots, at 2^-i slots for each row so far: each
 * step counts for the two shares beside its own. And of later epochs, with 2^-i slots for each row
 * of the sample; also of rows that such an epoch needs for the first time. */
struct shares {
    double again[HPS_TIER_SHARES], hits[HPS_TIER_SHARES];
    double later[HPS_TIER_SHARES], later_hits[HPS_TIER_SHARES];
    double first[HPS_TIER_SHARES], first_hits[HPS_TIER_SHARES];
};

static void add_share(struct shares *s, double slots, double again, double hits)
{
    double at = fmax(-log2(slots), 0);
    int i = (int)at;

    for (int k = i; k <= i + 1 && k < HPS_TIER_SHARES; k++) {
        double weight = 1 - fabs(at - k);
        s->again[k] += weight * again;
        s->hits[k] += weight * hits;
    }
}

/* A training's slots. */
struct pass {
    struct hps_slots *slots;
    int *pinned[2];             /* slots of the step before, and of this one */
    size_t n[2];
    bool *known;                /* (nrow) a step of the epoch has needed it  */
};

/* Rows of a step that one of its epoch has needed before, or none; those that are in slots. */
struct found {
    double again, hits, first, first_hits;
};

/* The rows of a step come, when those of the step before have left where there is no room for both.
 * False: there is none for the step. */
static bool take(const struct hps_tier_trace *t, struct pass *p, int step, struct found *f)
{
    const int *row = t->row + t->end[step];
    size_t n = t->end[step + 1] - t->end[step];
    struct hps_slots_moves m;

    *f = (struct found){ 0, 0, 0, 0 };
    for (size_t i = 0; i < n; i++) {
        bool known = p->known[row[i]], hit = hps_slots_place(p->slots, row[i]) < HPS_SLOTS_NEVER;
        *(known ? &f->again : &f->first) += 1;
        *(known ? &f->hits : &f->first_hits) += hit;
        p->known[row[i]] = true;
    }
    bool taken = hps_slots_take(p->slots, n, row, true, &m);
    hps_slots_release(p->slots, p->n[0], p->pinned[0]);
    p->n[0] = 0;
    if (!taken && !hps_slots_take(p->slots, n, row, true, &m)) return false;
    hps_slots_find(p->slots, n, row, p->pinned[1]);
    int *pinned = p->pinned[0];
    p->pinned[0] = p->pinned[1];
    p->pinned[1] = pinned;
    p->n[0] = n;
    return true;
}

static void replay_later(const struct hps_tier_trace *t, struct pass *p, int i, struct shares *s)
{
    struct found f;

    memset(p->known, 0, (size_t)t->nrow * sizeof *p->known);
    for (int step = 0; step < t->nstep && take(t, p, step, &f); step++) {
        s->later[i] += f.again;
        s->later_hits[i] += f.hits;
        s->first[i] += f.first;
        s->first_hits[i] += f.first_hits;
    }
}

/* With slots for 2^-i of all rows that the sample needs: some epochs of it. */
static void replay(const struct hps_tier_trace *t, int i, int slots, size_t max, struct shares *s)
{
    struct pass p = { .slots = hps_slots_new(t->nrow, slots) };
    struct found f;

    p.known = hps_mem_new((size_t)t->nrow, sizeof *p.known);
    for (int k = 0; k < 2; k++)
        p.pinned[k] = hps_mem_new(max, sizeof *p.pinned[k]);
    for (int step = 0; step < t->nstep && take(t, &p, step, &f); step++)
        if (slots < t->distinct[step + 1])
            add_share(s, (double)slots / t->distinct[step + 1], f.again, f.hits);
    for (int epoch = 1; epoch < EPOCHS; epoch++)
        replay_later(t, &p, i, s);
    hps_slots_free(p.slots);
    hps_mem_free(p.known);
    hps_mem_free(p.pinned[0]);
    hps_mem_free(p.pinned[1]);
}

static size_t max_step(const struct hps_tier_trace *t)
{
    size_t max = 1;

    for (int i = 0; i < t->nstep; i++)
        if (t->end[i + 1] - t->end[i] > max) max = t->end[i + 1] - t->end[i];
    return max;
}

/* Shares up to number `known` were measured; where nothing was, they fall as they do before. */
static void fill_shares(double *share, int known, const double *all, const double *hits)
{
    share[0] = 1;
    for (int i = 1; i < HPS_TIER_SHARES; i++) {
        double fall = i > 1 && share[i - 2] > 0 ? share[i - 1] / share[i - 2] : 0.5;
        bool measured = i <= known && all[i] > 0;
        share[i] = fmin(measured ? hits[i] / all[i] : share[i - 1] * fall, share[i - 1]);
    }
}

struct hps_tier_sample hps_tier_trace_end(struct hps_tier_trace *t)
{
    struct hps_tier_sample x = { .steps = t->nstep };
    struct shares s;
    int known = 0;
    size_t max = max_step(t);

    if (t->nstep == 0) return x;
    memset(&s, 0, sizeof s);
    double times = (double)t->rows / t->nrow;
    x.rows = (double)t->rows;
    x.asked = times * (double)t->end[t->nstep] / t->nstep;
    for (int i = 0; i < HPS_TIER_POINTS; i++)
        x.distinct[i] = times * t->distinct[t->nstep >> i > 0 ? t->nstep >> i : 1];
    /* not with so few that the rows of two steps fill them: the run may have more */
    for (int i = 1; i < HPS_TIER_SHARES; i++) {
        int slots = t->distinct[t->nstep] >> i;
        if ((size_t)slots < 2 * max) break;
        replay(t, i, slots, max, &s);
        known = i;
    }
    fill_shares(x.hits, known, s.again, s.hits);
    fill_shares(x.later_hits, known, s.later, s.later_hits);
    fill_shares(x.first_hits, known, s.first, s.first_hits);
    return x;
}
