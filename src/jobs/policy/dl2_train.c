/* dl2_train.c - what the network learns from: choices of the last episodes.
 *
 * What is to be small is the mean completion time, so what counts against a choice is the number
 * of jobs present from then on, c(t) = integral of n exp(-(s - t) / fade) ds / fade, which a
 * completion lowers at once. (The share of work done in a slot, the paper's reward, sums up to the
 * same whatever is done, and its slots are longer than most of such jobs take.) The critic learns
 * c. A choice is better than usual by how far c - value is below its mean over episodes of the
 * same jobs, at the same time: what comes of arrivals is equal in all of them.
 *
 * The actor makes each choice likelier by exp(better), as by the replay, whose choices are of other
 * networks, it may without a ratio of chances (advantage-weighted regression, Peng et al., 2019).
 * Of the episodes of the same jobs one is as the network is, one has the injected good steps, and
 * each other one has a taste: a drawn weight of each feature. Draws of single steps, of which a
 * decision has dozens, cancel out, and nothing comes of them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/policy/dl2_impl.h"

#define TAUGHT_RATE 5e-3        /* of Adam, as the paper has it                         */
#define TRIED_RATE 2e-3         /* it has 1e-4, and learns from far more choices         */
#define OPEN_TAUGHT 0.1         /* weight of the entropy: who is too sure never tries     */
#define OPEN_TRIED 0.01
#define TASTE 0.3               /* deviation of a taste                                 */
#define FADES 0.9999            /* a choice from that mean, by each one after it          */
#define MOST 10                 /* times that a choice counts, when it was a good one    */

enum {
    REPLAY = 8192, BATCH = 256, /* choices, as in the paper                                    */
    LEAST = 4,                  /* batches after an episode                                     */
    KEPT = 5, EVERY = 4         /* one of so many is kept: those of a decision are much alike; a
                                   batch is learned for every so many batches of new ones       */
};

enum { AS_IT_IS, INJECTED };    /* episodes of the same jobs; the others have tastes */

/* A step, and all that it was chosen by. */
struct choice {
    int step, n, decision;      /* decision: of its episode, until it is compared */
    bool taught, can[HPS_DL2_WINDOW + 1];
    float x[HPS_DL2_WINDOW * HPS_DL2_FEATURES];
    double cost, better;        /* what came of it; how much better than usual    */
};

struct decision {
    double at_s, jobs, value, cost;
};

struct episode {
    double taste[HPS_DL2_FEATURES];     /* added to what a step is worth, by its features */
    size_t n, cap;
    struct decision *decision;
    size_t nchoice, choice_cap;
    struct choice *choice;
};

struct hps_dl2_trainer {
    struct hps_dl2_net *net;
    double fade_s;
    uint64_t key, draws;
    bool taught;
    int n;                      /* episodes to compare                     */
    struct episode episode[HPS_DL2_TWINS];
    long long kept;             /* choices so far; the last REPLAY are here */
    struct choice *replay;
    double square;              /* of `better`, a mean that fades          */
    long long compared;         /* choices that it is of                   */
};

struct hps_dl2_trainer *hps_dl2_trainer_new(struct hps_dl2_net *net, double fade_s, uint64_t key)
{
    struct hps_dl2_trainer *t = hps_mem_new(1, sizeof *t);

    *t = (struct hps_dl2_trainer){ .net = net, .fade_s = fade_s, .key = key };
    t->replay = hps_mem_new(REPLAY, sizeof *t->replay);
    return t;
}

void hps_dl2_trainer_free(struct hps_dl2_trainer *t)
{
    for (int e = 0; e < HPS_DL2_TWINS; e++) {
        hps_mem_free(t->episode[e].decision);
        hps_mem_free(t->episode[e].choice);
    }
    hps_mem_free(t->replay);
    hps_mem_free(t);
}

static double draw(struct hps_dl2_trainer *t)
{
    return hps_rng_real(t->key, t->draws++);
}

/* ---- an episode ---- */

void hps_dl2_trainer_episode(struct hps_dl2_trainer *t, bool taught)
{
    struct episode *e = &t->episode[t->n++];

    t->taught = taught;
    e->n = e->nchoice = 0;
    for (int f = 0; f < HPS_DL2_FEATURES; f++) {
        bool drawn = !taught && t->n - 1 > INJECTED && f >= HPS_DL2_FIRST && f <= HPS_DL2_LAST;
        e->taste[f] = drawn ? TASTE * hps_rng_normal(t->key, t->draws++) : 0;
    }
}

void hps_dl2_trainer_begin(struct hps_dl2_trainer *t, const struct hps_job_view *view)
{
    struct episode *e = &t->episode[t->n - 1];

    hps_mem_grow(&e->decision, &e->cap, e->n + 1, sizeof *e->decision);
    e->decision[e->n++] = (struct decision){ .at_s = view->now_s, .jobs = view->n };
}

static int by_chance(struct hps_dl2_trainer *t, int n, const double *chance)
{
    double u = draw(t);
    int last = n;

    for (int i = 0; i <= n; i++) {
        if (chance[i] <= 0) continue;
        last = i;
        if ((u -= chance[i]) < 0) break;
    }
    return last;
}

