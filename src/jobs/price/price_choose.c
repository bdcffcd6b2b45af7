/* price_choose.c - what a job does best under prices: when to end, and where its work is cheapest.
 *
 * In an interval the costs of configurations over their rates have a lower hull, whose segments are
 * steps: work that costs `at` for each share of the job. To end with an interval, the job takes the
 * cheapest steps of all intervals until then; a later end needs none that was left out before. So
 * the steps that it takes are a heap, from which the dearest leave as intervals come. */
#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "jobs/price.h"

enum { PIECES_MORE = 3 };       /* than intervals: behind the last edge, twice, and a parted one */

struct step {
    double at, work, rate;      /* work = rate * the interval's seconds                        */
    int config;                 /* of the job, from this step on                               */
};

/* Steps that are taken, the dearest first. */
struct taken {
    int n;
    struct step *step;
    double work, cost;          /* of all of them                                              */
};

/* Of interval i, or behind the last edge, I. */
struct piece {
    int i;
    double begin, end;
    bool last;                  /* the job need not, or must not, end later                    */
};

struct hps_price_work {
    int npiece;
    struct piece *piece;        /* (npiece) at most one more than there are intervals          */
    struct step *step;          /* of all pieces                                               */
    int *first;                 /* (npiece + 1) of the steps of each piece                     */
    struct taken taken;
};

struct hps_price_work *hps_price_work_new(const struct hps_prices *p, int configs)
{
    struct hps_price_work *w = hps_mem_new(1, sizeof *w);
    size_t pieces = (size_t)p->I + PIECES_MORE, n = pieces * (size_t)configs;

    w->piece = hps_mem_new(pieces, sizeof *w->piece);
    w->step = hps_mem_new(n, sizeof *w->step);
    w->first = hps_mem_new(pieces + 1, sizeof *w->first);
    w->taken.step = hps_mem_new(n, sizeof *w->taken.step);
    return w;
}

void hps_price_work_free(struct hps_price_work *w)
{
    if (!w) return;
    hps_mem_free(w->piece);
    hps_mem_free(w->step);
    hps_mem_free(w->first);
    hps_mem_free(w->taken.step);
    hps_mem_free(w);
}

/* ---- pieces: of intervals, from the job's begin to its last end, parted where it is due ---- */

/* The piece of interval i that begins there. Behind the last edge there is room for all of the
 * job's work, in any of its configurations. */
static struct piece piece_at(const struct hps_prices *p, const struct hps_price_job *j, int i,
                             double begin)
{
    double room = (1 + 1e-9) * j->left * j->job->config[j->config[0]].seconds;
    double end = i < p->I ? fmax(p->edge[i + 1], begin) : begin + room;
    bool parted = begin < j->due_s && j->due_s < end;

    if (parted) end = j->due_s;
    return (struct piece){ i, begin, fmin(end, j->until_s),
                           (i == p->I && !parted) || end >= j->until_s };
}

static struct piece first_piece(const struct hps_prices *p, const struct hps_price_job *j)
{
    int i = 0;

    while (i < p->I && p->edge[i + 1] <= j->from_s)
        i++;
    return piece_at(p, j, i, fmax(p->edge[i], j->from_s));
}

static struct piece next_piece(const struct hps_prices *p, const struct hps_price_job *j,
                               const struct piece *before)
{
    bool ends = before->i < p->I && before->end >= p->edge[before->i + 1];

    return piece_at(p, j, before->i + ends, before->end);
}

static double cost_of(const struct hps_prices *p, const struct hps_job_config *c, int i)
{
    double sum = 0;

    for (int k = 0; k < c->nparts; k++) {
        size_t t = (size_t)c->part[k].type;
        double price = i < p->I ? p->price[(size_t)i * (size_t)p->T + t] : 0;
        sum += (price + p->always[t]) * c->part[k].units;
    }
    return sum;
}

/* ---- steps ---- */

/* The steps of a piece: the lower hull of costs over rates, from nothing at no cost. */
static int make_steps(const struct hps_prices *p, const struct hps_price_job *j,
                      const struct piece *piece, struct step *step)
{
    double seconds = piece->end - piece->begin, rate = 0, cost = 0;
    int n = 0;

    for (int k = 0; k < j->n && seconds > 0; k++) {
        const struct hps_job_config *c = &j->job->config[j->config[k]];
        double to = 1 / c->seconds, dear = cost_of(p, c, piece->i);
        while (n > 0 && (dear - cost) <= step[n - 1].at * (to - rate)) {
            n--;
            rate -= step[n].rate;
            cost -= step[n].at * step[n].rate;
        }
        if (n == 0) rate = cost = 0;
        step[n] = (struct step){ (dear - cost) / (to - rate), (to - rate) * seconds, to - rate,
                                 j->config[k] };
        n++;
        rate = to;
        cost = dear;
    }
    return n;
}

static void sink(struct taken *t, int k, struct step s)
{
    for (int child; (child = 2 * k + 1) < t->n; k = child) {
        if (child + 1 < t->n && t->step[child + 1].at > t->step[child].at) child++;
        if (t->step[child].at <= s.at) break;
        t->step[k] = t->step[child];
    }
    t->step[k] = s;
}

static void take(struct taken *t, const struct step *s)
{
    int k = t->n++;

    for (; k > 0 && t->step[(k - 1) / 2].at < s->at; k = (k - 1) / 2)
        t->step[k] = t->step[(k - 1) / 2];
    t->step[k] = *s;
    t->work += s->work;
    t->cost += s->work * s->at;
}

