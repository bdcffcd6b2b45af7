/* adapt.c - measures stages; rank 0 plans and decides, and broadcasts the decision. */
#include "train/adapt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/count.h"
#include "plan/correct.h"
#include "plan/cost.h"
#include "plan/promise.h"

enum { MIN_STEPS = 4 };

/* The error of the model for a plan that never ran, after one window under the present plan: as
 * large as promises were off on a busy machine. */
#define DOUBT 0.5

/* Seconds of a rank since its start: forward + backward + update; pull + push; all
 * communication. */
struct sums {
    double compute_s, rows_s, move_s;
};

/* A plan that ran, and its throughput: the weight of a window halves with each later one. */
struct tried {
    struct hps_plan *plan;
    int windows;
    double examples, seconds;
};

struct hps_adapt {
    const struct hps_sched_opt *opt;
    double max_search_s; /* of a search */
    struct hps_correct *correct;
    int changes, windows; /* of the run; under the present plan */
    int ntried;
    struct tried *tried;
    size_t tried_cap;
    struct sums at; /* when the window began, on this rank; the cursor then */
    struct hps_cursor began;
};

/* Rank 0's view of a window. */
struct verdict {
    double examples, examples_s; /* of the window */
    struct hps_profile *profile; /* corrected     */
    struct hps_plan *now, *then; /* priced by it: present, next; NULL: none was found */
    double limit;
    bool change;
    const char *why;
};

struct hps_adapt *hps_adapt_new(const struct hps_sched_opt *opt, const struct hps_profile *profile,
                                double stall_seconds)
{
    struct hps_adapt *a = hps_mem_new(1, sizeof *a);

    a->opt = opt;
    a->max_search_s = opt->seconds > 0 ? opt->seconds : INFINITY;
    if (stall_seconds > 0) a->max_search_s = fmin(a->max_search_s, stall_seconds / 10);
    a->correct = hps_correct_new(profile);
    return a;
}

void hps_adapt_free(struct hps_adapt *a)
{
    if (!a) return;
    for (int i = 0; i < a->ntried; i++)
        hps_plan_free(a->tried[i].plan);
    hps_mem_free(a->tried);
    hps_correct_free(a->correct);
    hps_mem_free(a);
}

/* ---- measuring ---- */

static struct sums sums_of(const struct hps_step *step)
{
    const struct hps_count_sum *r = hps_count_total();
    double rows = r[HPS_REGION_PULL].seconds + r[HPS_REGION_PUSH].seconds;
    double other = r[HPS_REGION_REDUCE].seconds + r[HPS_REGION_SEND].seconds;

    return (struct sums){ step->busy_s, rows, rows + other };
}

void hps_adapt_begin(struct hps_adapt *a, const struct hps_step *step,
                     const struct hps_cursor *cursor)
{
    a->at = sums_of(step);
    a->began = *cursor;
}

bool hps_adapt_ready(const struct hps_adapt *a, const struct hps_cursor *cursor)
{
    return cursor->step - a->began.step >= MIN_STEPS;
}

/* The times of one stage from the sums of its ranks. */
static struct hps_correct_stage fold(const struct hps_team *team, int s, const struct sums *of,
                                     double examples)
{
    struct sums x = { 0, INFINITY, INFINITY };

    for (int p = 0; p < team->nrank[s]; p++) {
        const struct sums *r = &of[team->rank[s][p]];
        x.compute_s = fmax(x.compute_s, r->compute_s);
        x.rows_s = fmin(x.rows_s, r->rows_s);
        x.move_s = fmin(x.move_s, r->move_s);
    }
    return (struct hps_correct_stage){ (x.compute_s + x.rows_s) / examples, x.move_s / examples };
}

/* Gather the window's sums of all ranks at rank 0. Collective. */
static void note(struct hps_adapt *a, const struct hps_step *step, double examples, MPI_Comm world)
{
    const struct hps_team *team = step->team;
    struct sums mine = sums_of(step), *all = hps_mem_new((size_t)team->R, sizeof *all);
    struct hps_correct_stage *stage = hps_mem_new((size_t)team->S, sizeof *stage);

    mine.compute_s -= a->at.compute_s;
    mine.rows_s -= a->at.rows_s;
    mine.move_s -= a->at.move_s;
    HPS_MPI(MPI_Gather(&mine, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, world));
    for (int s = 0; hps_rank() == 0 && s < team->S; s++)
        stage[s] = fold(team, s, all, examples);
    if (hps_rank() == 0) hps_correct_note(a->correct, step->plan, stage, examples);
    hps_mem_free(stage);
    hps_mem_free(all);
}

