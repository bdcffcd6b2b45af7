/* fit.c - all times are linear in what is fitted, so each factor is a quotient. */
#include "profile/fit.h"

#include <math.h>

#include "base/mem.h"
#include "plan/cost.h"
#include "plan/promise.h"

/* ---- the layers on one unit ---- */

struct sums {
    double forward, backward, once, rows;
};

/* Of a micro-batch of the first size, on the unit. */
static struct sums sums_of(const struct hps_layer_time *m, int L, double slow)
{
    struct sums s = { 0, 0, 0, 0 };

    for (int l = 0; l < L; l++) {
        s.forward += slow * m[l].forward_s;
        s.backward += slow * (m[l].work_s[0] - m[l].forward_s - m[l].once_s);
        s.once += slow * m[l].once_s;
        s.rows += m[l].rows_s[0];
    }
    return s;
}

/* By what to multiply a sum that should be `region`; *rest is what can be fitted to nothing. */
static double factor_of(double region, double sum, double *rest)
{
    if (sum > 0 && region > 0) return region / sum;
    *rest += region;
    return 1;
}

/* Parts of the work of the other sizes are not known: they have the shares of the first one. */
static void scale_layer(struct hps_layer_time *m, const struct sums *by)
{
    double work = m->work_s[0], once = m->once_s * by->once;
    double forward = m->forward_s * by->forward;
    double backward = (work - m->forward_s - m->once_s) * by->backward;
    double all = forward + backward + once;

    for (int i = 0; i < 3; i++) {
        m->work_s[i] *= work > 0 ? all / work : 1;
        m->rows_s[i] *= by->rows;
    }
    m->forward_s = forward;
    m->once_s = once;
}

struct hps_fit_rest hps_fit_layers(struct hps_layer_time *m, int L, int M, double slow,
                                   const struct hps_trial *t, double max_micro_s)
{
    const double *r = t->region_s;
    struct sums sum = sums_of(m, L, slow);
    double work = r[HPS_REGION_FORWARD] + r[HPS_REGION_BACKWARD] + r[HPS_REGION_UPDATE] +
                  r[HPS_REGION_PUSH] + r[HPS_REGION_PULL];
    double rest = fmax(t->step_s - work, 0);
    struct sums by = { factor_of(r[HPS_REGION_FORWARD], M * sum.forward, &rest),
                       factor_of(r[HPS_REGION_BACKWARD], M * sum.backward, &rest),
                       factor_of(r[HPS_REGION_UPDATE] + r[HPS_REGION_PUSH], M * sum.once, &rest),
                       factor_of(r[HPS_REGION_PULL], M * sum.rows, &rest) };

    for (int l = 0; l < L; l++)
        scale_layer(&m[l], &by);
    double micro = fmin(rest / M, max_micro_s);
    return (struct hps_fit_rest){ micro, rest - M * micro };
}

/* ---- two units ---- */

/* The model's seconds of a step. */
static double price(struct hps_plan *plan, const struct hps_profile *p)
{
    hps_cost_of(plan, p);
    double step = hps_promise_step(plan, p).step_s;
    hps_plan_free(plan);
    return step;
}

/* Of k units of type t that have the whole net. */
static double step_of(const struct hps_profile *p, int t, int k)
{
    struct hps_plan *plan = hps_plan_new(p->L, 1);

    plan->stage[0] = (struct hps_plan_stage){ .last = p->L - 1, .type = t, .units = k };
    return price(plan, p);
}

static void scale_sync(struct hps_profile *p, int t, double by)
{
    for (int l = 0; l < p->L; l++)
        p->sync[l * p->T + t] *= by;
}

/* How often as long sync may be until the paper's model, in which one unit has it too, says that
 * one unit waits for it. */
static double max_times(const struct hps_profile *p, int t)
{
    double sum = 0;

    for (int l = 0; l < p->L; l++)
        sum += p->sync[l * p->T + t];
    return sum > 0 ? fmax(1, step_of(p, t, 1) / (hps_engine_cut(p).batch * sum / p->batch)) : 1;
}

