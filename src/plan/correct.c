/* correct.c - notes of measured windows, and the profile that they make of the first one. */
#include "plan/correct.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"
#include "plan/cost.h"

#define MAX_COMMON 1.5

/* Two sums for each layer and type: what was measured, what was promised for it. */
struct notes {
    double *got, *said; /* (L, T) */
};

struct hps_correct {
    struct hps_profile *first;
    struct notes compute, move;
};

static struct notes notes_new(size_t n)
{
    return (struct notes){ hps_mem_new(n, sizeof(double)), hps_mem_new(n, sizeof(double)) };
}

static void notes_free(struct notes *n)
{
    hps_mem_free(n->got);
    hps_mem_free(n->said);
}

/* Through its own text, which has all that a profile has, to the last bit. */
static struct hps_profile *copy(const struct hps_profile *p)
{
    char *text = hps_profile_text(p);
    struct hps_profile *q;
    enum hps_status st = hps_profile_parse(&q, "the profile", text, strlen(text));

    if (st) HPS_DIE("the profile cannot be read back");
    hps_mem_free(text);
    return q;
}

struct hps_correct *hps_correct_new(const struct hps_profile *first)
{
    struct hps_correct *c = hps_mem_new(1, sizeof *c);
    size_t n = (size_t)first->L * (size_t)first->T;

    c->first = copy(first);
    c->compute = notes_new(n);
    c->move = notes_new(n);
    return c;
}

void hps_correct_free(struct hps_correct *c)
{
    if (!c) return;
    notes_free(&c->compute);
    notes_free(&c->move);
    hps_profile_free(c->first);
    hps_mem_free(c);
}

/* ---- noting ---- */

static void add(struct notes *n, size_t at, double got, double said)
{
    n->got[at] += got;
    n->said[at] += said;
}

static void fade(struct notes *n, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        n->got[i] /= 2;
        n->said[i] /= 2;
    }
}

/* What is promised for the ranks of stage s, which may have a second stage to do. */
static struct hps_correct_stage promise(const struct hps_plan *plan, int s)
{
    int partner = hps_plan_partner(plan, s);
    struct hps_correct_stage x = { plan->stage[s].ct, plan->stage[s].dt };

    if (partner >= 0) {
        x.ct += plan->stage[partner].ct;
        x.dt += plan->stage[partner].dt;
    }
    return x;
}

void hps_correct_note(struct hps_correct *c, const struct hps_plan *plan,
                      const struct hps_correct_stage *stage, double examples)
{
    size_t T = (size_t)c->first->T;
    struct hps_plan *promised = hps_plan_copy(plan);

    hps_cost_of(promised, c->first);
    fade(&c->compute, (size_t)c->first->L * T);
    fade(&c->move, (size_t)c->first->L * T);
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &promised->stage[s];
        struct hps_correct_stage said = promise(promised, s), got = stage[s];
        if (!(got.dt > said.dt && got.dt > got.ct)) got.dt = said.dt;
        for (int l = g->first; l <= g->last; l++) {
            size_t at = (size_t)l * T + (size_t)g->type;
            if (said.ct > 0) add(&c->compute, at, examples * got.ct, examples * said.ct);
            if (said.dt > 0) add(&c->move, at, examples * got.dt, examples * said.dt);
        }
    }
    hps_plan_free(promised);
}

/* ---- correcting ---- */

/* NaN: nothing is known. */
static double type_factor(const struct hps_profile *p, const struct notes *n, int t)
{
    double got = 0, said = 0;

    for (int l = 0; l < p->L; l++) {
        got += n->got[l * p->T + t];
        said += n->said[l * p->T + t];
    }
    return said > 0 && got > 0 ? got / said : NAN;
}

double hps_correct_type(const struct hps_correct *c, int t)
{
    return type_factor(c->first, &c->compute, t);
}

static double common_factor(const struct hps_profile *p, const struct notes *n)
{
    double min = INFINITY;

    for (int t = 0; t < p->T; t++)
        min = fmin(min, type_factor(p, n, t)); /* NaN is passed over */
    return isinf(min) ? 1 : fmin(fmax(min, 1), MAX_COMMON);
}

static void correct(struct hps_profile *p, const struct notes *n, int narray, double *const *array)
{
    double common = common_factor(p, n);

    for (int t = 0; t < p->T; t++) {
        double type = type_factor(p, n, t);
        for (int l = 0; l < p->L; l++) {
            size_t at = (size_t)l * (size_t)p->T + (size_t)t;
            double f = isnan(type) ? common : n->got[at] > 0 ? n->got[at] / n->said[at] : type;
            for (int a = 0; a < narray; a++)
                array[a][at] *= f;
        }
    }
}

struct hps_profile *hps_correct_profile(const struct hps_correct *c)
{
    struct hps_profile *p = copy(c->first);

    correct(p, &c->compute, 3,
            (double *const[]){ p->oct, p->engine.forward_s, p->engine.once_s });
    correct(p, &c->move, 3, (double *const[]){ p->sync, p->recv, p->send });
    p->engine.trial = 0;        /* its excess is in the measured seconds, too */
    return p;
}

/* ---- comparing ---- */

bool hps_correct_better(struct hps_correct_price now, struct hps_correct_price then,
                        double throughput_limit, double margin)
{
    double min = throughput_limit * (1 - HPS_COST_TIE), more = 1 + margin;
    bool cheaper = then.cost_usd * more < now.cost_usd;

    if (now.examples_s >= min) return then.examples_s >= min && cheaper;
    return fmin(then.examples_s, throughput_limit) > now.examples_s * more ||
           (then.examples_s >= now.examples_s && cheaper);
}
