/* sched_bayes.c - Bayesian optimisation: a Gaussian process over the plans priced so far predicts
 * the cost of other plans and its deviation; of many candidates the ones with the highest expected
 * improvement are priced next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hw/dev.h"
#include "plan/gauss.h"
#include "plan/moves.h"

#define MAX_PLANS 256                /* plans in the process; then the worst go            */
#define STAY 128                /* of them stay: the best, and of the others some     */
#define OTHERS 24
#define BEGIN 16                /* random plans to begin with                         */
#define CANDIDATES 192          /* of a round                                         */
#define PICKED 4                /* of them priced                                     */
#define ELITE 8                 /* the best plans, whose neighbours are candidates    */
#define REFIT 1.3               /* more plans by so much: the process is fitted anew  */

struct bayes {
    struct hps_pricer *pr;
    struct hps_gauss *gauss;
    double price[MAX_PLANS], value[MAX_PLANS];    /* of the plans of the process                */
    int order[MAX_PLANS];                    /* of their numbers, by price                 */
    int *type, *scratch;                /* (CANDIDATES, L), (L)                       */
    double mean[CANDIDATES], deviation[CANDIDATES];
    int fitted;                         /* plans at the last fit, 0: fit now          */
};

static int draw(uint64_t key, uint64_t index, int n)
{
    return (int)hps_rng_below(key, index, (uint64_t)n);
}

static int *candidate(const struct bayes *b, int c)
{
    return b->type + (size_t)c * (size_t)b->pr->L;
}

/* Prices are compared by pointers into one array: qsort has no other way to say which array. */
static int by_price(const void *x, const void *y)
{
    const double *a = *(const double *const *)x, *b = *(const double *const *)y;

    return *a < *b ? -1 : *a > *b ? 1 : a < b ? -1 : a > b;
}

static void sort(struct bayes *b)
{
    int n = hps_gauss_count(b->gauss);
    const double *at[MAX_PLANS];

    for (int i = 0; i < n; i++)
        at[i] = &b->price[i];
    qsort(at, (size_t)n, sizeof *at, by_price);
    for (int i = 0; i < n; i++)
        b->order[i] = (int)(at[i] - b->price);
}