static void drop_dearest(struct taken *t)
{
    t->work -= t->step[0].work;
    t->cost -= t->step[0].work * t->step[0].at;
    struct step last = t->step[--t->n];
    if (t->n > 0) sink(t, 0, last);
}

/* ---- ends ---- */

/* The multiplier at which a piece's surplus (jobs/price.h: h) is x. */
static double mu_of_surplus(const struct step *step, int n, double x)
{
    double rate = 0, cost = 0, mu = INFINITY;

    for (int k = 0; k < n && !(rate > 0 && mu <= step[k].at); k++) {
        rate += step[k].rate;
        cost += step[k].rate * step[k].at;
        mu = (x + cost) / rate;
    }
    return mu;
}

/* What the job loses by ending at that time. */
static double late(const struct hps_price_job *j, double end)
{
    return j->weight * fmax(0, end - j->due_s);
}

/* The end within a piece at which one second more costs as much as it saves: its multiplier is mu,
 * `t` are the steps below it of all pieces until then. */
static struct hps_price_choice inside(const struct hps_price_job *j, double begin, double mu,
                                      const struct taken *t, const struct step *step, int n)
{
    double rate = 0, work = t->work, cost = t->cost;

    for (int k = 0; k < n && step[k].at < mu; k++) {
        rate += step[k].rate;
        work -= step[k].work;
        cost -= step[k].work * step[k].at;
    }
    return (struct hps_price_choice){ late(j, begin) + mu * (j->left - work) + cost,
                                      begin + fmax(0, j->left - work) / rate, mu };
}

static void consider(struct hps_price_choice *best, struct hps_price_choice c)
{
    if (c.value < best->value) *best = c;
}

/* A piece comes: its steps are taken, those that are too dear by now are left out, and `best` is
 * the best end so far; before the job is due none is better than when it is. mu: of ending before
 * the piece, INFINITY: that cannot be; returns that of ending with it. */
static double extend(const struct hps_price_job *j, struct hps_price_work *w, int at, double mu,
                     struct hps_price_choice *best)
{
    const struct step *step = w->step + w->first[at];
    const struct piece *piece = &w->piece[at];
    int n = w->first[at + 1] - w->first[at];
    struct taken *t = &w->taken;
    double turn = mu_of_surplus(step, n, j->weight);
    bool seen = piece->begin < j->due_s || !(turn < mu);

    for (int k = 0; k < n && step[k].at < mu; k++)
        take(t, &step[k]);
    for (; t->work >= j->left; drop_dearest(t)) {
        if (!seen && t->step[0].at < turn) {
            consider(best, inside(j, piece->begin, turn, t, step, n));
            seen = true;
        }
        if (t->work - t->step[0].work < j->left) break;
    }
    if (t->work < j->left) return INFINITY;
    struct hps_price_choice c = {
        late(j, piece->end) + t->cost - (t->work - j->left) * t->step[0].at, piece->end,
        t->step[0].at
    };
    if (piece->end >= j->due_s || piece->last) consider(best, c);
    return c.mu;
}

/* ---- what it uses ---- */

static void add_use(const struct hps_prices *p, const struct hps_job_config *c, int i,
                    double seconds, double *use)
{
    for (int k = 0; k < c->nparts && i < p->I; k++)
        use[(size_t)i * (size_t)p->T + (size_t)c->part[k].type] += seconds * c->part[k].units;
}

/* The choice's unit-seconds: all steps below mu, and of those at mu as much as is left. A step
 * leads from the configuration before it, whose units it gives back. */
static void use_units(const struct hps_prices *p, const struct hps_price_job *j,
                      const struct hps_price_work *w, const struct hps_price_choice *best,
                      double *use)
{
    const struct hps_job_config *config = j->job->config;
    double left = j->left;

    for (int pass = 0; pass < 2; pass++)
        for (int at = 0; at < w->npiece && w->piece[at].begin < best->end_s; at++) {
            double seconds = fmin(w->piece[at].end, best->end_s) - w->piece[at].begin;
            int k = w->first[at], i = w->piece[at].i;
            while (k < w->first[at + 1] && w->step[k].at < best->mu)
                k++;
            const struct step *before = k > w->first[at] ? &w->step[k - 1] : NULL;
            if (pass == 0 && before) {
                add_use(p, &config[before->config], i, seconds, use);
                left -= seconds / config[before->config].seconds;
            }
            if (pass == 0 || left <= 0) continue;
            if (k == w->first[at + 1] || w->step[k].at > best->mu) continue;
            seconds = fmin(seconds, left / w->step[k].rate);
            add_use(p, &config[w->step[k].config], i, seconds, use);
            if (before) add_use(p, &config[before->config], i, -seconds, use);
            left -= seconds * w->step[k].rate;
        }
}

struct hps_price_choice hps_price_choose(const struct hps_prices *p, const struct hps_price_job *j,
                                         struct hps_price_work *w, double *use)
{
    struct hps_price_choice best = { INFINITY, INFINITY, 0 };
    double mu = INFINITY;
    struct piece piece = first_piece(p, j);

    w->taken.n = w->npiece = 0;
    w->taken.work = w->taken.cost = 0;
    w->first[0] = 0;
    /* later than that, its end alone costs more */
    while (piece.begin < j->until_s && late(j, piece.begin) < best.value) {
        int at = w->npiece++;
        w->piece[at] = piece;
        w->first[at + 1] = w->first[at] + make_steps(p, j, &piece, w->step + w->first[at]);
        mu = extend(j, w, at, mu, &best);
        if (piece.last) break;
        piece = next_piece(p, j, &piece);
    }
    if (use && !isinf(best.value)) use_units(p, j, w, &best, use);
    return best;
}