/* ---- deciding: rank 0 ---- */

/* Run the deck's method on the corrected profile; NULL: it found no plan, or cannot run. */
static struct hps_plan *search(const struct hps_adapt *a, struct verdict *v, double seconds)
{
    struct hps_sched_opt opt = *a->opt;
    struct hps_problem q = { .profile = v->profile, .opt = &opt };
    const struct hps_sched *method = hps_sched_find(opt.method, &q.argument);
    struct hps_plan *plan = NULL, *fastest = NULL;

    opt.seconds = fmin(a->max_search_s, fmax(0.01, 0.02 * seconds));
    for (int i = 0; i < 2 && !plan; i++) {
        hps_plan_free(fastest);
        fastest = NULL;
        if (hps_sched_limit(&q, method, &fastest) || hps_sched_search(&plan, &q)) break;
        v->limit = q.throughput_limit;
        if (isinf(opt.throughput_limit) || opt.throughput_limit == 0) break;
        opt.throughput_limit = INFINITY; /* out of reach now: the highest possible instead */
    }
    hps_plan_free(fastest);
    return plan;
}

static struct tried *find(const struct hps_adapt *a, const struct hps_plan *plan)
{
    for (int i = 0; i < a->ntried; i++)
        if (hps_plan_same_work(a->tried[i].plan, plan)) return &a->tried[i];
    return NULL;
}

static void remember(struct hps_adapt *a, const struct hps_plan *plan, double examples,
                     double seconds)
{
    struct tried *t = find(a, plan);

    if (!t) {
        hps_mem_grow(&a->tried, &a->tried_cap, (size_t)a->ntried + 1, sizeof *a->tried);
        t = &a->tried[a->ntried++];
        *t = (struct tried){ .plan = hps_plan_copy(plan) };
    }
    t->windows++;
    t->examples = t->examples / 2 + examples;
    t->seconds = t->seconds / 2 + seconds;
}

/* By the deck's objective. */
static struct hps_correct_price price_of(const struct hps_adapt *a, const struct verdict *v,
                                         const struct hps_plan *plan)
{
    struct hps_engine_result e = hps_engine_of(plan, v->profile);

    if (hps_sched_engine(a->opt)) return (struct hps_correct_price){ e.examples_s, e.cost_usd };
    return (struct hps_correct_price){ plan->throughput, plan->cost_usd };
}

/* The expected throughput of v->then, by the model or by its own measurements. */
static struct hps_correct_price expected(const struct hps_adapt *a, const struct verdict *v)
{
    const struct tried *t = find(a, v->then);
    struct hps_correct_price x = price_of(a, v, v->then);

    if (t) {
        const struct tried *now = find(a, v->now);
        double rate = price_of(a, v, v->now).examples_s * (t->examples / t->seconds) /
                      (now->examples / now->seconds);
        x.cost_usd *= x.examples_s / rate;
        x.examples_s = rate;
    }
    return x;
}

/* The margin by which v->then must be better: larger for a plan that never ran, and for types whose
 * measurement is unsure. */
static double margin_of(const struct hps_adapt *a, const struct verdict *v)
{
    double doubt = find(a, v->then) ? 0 : DOUBT / sqrt(a->windows);
    double now = hps_promise_unsure(v->now, v->profile);
    double then = hps_promise_unsure(v->then, v->profile);

    return a->opt->replan_margin + doubt + now + then;
}

/* Is v->then another plan, and better than v->now by the margin? For the highest throughput, a
 * plan's measured throughput may exceed the model's highest. */
static bool is_better(const struct hps_adapt *a, const struct verdict *v)
{
    if (!v->then || hps_plan_same_work(v->now, v->then)) return false;
    struct hps_correct_price then = expected(a, v);
    double limit = isinf(a->opt->throughput_limit) ? fmax(v->limit, then.examples_s) : v->limit;

    return hps_correct_better(price_of(a, v, v->now), then, limit, margin_of(a, v));
}

/* A former plan that was better than this one in more than one window: the model was wrong. */
static void look_back(const struct hps_adapt *a, struct verdict *v)
{
    bool sure = find(a, v->now)->windows > 1;

    for (int i = 0; sure && i < a->ntried; i++) {
        struct verdict w = *v;
        w.then = hps_plan_copy(a->tried[i].plan);
        hps_cost_of(w.then, v->profile);
        if (is_better(a, &w)) {
            hps_plan_free(v->then);
            v->then = w.then;
            return;
        }
        hps_plan_free(w.then);
    }
}