/* Scale sync so that the step lasts step_s, or as near as it can. */
static void fit_sync(struct hps_profile *p, int t, double step_s)
{
    double with = step_of(p, t, 2), max = max_times(p, t);
    double *sync = hps_mem_new((size_t)p->L, sizeof *sync);

    for (int l = 0; l < p->L; l++)
        sync[l] = p->sync[l * p->T + t];
    scale_sync(p, t, 0);
    double without = step_of(p, t, 2), by = 1;
    if (with > without) by = fmin(fmax(step_s - without, 0) / (with - without), max);
    for (int l = 0; l < p->L; l++)
        p->sync[l * p->T + t] = by * sync[l];
    hps_mem_free(sync);
}

/* Move alpha by a share of its way to `end`, so that the step lasts step_s or is as near as can be.
 */
static void fit_alpha(struct hps_profile *p, int t, double step_s, double end)
{
    double now = step_of(p, t, 2), sum = 0;
    double M = hps_engine_cut(p).M;

    for (int l = 0; l < p->L; l++) {
        size_t at = (size_t)l * (size_t)p->T + (size_t)t;
        sum += M * p->oct[at] * (p->alpha[at] - end) / 2;       /* what the whole way adds */
    }
    double share = sum != 0 ? fmin(fmax((step_s - now) / sum, 0), 1) : 0;
    for (int l = 0; l < p->L; l++) {
        double *alpha = &p->alpha[(size_t)l * (size_t)p->T + (size_t)t];
        *alpha += share * (end - *alpha);
    }
}

/* What was measured, but of its difference from the model only as much as is no noise. */
static double less_noise(double before, double measured, double unsure)
{
    double d = measured - before, noise = unsure * measured;

    return before + d * (noise > 0 ? d * d / (d * d + noise * noise) : 1);
}

double hps_fit_pair(struct hps_profile *p, int t, double step_s, double unsure)
{
    double before = step_of(p, t, 2);

    step_s = less_noise(before, step_s, unsure);
    if (step_s < before) fit_alpha(p, t, step_s, 1);
    fit_sync(p, t, step_s);
    if (step_s > before) fit_alpha(p, t, step_s, 0);
    return before;
}

/* ---- two stages ---- */

/* Of a unit of type a with the layers before `cut`, and one of type b with the rest. */
static double step_of_cut(const struct hps_profile *p, int a, int b, int cut)
{
    struct hps_plan *plan = hps_plan_new(p->L, 2);

    plan->stage[0] = (struct hps_plan_stage){ .last = cut - 1, .type = a, .units = 1 };
    plan->stage[1] = (struct hps_plan_stage){ .first = cut, .last = p->L - 1, .type = b,
                                              .units = 1 };
    return price(plan, p);
}

/* How unlikely a `move` is: by the step that it makes, and in itself. */
static double unlikely(struct hps_profile *p, int a, int b, int cut, double step_s, double unsure)
{
    double off = step_of_cut(p, a, b, cut) / step_s - 1, far = unsure * (p->engine.move - 1);

    return off * off + far * far;
}

/* The step never falls as `move` rises, so there is one best, or a range from 0 on. */
double hps_fit_move(struct hps_profile *p, int a, int b, int cut, double step_s, double unsure)
{
    double low = 0, high = 8;

    p->engine.move = 0;
    double before = step_of_cut(p, a, b, cut);
    for (int i = 0; i < 80; i++) {
        double third = (high - low) / 3, left, right;
        p->engine.move = low + third;
        left = unlikely(p, a, b, cut, step_s, unsure);
        p->engine.move = high - third;
        right = unlikely(p, a, b, cut, step_s, unsure);
        if (left <= right)
            high -= third;
        else
            low += third;
    }
    p->engine.move = low;
    return before;
}

/* ---- a server ---- */

double hps_fit_serve(struct hps_profile *p, int t, double busy_s, double unsure)
{
    double before = 0, batch = hps_engine_cut(p).batch / p->workers;

    for (int l = 0; l < p->L; l++)
        before += batch * p->serve[l * p->T + t] / p->batch;
    if (!(before > 0)) return 0;
    double by = less_noise(before, busy_s, unsure) / before;
    for (int l = 0; l < p->L; l++)
        p->serve[l * p->T + t] *= by;
    return before;
}
