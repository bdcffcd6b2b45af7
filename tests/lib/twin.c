/* twin.c - the slow truth in double precision; see twin.h. */
#include "twin.h"

#include <math.h>

#include "base/rng.h"

/* They are what others are held against, and slow enough without a sanitizer's checks. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("address", "undefined", "coverage"))),     \
                             apply_to = function)
#endif

static const double root_half = 0.70710678118654752440;
static const double root_two_pi = 2.50662827463100050242;

double twin_act(enum hps_act act, double x)
{
    switch (act) {
    case HPS_ACT_RELU: return x > 0 ? x : 0;
    case HPS_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case HPS_ACT_TANH: return tanh(x);
    case HPS_ACT_GELU: return x * 0.5 * erfc(-x * root_half);
    default: return x;
    }
}

double twin_act_slope(enum hps_act act, double x)
{
    double y = twin_act(act, x);

    switch (act) {
    case HPS_ACT_RELU: return x > 0 ? 1 : 0;
    case HPS_ACT_SIGMOID: return y * (1 - y);
    case HPS_ACT_TANH: return 1 - y * y;
    case HPS_ACT_GELU: return 0.5 * erfc(-x * root_half) + x * exp(-x * x / 2) / root_two_pi;
    default: return 1;
    }
}

void twin_fc(enum hps_act act, int B, int in, int out, const double *x, const double *w,
             const double *b, double *pre, double *y)
{
    for (int r = 0; r < B; r++)
        for (int o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int i = 0; i < in; i++)
                sum += x[(size_t)r * in + i] * w[(size_t)i * out + o];
            if (pre)
                pre[(size_t)r * out + o] = sum;
            if (y)
                y[(size_t)r * out + o] = twin_act(act, sum);
        }
}

void twin_fc_back(enum hps_act act, int B, int in, int out, const double *x, const double *w,
                  const double *pre, const double *dy, double *dx, double *dw, double *db)
{
    for (int r = 0; r < B; r++)
        for (int o = 0; o < out; o++) {
            size_t at = (size_t)r * out + o;
            double d = dy[at] * twin_act_slope(act, pre[at]);
            if (db)
                db[o] += d;
            for (int i = 0; i < in; i++) {
                if (dw)
                    dw[(size_t)i * out + o] += x[(size_t)r * in + i] * d;
                if (dx)
                    dx[(size_t)r * in + i] += d * w[(size_t)i * out + o];
            }
        }
}

void twin_dropout(int B, int width, double p, uint64_t key, const long long *example,
                  const double *x, double *y)
{
    for (int r = 0; r < B; r++)
        for (int c = 0; c < width; c++) {
            uint64_t index = (uint64_t)example[r] * (uint64_t)width + (uint64_t)c;
            bool keep = hps_rng_unit(key, index) >= p;
            y[(size_t)r * width + c] = keep ? x[(size_t)r * width + c] / (1 - p) : 0;
        }
}

/* How one layer type reads its bags. */
struct walk {
    const struct hps_lookup *lookup;
    int dim;
    enum hps_pool_kind pool;
    enum hps_combine combine;
};

static size_t first_of(const struct hps_lookup *lookup, size_t s_b)
{
    return lookup->single ? s_b : (size_t)lookup->offset[s_b];
}

static void walk(const struct walk *k, int s, int b, const double *rows, double *y,
                 const double *dy, double *rows_grad)
{
    size_t at = (size_t)s * k->lookup->B + b;
    size_t first = first_of(k->lookup, at), last = first_of(k->lookup, at + 1);
    bool concat = k->combine == HPS_COMBINE_CONCAT;
    size_t width = concat ? (size_t)k->lookup->nslot * k->dim : (size_t)k->dim;
    size_t to = (size_t)b * width + (concat ? (size_t)s * k->dim : 0);

    for (size_t i = first; i < last; i++) {
        double share = k->pool == HPS_POOL_MEAN ? 1.0 / (double)(last - first) : 1;
        for (int d = 0; d < k->dim; d++) {
            size_t row = (size_t)k->lookup->of.index[i] * k->dim + d;
            if (y)
                y[to + d] += share * rows[row];
            else
                rows_grad[row] += share * dy[to + d];
        }
    }
}

void twin_bag(const struct hps_lookup *lookup, int dim, enum hps_pool_kind pool,
              enum hps_combine combine, const double *rows, double *y)
{
    struct walk k = { lookup, dim, pool, combine };
    size_t slots = combine == HPS_COMBINE_CONCAT ? (size_t)lookup->nslot : 1;

    for (size_t i = 0; i < (size_t)lookup->B * slots * dim; i++)
        y[i] = 0;
    for (int s = 0; s < lookup->nslot; s++)
        for (int b = 0; b < lookup->B; b++)
            walk(&k, s, b, rows, y, NULL, NULL);
}

void twin_bag_back(const struct hps_lookup *lookup, int dim, enum hps_pool_kind pool,
                   enum hps_combine combine, const double *dy, double *rows_grad)
{
    struct walk k = { lookup, dim, pool, combine };

    for (int s = 0; s < lookup->nslot; s++)
        for (int b = 0; b < lookup->B; b++)
            walk(&k, s, b, NULL, NULL, dy, rows_grad);
}

