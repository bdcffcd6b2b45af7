/* replay.c - a list of passes for each group of ranks; each does its next one as soon as it is
 * known when its message comes. */
#include "plan/replay.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "plan/order.h"

enum { BEFORE = 3, STEPS = 8 };         /* steps, to come into the swing; that count */

/* The ranks that stage `lead` is the first of. */
struct ranks {
    struct hps_todo *todo;              /* (n) of a step                             */
    int n, next;
    double free_s;                      /* when their last pass ended                */
};

struct replay {
    int S, M;
    const struct hps_engine_terms *x;
    int *lead;                          /* (S) */
    struct ranks *ranks;                /* (S) by the lead                           */
    double *ended_s[2];                 /* (S, M) forwards, backwards; NaN: not yet  */
};

static void make(struct replay *r, const int *mate)
{
    size_t S = (size_t)r->S, M = (size_t)r->M;

    r->lead = hps_mem_new(S, sizeof *r->lead);
    r->ranks = hps_mem_new(S, sizeof *r->ranks);
    for (int back = 0; back < 2; back++)
        r->ended_s[back] = hps_mem_new(S * M, sizeof(double));
    for (int s = 0; s < r->S; s++)
        r->lead[s] = mate && mate[s] >= 0 && mate[s] < s ? mate[s] : s;
    for (int s = 0; s < r->S; s++) {
        struct ranks *k = &r->ranks[s];
        if (r->lead[s] != s) continue;
        k->todo = hps_mem_new(4 * M, sizeof *k->todo);
        k->n = hps_order_1f1b(r->S, r->lead, s, r->M, true, k->todo);
    }
}

static void done(struct replay *r)
{
    for (int s = 0; s < r->S; s++)
        hps_mem_free(r->ranks[s].todo);
    hps_mem_free(r->ended_s[0]);
    hps_mem_free(r->ended_s[1]);
    hps_mem_free(r->ranks);
    hps_mem_free(r->lead);
}

static double *ended(struct replay *r, bool back, int s, int m)
{
    return &r->ended_s[back][(size_t)s * (size_t)r->M + (size_t)m];
}

/* When the message arrives that a pass needs; NaN: not known yet; 0: none is needed. */
static double arrival_s(struct replay *r, const struct hps_todo *t)
{
    int s = t->stage;

    if (t->backward) return s == r->S - 1 ? 0 : *ended(r, true, s + 1, t->m) + r->x[s + 1].hop / 2;
    return s == 0 ? 0 : *ended(r, false, s - 1, t->m) + r->x[s].hop / 2;
}

/* The ranks do their next pass. False: its message is not known yet, or there is none. */
static bool advance(struct replay *r, struct ranks *k)
{
    if (k->next == k->n) return false;
    const struct hps_todo *t = &k->todo[k->next];
    double come_s = arrival_s(r, t);
    if (isnan(come_s)) return false;
    const struct hps_engine_terms *x = &r->x[t->stage];
    k->free_s = fmax(k->free_s, come_s) + (t->backward ? x->backward : x->forward);
    *ended(r, t->backward, t->stage, t->m) = k->free_s;
    k->next++;
    return true;
}

static void one_step(struct replay *r)
{
    bool moved = true;

    for (size_t i = 0; i < (size_t)r->S * (size_t)r->M; i++)
        r->ended_s[0][i] = r->ended_s[1][i] = NAN;
    for (int s = 0; s < r->S; s++)
        r->ranks[s].next = 0;
    while (moved) {
        moved = false;
        for (int s = 0; s < r->S; s++)
            while (advance(r, &r->ranks[s]))
                moved = true;
    }
    for (int s = 0; s < r->S; s++) {
        assert(r->ranks[s].next == r->ranks[s].n);
        r->ranks[r->lead[s]].free_s += r->x[s].once;
    }
}

double hps_replay_step(int S, const struct hps_engine_terms *x, const int *mate, int M)
{
    struct replay r = { .S = S, .M = M, .x = x };
    double began_s = 0;

    make(&r, mate);
    for (int i = 0; i < BEFORE + STEPS; i++) {
        if (i == BEFORE) began_s = r.ranks[0].free_s;
        one_step(&r);
    }
    double step_s = (r.ranks[0].free_s - began_s) / STEPS;
    for (int s = 0; s < S; s++)
        step_s = fmax(step_s, x[s].paging);
    done(&r);
    return step_s;
}