/* A step of the network's, with the episode's taste. */
static int by_taste(struct hps_dl2_trainer *t, const struct hps_dl2_window *w, double *logit,
                    const bool *can)
{
    const struct episode *e = &t->episode[t->n - 1];
    double chance[HPS_DL2_WINDOW + 1];

    for (int i = 0; i < w->n; i++)
        for (int f = HPS_DL2_FIRST; f <= HPS_DL2_LAST; f++)
            logit[i] += e->taste[f] * w->x[i * HPS_DL2_FEATURES + f];
    hps_dl2_chances(w->n, can, logit, chance);
    return by_chance(t, w->n, chance);
}

int hps_dl2_trainer_choose(struct hps_dl2_trainer *t, const struct hps_dl2_window *w)
{
    struct episode *e = &t->episode[t->n - 1];
    double logit[HPS_DL2_WINDOW + 1];

    hps_mem_grow(&e->choice, &e->choice_cap, e->nchoice + 1, sizeof *e->choice);
    struct choice *c = &e->choice[e->nchoice++];
    *c = (struct choice){ .n = w->n, .decision = (int)e->n - 1, .taught = t->taught };
    hps_dl2_can(w, c->can);
    memcpy(c->x, w->x, (size_t)w->n * HPS_DL2_FEATURES * sizeof *c->x);
    double value = hps_dl2_net_forward(t->net, w->n, w->x, logit);
    if (e->nchoice == 1 || c[-1].decision != c->decision) e->decision[e->n - 1].value = value;
    if (t->taught)
        c->step = hps_dl2_fair_step(w);
    else
        c->step = t->n - 1 == INJECTED ? hps_dl2_good_step(w) : by_taste(t, w, logit, c->can);
    return c->step;
}

void hps_dl2_trainer_end(struct hps_dl2_trainer *t, double at_s)
{
    struct episode *e = &t->episode[t->n - 1];
    double cost = 0;

    for (size_t k = e->n; k-- > 0; at_s = e->decision[k].at_s) {
        struct decision *d = &e->decision[k];
        double fade = exp(-(at_s - d->at_s) / t->fade_s);
        d->cost = cost = d->jobs * (1 - fade) / HPS_DL2_WINDOW + fade * cost;
    }
}

/* ---- episodes that are compared ---- */

/* The cost from at_s on, beyond the value of the decision before. */
static double beyond(const struct hps_dl2_trainer *t, const struct episode *e, double at_s)
{
    size_t low = 0, high = e->n;

    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (e->decision[mid].at_s <= at_s)
            low = mid;
        else
            high = mid;
    }
    const struct decision *d = &e->decision[low], *next = d + 1;
    if (low + 1 == e->n) return d->cost - d->value;
    double fade = exp(-(next->at_s - at_s) / t->fade_s);
    return d->jobs * (1 - fade) / HPS_DL2_WINDOW + fade * next->cost - d->value;
}

static void compare(struct hps_dl2_trainer *t, struct episode *e)
{
    for (size_t k = 0; k < e->nchoice; k++) {
        struct choice *c = &e->choice[k];
        const struct decision *d = &e->decision[c->decision];
        double usual = 0;
        for (int o = 0; o < t->n; o++)
            usual += beyond(t, &t->episode[o], d->at_s) / t->n;
        c->cost = d->cost;
        c->better = usual - (d->cost - d->value);
        t->square = FADES * t->square + (1 - FADES) * c->better * c->better;
        t->compared++;
        if (draw(t) * KEPT < 1) t->replay[t->kept++ % REPLAY] = *c;
    }
}

/* ---- what is learned of them ---- */

/* Adds a choice to the gradient: it becomes likelier, and choices the more open. */
static void add_choice(struct hps_dl2_trainer *t, const struct choice *c, double usual)
{
    double logit[HPS_DL2_WINDOW + 1], p[HPS_DL2_WINDOW + 1], entropy = 0, scale = 1.0 / BATCH;
    double value = hps_dl2_net_forward(t->net, c->n, c->x, logit);
    double more = c->taught ? 1 : fmin(exp(c->better / usual), MOST);
    double open = c->taught ? OPEN_TAUGHT : OPEN_TRIED;

    hps_dl2_chances(c->n, c->can, logit, p);
    for (int i = 0; i <= c->n; i++)
        if (p[i] > 0) entropy -= p[i] * log(p[i]);
    for (int i = 0; i <= c->n; i++) {
        logit[i] = scale * more * ((i == c->step) - p[i]);
        if (p[i] > 0) logit[i] -= scale * open * p[i] * (log(p[i]) + entropy);
    }
    hps_dl2_net_backward(t->net, c->n, c->x, logit, scale * (c->cost - value));
}

void hps_dl2_trainer_learn(struct hps_dl2_trainer *t)
{
    size_t fresh = (size_t)BATCH * EVERY * LEAST;

    size_t all = 0;
    for (int e = 0; e < t->n; e++) {
        compare(t, &t->episode[e]);
        all += t->episode[e].nchoice;
    }
    if (all > fresh) fresh = all;
    t->n = 0;
    double usual = sqrt(t->square / (1 - pow(FADES, (double)t->compared))) + 1e-9;
    long long here = t->kept < REPLAY ? t->kept : REPLAY;
    for (size_t done = 0; done < fresh && here > 0; done += (size_t)BATCH * EVERY) {
        for (int k = 0; k < BATCH; k++)
            add_choice(t, &t->replay[(int)(draw(t) * (double)here)], usual);
        hps_dl2_net_step(t->net, t->taught ? TAUGHT_RATE : TRIED_RATE);
    }
}