double twin_logistic(int B, const double *x, const double *label, double weight, double *score,
                     double *dx)
{
    double sum = 0;

    for (int r = 0; r < B; r++) {
        double p = twin_act(HPS_ACT_SIGMOID, x[r]);
        sum += (x[r] > 0 ? x[r] : 0) - label[r] * x[r] + log1p(exp(-fabs(x[r])));
        if (score)
            score[r] = p;
        if (dx)
            dx[r] = (p - label[r]) * weight;
    }
    return sum;
}

/* What a mean with its decay is when it began with 0. */
static double unbiased(double mean, double decay, const struct hps_rule *rule)
{
    return mean / (1 - pow(decay, (double)rule->step));
}

/* The new weight by the gradient d; *s, *z are its states. lamb: what it is moved by. */
static double twin_weight(const struct hps_rule *r, double w, double d, double *s, double *z)
{
    bool sum = r->kind == HPS_RULE_ROW_ADAGRAD || r->kind == HPS_RULE_FTRL;
    double b1 = r->beta1, b2 = r->beta2, old = sum ? sqrt(*s) : 0;

    switch (r->kind) {
    case HPS_RULE_SGD: return w - r->lr * d;
    case HPS_RULE_MOMENTUM: *s = b1 * *s + d; return w - r->lr * *s;
    case HPS_RULE_NESTEROV: *s = b1 * *s + d; return w - r->lr * (d + b1 * *s);
    case HPS_RULE_ADAGRAD: *s += d * d; return w - r->lr * d / (sqrt(*s) + r->eps);
    case HPS_RULE_ROW_ADAGRAD: return w - r->lr * d / (old + r->eps);
    case HPS_RULE_RMSPROP:
        *s = b2 * *s + (1 - b2) * d * d;
        return w - r->lr * d / (sqrt(*s) + r->eps);
    case HPS_RULE_FTRL:
        *s += d * d;
        *z += d - (sqrt(*s) - old) / r->lr * w;
        if (fabs(*z) <= r->l1)
            return 0;
        return -(*z - copysign(r->l1, *z)) / ((r->beta + sqrt(*s)) / r->lr + r->l2);
    case HPS_RULE_ADAM: case HPS_RULE_LAMB:
        *s = b1 * *s + (1 - b1) * d;
        *z = b2 * *z + (1 - b2) * d * d;
        d = unbiased(*s, b1, r) / (sqrt(unbiased(*z, b2, r)) + r->eps);
        return r->kind == HPS_RULE_ADAM ? w - r->lr * d : d + r->l2 * w;
    }
    return NAN;
}

static double squares(size_t n, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

void twin_rule(const struct hps_rule *rule, size_t n, double *w, const double *g, double *s0,
               double *s1)
{
    static double d[1 << 16];
    bool lamb = rule->kind == HPS_RULE_LAMB, row = rule->kind == HPS_RULE_ROW_ADAGRAD;
    double l2 = lamb || rule->kind == HPS_RULE_FTRL ? 0 : (double)rule->l2, rate = rule->lr;

    for (size_t i = 0; i < n; i++)
        d[i] = (double)rule->scale * g[i] + l2 * w[i];
    if (row)
        *s0 += squares(n, d) / (double)n;
    for (size_t i = 0; i < n; i++) {
        d[i] = twin_weight(rule, w[i], d[i], s0 ? s0 + (row ? 0 : i) : NULL, s1 ? s1 + i : NULL);
        if (!lamb)
            w[i] = d[i];
    }
    if (lamb && squares(n, w) > 0 && squares(n, d) > 0)
        rate *= sqrt(squares(n, w) / squares(n, d));
    for (size_t i = 0; i < n && lamb; i++)
        w[i] -= rate * d[i];
}

double twin_slope(double (*f)(void *arg), void *arg, double *x, double h)
{
    double here = *x;
    *x = here + h;
    double up = f(arg);
    *x = here - h;
    double down = f(arg);
    *x = here;
    return (up - down) / (2 * h);
}

/* One more pair into the running largest error and largest value. */
static bool worse(double got, double want, double *error, double *most)
{
    if (!isfinite(got) || !isfinite(want))
        return false;
    *error = fmax(*error, fabs(got - want));
    *most = fmax(*most, fabs(want));
    return true;
}

double twin_error(size_t n, const double *got, const double *want)
{
    double error = 0, most = 1e-30;

    for (size_t i = 0; i < n; i++)
        if (!worse(got[i], want[i], &error, &most))
            return INFINITY;
    return error / most;
}

double twin_error_f(size_t n, const float *got, const double *want)
{
    double error = 0, most = 1e-30;

    for (size_t i = 0; i < n; i++)
        if (!worse((double)got[i], want[i], &error, &most))
            return INFINITY;
    return error / most;
}

void twin_widen(int B, int width, const float *from, size_t ld, double *to)
{
    for (int r = 0; r < B; r++)
        for (int c = 0; c < width; c++)
            to[(size_t)r * width + c] = (double)from[(size_t)r * ld + c];
}

void twin_narrow(int B, int width, const double *from, float *to, size_t ld)
{
    for (int r = 0; r < B; r++)
        for (int c = 0; c < width; c++)
            to[(size_t)r * ld + c] = (float)from[(size_t)r * width + c];
}

void twin_fill(uint64_t key, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * hps_rng_real(key, i) - 1;
}

void twin_fill_f(uint64_t key, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * hps_rng_unit(key, i) - 1;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