/* The seconds that v->then saves in the rest of the run, or that its saved money is worth. */
static double gain_s(const struct hps_adapt *a, const struct verdict *v, double left_examples)
{
    struct hps_correct_price now = price_of(a, v, v->now), then = expected(a, v);
    double share = fmax(1 - now.examples_s / then.examples_s, 1 - then.cost_usd / now.cost_usd);

    return share * left_examples / v->examples_s;
}

static void decide(const struct hps_adapt *a, struct verdict *v, const struct hps_adapt_state *at)
{
    if (!is_better(a, v)) look_back(a, v);
    bool better = is_better(a, v);
    bool early = a->changes > 0 && a->windows < ldexp(1, a->changes - 1);

    v->change = better && !early && gain_s(a, v, at->left_examples) > at->change_s;
    v->why = v->change         ? "the plan changes"
             : better && early ? "it stays: it is too new to be left"
             : better          ? "it stays: too little of the run is left"
             : !v->then        ? "it stays: no plan was found"
             : hps_plan_same_work(v->now, v->then)
                 ? "it stays: it is still the best"
                 : "it stays: no plan is better by the margin";
}

/* "slow 4.02, fast 0.98": measured over promised computing time of each type. */
static void types_text(const struct hps_adapt *a, const struct hps_profile *p, char *to,
                       size_t size)
{
    size_t n = 0;

    to[0] = 0;
    for (int t = 0; t < p->T && n < size; t++) {
        double f = hps_correct_type(a->correct, t);
        if (isnan(f)) continue;
        n += (size_t)snprintf(to + n, size - n, "%s%s %.3g", n ? ", " : "", p->type[t].name, f);
    }
}

static void say(const struct hps_adapt *a, const struct verdict *v, const struct hps_step *step,
                const struct hps_cursor *c)
{
    char types[160], other[80] = "";

    types_text(a, v->profile, types, sizeof types);
    if (v->then && !hps_plan_same_work(v->now, v->then))
        snprintf(other, sizeof other, ", another %.0f at %.4g USD", v->then->throughput,
                 v->then->cost_usd);
    HPS_SAY(HPS_INFO,
            "step %lld: measured %.0f examples/s, the plan promised %.0f; times as long as "
            "promised: %s; corrected, it promises %.0f at %.4g USD%s; %s",
            c->step, v->examples_s, step->plan->throughput, types, v->now->throughput,
            v->now->cost_usd, other, v->why);
}

static void judge(struct hps_adapt *a, const struct hps_step *step,
                  const struct hps_adapt_state *now, struct verdict *v)
{
    double seconds = now->cursor->seconds - a->began.seconds;

    v->examples_s = v->examples / seconds;
    v->profile = hps_correct_profile(a->correct);
    v->now = hps_plan_copy(step->plan);
    hps_cost_of(v->now, v->profile);
    v->then = search(a, v, seconds);
    if (v->then) hps_cost_of(v->then, v->profile);
    remember(a, v->now, v->examples, seconds);
    a->windows++;
    decide(a, v, now);
    if (v->change) {
        a->changes++;
        a->windows = 0;
    }
    say(a, v, step, now->cursor);
}

/* ---- all ranks ---- */

enum hps_status hps_adapt_evaluate(struct hps_adapt *a, const struct hps_step *step,
                                   const struct hps_adapt_state *now, struct hps_plan **plan,
                                   struct hps_profile **profile, MPI_Comm world)
{
    struct verdict v = { .examples = (double)(now->cursor->examples - a->began.examples) };
    enum hps_status st = HPS_OK;

    *plan = NULL;
    *profile = NULL;
    note(a, step, v.examples, world);
    if (hps_rank() == 0) judge(a, step, now, &v);
    hps_barrier_sleeping(world);
    int change = v.change;
    HPS_MPI(MPI_Bcast(&change, 1, MPI_INT, 0, world));
    if (change) {
        *plan = v.then;
        *profile = v.profile;
        hps_profile_bcast(profile, world);
        hps_plan_bcast(plan, world);
        st = hps_agree(world, hps_plan_check(*plan, *profile, "the new plan"));
        if (st) {
            hps_plan_free(*plan);
            hps_profile_free(*profile);
            *plan = NULL;
            *profile = NULL;
        }
    } else {
        hps_plan_free(v.then);
        hps_profile_free(v.profile);
    }
    hps_plan_free(v.now);
    return st;
}
