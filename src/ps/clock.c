/* clock.c - the bound of stale synchronous workers, and prescribed orders. */
#include "ps/clock.h"

#include <assert.h>

#include "base/mem.h"
#include "base/rng.h"

void hps_clock_init(struct hps_clock *x, int W, long long staleness, int aggregate)
{
    assert(W >= 1 && staleness >= HPS_CLOCK_UNBOUNDED && aggregate >= 1);
    assert(staleness == HPS_CLOCK_UNBOUNDED || aggregate <= staleness + 1);
    *x = (struct hps_clock){ .W = W, .staleness = staleness, .aggregate = aggregate };
    x->pulled = hps_mem_new((size_t)W, sizeof *x->pulled);
    x->pushed = hps_mem_new((size_t)W, sizeof *x->pushed);
    x->finished = hps_mem_new((size_t)W, sizeof *x->finished);
    x->left = hps_mem_new((size_t)W, sizeof *x->left);
}

void hps_clock_done(struct hps_clock *x)
{
    hps_mem_free(x->pulled);
    hps_mem_free(x->pushed);
    hps_mem_free(x->finished);
    hps_mem_free(x->left);
}

void hps_clock_sum(struct hps_clock *x)
{
    x->sums = true;
}

void hps_clock_set(struct hps_clock *x, int w, long long finished)
{
    x->pulled[w] = x->pushed[w] = x->finished[w] = finished;
}

/* Is worker w within the bound if it pulls once more? */
static bool is_bounded(const struct hps_clock *x, int w)
{
    if (x->staleness == HPS_CLOCK_UNBOUNDED) return true;
    for (int v = 0; v < x->W; v++)
        if (!x->left[v] && x->finished[v] < x->pulled[w] - x->staleness) return false;
    return true;
}

/* Where workers sum dense gradients: can worker w end its last clock? */
static bool is_summed(const struct hps_clock *x, int w)
{
    for (int v = 0; v < x->W && x->sums; v++)
        if (!x->left[v] && x->pulled[v] < x->pushed[w]) return false;
    return true;
}

/* Is it what its worker does next, and within the bound? */
static bool is_next(const struct hps_clock *x, struct hps_clock_event e)
{
    if (e.act == HPS_CLOCK_RELEASE) return x->held > 0;
    if (x->left[e.worker] || !is_summed(x, e.worker)) return false;
    if (e.act == HPS_CLOCK_APPLY) return x->pulled[e.worker] > x->pushed[e.worker];
    return x->pulled[e.worker] == x->pushed[e.worker] && is_bounded(x, e.worker);
}

static struct hps_clock_event next_of(const struct hps_clock *x, int w)
{
    bool pulls = x->pulled[w] == x->pushed[w];

    return (struct hps_clock_event){ w, pulls ? HPS_CLOCK_PULL : HPS_CLOCK_APPLY };
}

/* Draw the turn among the workers' next events; some worker always may go on. */
static void draw(struct hps_clock *x)
{
    int n = 0;

    for (int w = 0; w < x->W; w++)
        n += is_next(x, next_of(x, w));
    if (n == 0) return;                         /* all have left */
    int k = (int)(hps_rng_real(x->seed, (uint64_t)x->n) * n);
    for (int w = 0; w < x->W; w++)
        if (is_next(x, next_of(x, w)) && k-- == 0) x->turn = next_of(x, w);
}

void hps_clock_draw(struct hps_clock *x, uint64_t seed)
{
    assert(seed > 0);
    x->seed = hps_rng_key(seed, "interleaving");
    draw(x);
}

void hps_clock_prescribe(struct hps_clock *x, const struct hps_clock_event *order, long long n)
{
    x->order = order;
    x->norder = x->n + n;
}

void hps_clock_leave_order(struct hps_clock *x)
{
    x->order = NULL;
}

static bool is_turn(const struct hps_clock *x, struct hps_clock_event e)
{
    const struct hps_clock_event *t = &x->turn;

    if (x->order && x->n < x->norder)
        t = &x->order[x->n];
    else if (x->seed == 0 || e.act == HPS_CLOCK_RELEASE)
        return true;
    return t->worker == e.worker && t->act == e.act;
}

bool hps_clock_may(const struct hps_clock *x, struct hps_clock_event e)
{
    return is_next(x, e) && is_turn(x, e);
}

static void finish_held(struct hps_clock *x)
{
    for (int w = 0; w < x->W; w++)
        x->finished[w] = x->pushed[w];
    x->held = 0;
}

bool hps_clock_take(struct hps_clock *x, struct hps_clock_event e)
{
    assert(hps_clock_may(x, e));
    if (e.act == HPS_CLOCK_PULL) x->pulled[e.worker]++;
    if (e.act == HPS_CLOCK_APPLY) {
        x->pushed[e.worker]++;
        x->held++;
    }
    bool applies = e.act == HPS_CLOCK_RELEASE || x->held == x->aggregate;
    if (applies) finish_held(x);
    x->n++;
    if (x->seed) draw(x);
    return applies;
}

bool hps_clock_releases(const struct hps_clock *x)
{
    return x->order && x->n < x->norder && x->order[x->n].act == HPS_CLOCK_RELEASE;
}

void hps_clock_leave(struct hps_clock *x, int w)
{
    assert(x->pulled[w] == x->pushed[w]);
    x->left[w] = true;
    if (x->seed && x->turn.worker == w) draw(x);
}

void hps_clock_join(struct hps_clock *x, int w)
{
    x->left[w] = false;
    if (x->seed) draw(x);
}

static long long extreme(const struct hps_clock *x, int sign, int *worker)
{
    *worker = 0;
    for (int w = 1; w < x->W; w++)
        if (sign * x->pushed[w] > sign * x->pushed[*worker]) *worker = w;
    return x->pushed[*worker];
}

long long hps_clock_slowest(const struct hps_clock *x, int *worker)
{
    return extreme(x, -1, worker);
}

long long hps_clock_fastest(const struct hps_clock *x, int *worker)
{
    return extreme(x, 1, worker);
}
