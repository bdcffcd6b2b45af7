/* step_time.c - how long a rank computes: by the clock on a host, by events on a GPU; and how an
 * emulated one takes longer. */
#include <math.h>

#include "base/clock.h"
#include "base/thread.h"
#include "step/step_impl.h"

void hps_step_poll(struct hps_step *s)
{
    for (int i = 0; i < s->team->nrole; i++)
        hps_worker_poll(&s->worker[i]);
}

static double core_s(const struct hps_step *s)
{
    return s->dev->slow > 1 ? hps_core_s() : 0;
}

void hps_step_poll_sums(struct hps_step *s, struct hps_worker *r)
{
    struct hps_step_own *o = s->own;
    if (!r->reduce || !hps_reduce_busy(r->reduce)) return;
    double wall = hps_now_s(), core = core_s(s);
    hps_region_enter(HPS_REGION_REDUCE, r->part);
    hps_reduce_poll(r->reduce);
    hps_region_leave(HPS_REGION_REDUCE);
    if (!s->dev->host) return; /* a GPU computes meanwhile */
    o->sums_wall_s += hps_now_s() - wall;
    o->sums_core_s += core_s(s) - core;
}

/* What a span is: a region, the part, whether it counts as computation, whether anything counts. */
struct doing {
    enum hps_region region;
    int part;
    bool busy, counts;
};

static struct hps_since now(const struct hps_step *s)
{
    const struct hps_step_own *o = s->own;
    double clock_s = hps_now_s();
    struct hps_since t = { clock_s - o->sums_wall_s, core_s(s) - o->sums_core_s, clock_s };
    for (int i = 0; i < s->team->nrole; i++) {
        t.wall_s -= hps_stage_collective_wall_s(s->worker[i].stage_collective);
        t.core_s -= hps_stage_collective_core_s(s->worker[i].stage_collective);
    }
    return t;
}

static struct doing doing_of(int what)
{
    return (struct doing){ what >> 8, what >> 2 & 63, what >> 1 & 1, what & 1 };
}

/* Collectives of a GPU are no computation. Returns their seconds that were counted as such. */
static double read_collectives(struct hps_step *s, bool blocking)
{
    double seconds, busy_s = 0;
    int what;
    for (int i = 0; i < s->team->nrole; i++) {
        struct hps_stage_collective *c = s->worker[i].stage_collective;
        while (hps_stage_collective_took(c, blocking, &what, &seconds)) {
            struct doing d = doing_of(what);
            if (!d.counts) continue;
            hps_count_gpu(d.region, d.part, -seconds);
            hps_count_gpu(HPS_REGION_REDUCE, d.part, seconds);
            if (d.busy) busy_s += seconds;
        }
    }
    return busy_s;
}

double hps_step_read(struct hps_step *s, bool blocking)
{
    double seconds, busy_s = 0;
    int what;
    while (hps_spans_take(((struct hps_step_own *)s->own)->spans, blocking, &what, &seconds)) {
        struct doing d = doing_of(what);
        if (!d.counts) continue;
        hps_count_gpu(d.region, d.part, seconds);
        if (d.busy) busy_s += seconds;
    }
    busy_s -= read_collectives(s, blocking);
    s->busy_s += busy_s;
    return busy_s;
}

void hps_step_span(struct hps_step *s, const struct hps_worker *r, enum hps_region region,
                   bool busy)
{
    struct hps_step_own *o = s->own;
    int what = (int)region << 8 | r->part << 2 | busy << 1 | !o->looks;
    hps_spans_begin(o->spans, what);
    for (int i = 0; i < s->team->nrole; i++)
        hps_stage_collective_mark(s->worker[i].stage_collective, what);
}

/* An emulated slower rank computes as fast as it can and sleeps the rest, in naps between which its
 * messages move, as they would during its computation. All of it lasts `slow` times its time on the
 * core; what it waited for the core is part of that, and what a nap overshoots is taken off the
 * next. */
static void nap(struct hps_step *s)
{
    struct hps_step_own *o = s->own;
    while (o->owed_s > 50e-6) {
        double t0 = hps_now_s();
        hps_sleep_s(fmin(o->owed_s, 200e-6));
        hps_step_poll(s);
        o->owed_s -= hps_now_s() - t0;
    }
}

/* A GPU goes on by itself, but where it is emulated; then its own time is what is stretched. */
static void computed_gpu(struct hps_step *s, struct hps_since since)
{
    struct hps_step_own *o = s->own;
    double slow = s->dev->slow, gone_s = hps_now_s() - since.clock_s;
    hps_spans_end(o->spans, gone_s - (now(s).wall_s - since.wall_s));
    if (slow == 1) return;
    double mine_s = hps_step_read(s, true);
    o->owed_s += mine_s * (slow - 1);
    nap(s);
    s->busy_s += mine_s * (slow - 1);
}

void hps_step_computed(struct hps_step *s, struct hps_since since)
{
    struct hps_step_own *o = s->own;
    if (o->spans) {
        computed_gpu(s, since);
        return;
    }
    s->dev->ops->sync(s->dev);
    struct hps_since then = now(s);
    if (s->dev->slow > 1)
        o->owed_s +=
            (then.core_s - since.core_s) * s->dev->slow - (then.wall_s - since.wall_s);
    nap(s);
    s->busy_s += now(s).wall_s - since.wall_s;
}

struct hps_since hps_step_compute(struct hps_step *s, const struct hps_worker *r,
                                  enum hps_region region)
{
    hps_region_enter(region, r->part);
    hps_step_span(s, r, region, true);
    return now(s);
}