static int upwards(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

/* Make place in a full process: the best plans stay, and some others, which represent distant
 * regions. */
static void make_room(struct bayes *b, uint64_t key)
{
    int n = hps_gauss_count(b->gauss), keep[STAY];

    if (n + PICKED <= MAX_PLANS) return;
    sort(b);
    for (int i = STAY - OTHERS; i < STAY; i++) {
        int other = i + draw(key, (uint64_t)i, n - i), swap = b->order[i];
        b->order[i] = b->order[other];
        b->order[other] = swap;
    }
    memcpy(keep, b->order, sizeof keep);
    qsort(keep, STAY, sizeof *keep, upwards);
    hps_gauss_keep(b->gauss, STAY, keep);
    for (int i = 0; i < STAY; i++)
        b->price[i] = b->price[keep[i]];
    b->fitted = 0;
}

/* A price in the process. False when the budget is used up. */
static bool price(struct bayes *b, const int *type)
{
    int n = hps_gauss_count(b->gauss);
    double x = hps_pricer_price(b->pr, type, INFINITY);

    if (isinf(x)) return false;
    if (n < MAX_PLANS && hps_gauss_add(b->gauss, type)) b->price[n] = x;
    return true;
}

/* Prices differ by factors, infeasible ones by many, and what matters is near the best: logarithms
 * above the best, d, as d / (median + d), from 0 to 1. */
static void settle(struct bayes *b)
{
    int n = hps_gauss_count(b->gauss);

    sort(b);
    double best = b->price[b->order[0]];
    double median = best > 0 ? log(b->price[b->order[n / 2]] / best) : 0;
    for (int i = 0; i < n; i++) {
        double d = b->price[i] > best ? best > 0 ? log(b->price[i] / best) : 1 : 0;
        b->value[i] = d > 0 ? d / (d + median) : 0;
    }
    if (n >= REFIT * b->fitted) {
        hps_gauss_fit(b->gauss, b->value);
        b->fitted = n;
    }
    hps_gauss_solve(b->gauss, b->value);
}

/* Any plan; a neighbour of the best; or one of the elite, crossed with another by a block of layers
 * or not, and moved. */
static void propose(struct bayes *b, int *type, uint64_t key)
{
    int L = b->pr->L, T = b->pr->T, n = hps_gauss_count(b->gauss), elite = n < ELITE ? n : ELITE;
    int kind = draw(key, 0, 8);

    if (kind == 0) {
        hps_moves_random(type, L, T, hps_rng_sub(key, 0));
        return;
    }
    int first = kind < 4 ? 0 : draw(key, 1, elite), second = draw(key, 2, elite);
    memcpy(type, hps_gauss_plan(b->gauss, b->order[first]), (size_t)L * sizeof *type);
    if (kind > 5) {
        int from = draw(key, 3, L), more = 1 + draw(key, 4, L - from);
        memcpy(type + from, hps_gauss_plan(b->gauss, b->order[second]) + from,
               (size_t)more * sizeof *type);
    }
    hps_moves_perturb(type, b->scratch, L, T, kind < 4 ? 1 : draw(key, 5, 4), hps_rng_sub(key, 1));
}

/* How much a plan is expected to fall below the best value, which is 0. */
static double improvement(double mean, double deviation)
{
    if (!(deviation > 0)) return 0;
    double z = -mean / deviation;
    return deviation * (z * 0.5 * erfc(-z / sqrt(2)) + exp(-0.5 * z * z) / sqrt(2 * acos(-1)));
}

/* The candidate of the highest expected improvement, none twice. */
static int best_candidate(struct bayes *b)
{
    double max = -1;
    int best = 0;

    for (int c = 0; c < CANDIDATES; c++) {
        double x = isnan(b->mean[c]) ? -1 : improvement(b->mean[c], b->deviation[c]);
        if (x > max) {
            max = x;
            best = c;
        }
    }
    b->mean[best] = NAN;
    return best;
}

static void search_round(struct bayes *b, uint64_t key)
{
    make_room(b, hps_rng_sub(key, CANDIDATES));
    settle(b);
    for (int c = 0; c < CANDIDATES; c++)
        propose(b, candidate(b, c), hps_rng_sub(key, (uint64_t)c));
    hps_gauss_predict(b->gauss, CANDIDATES, b->type, b->mean, b->deviation);
    for (int n = 0; n < PICKED && !hps_pricer_late(b->pr); n++)
        price(b, candidate(b, best_candidate(b)));
}

/* Weigh layers by their share of all time in the profile, and all of them a little. */
static struct hps_gauss *process_of(const struct hps_profile *p)
{
    double *weight = hps_mem_new((size_t)p->L, sizeof *weight), sum = 0;

    for (int l = 0; l < p->L; l++) {
        for (size_t a = (size_t)l * (size_t)p->T; a < (size_t)(l + 1) * (size_t)p->T; a++)
            weight[l] += p->oct[a] + p->sync[a] + p->recv[a] + p->send[a];
        sum += weight[l];
    }
    for (int l = 0; l < p->L; l++)
        weight[l] = 0.5 * weight[l] / sum + 0.5 / p->L;
    struct hps_gauss *gauss = hps_gauss_new(p->L, MAX_PLANS, weight);
    hps_mem_free(weight);
    return gauss;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct bayes *b = hps_mem_new(1, sizeof *b);
    size_t L = (size_t)q->profile->L;

    hps_dev_blas_alone();
    b->pr = hps_pricer_new(q);
    b->gauss = process_of(q->profile);
    b->type = hps_mem_new((CANDIDATES + 1) * L, sizeof *b->type);
    b->scratch = b->type + CANDIDATES * L;
    hps_pricer_single_types(b->pr, b->type);
    bool more = price(b, b->type);
    for (uint64_t n = 0; n < BEGIN && more; n++) {
        hps_moves_random(b->type, b->pr->L, b->pr->T, hps_rng_sub(hps_rng_sub(key, 0), n));
        more = price(b, b->type);
    }
    for (uint64_t n = 1; more && !hps_pricer_late(b->pr); n++)
        search_round(b, hps_rng_sub(key, n));
    *best = hps_pricer_plan(b->pr);
    hps_mem_free(b->type);
    hps_gauss_free(b->gauss);
    hps_pricer_free(b->pr);
    hps_mem_free(b);
    return HPS_OK;
}

const struct hps_sched hps_sched_bayes = {
    .name = "bayes",
    .help = "Bayesian optimisation by a Gaussian process over plans",
    .endless = true,
    .run = run,
};
