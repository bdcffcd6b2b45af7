/* step_time.c - how long a rank computes: by the clock on a host, by events on a GPU; and how an
 * emulated one takes longer. */
#include <math.h>

#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/thread.h"
#include "step/step_impl.h"

void hps_step_poll(struct hps_step *s)
{
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_poll(&s->stage[i]);
}

static double core_s(const struct hps_step *s)
{
    return s->dev->slow > 1 ? hps_core_s() : 0;
}

/* Both clocks of a computation stand still meanwhile, but not a GPU's, which goes on with it. */
static void beside(struct hps_step *s, struct hps_stage *r, void (*reduce)(struct hps_stage *))
{
    struct hps_step_impl *o = s->impl;
    double wall = hps_now_s(), core = core_s(s);
    hps_region_enter(HPS_REGION_REDUCE, r->part);
    reduce(r);
    hps_region_leave(HPS_REGION_REDUCE);
    if (!s->dev->host) return;
    o->reduce_wall_s += hps_now_s() - wall;
    o->reduce_core_s += core_s(s) - core;
}

static void poll_reduce(struct hps_stage *r)
{
    hps_reduce_poll(r->own ? r->own : r->reduce);
}

void hps_step_poll_reduce(struct hps_step *s, struct hps_stage *r)
{
    const struct hps_reduce *first = r->own ? r->own : r->reduce;

    if (first && hps_reduce_busy(first)) beside(s, r, poll_reduce);
}

void hps_step_gather(struct hps_step *s, struct hps_stage *r)
{
    beside(s, r, hps_stage_gather);
}

/* What a span of the GPU's time belongs to. It is packed into one number for the span's record. */
struct span {
    enum hps_region region;
    int part;
    bool busy;                  /* computation                        */
    bool counts;                /* of a training, not an evaluation   */
};

static struct hps_step_clock now(const struct hps_step *s)
{
    const struct hps_step_impl *o = s->impl;
    double clock_s = hps_now_s();
    struct hps_step_clock t = { clock_s - o->reduce_wall_s, core_s(s) - o->reduce_core_s, clock_s };
    for (int i = 0; i < s->team->nmine; i++) {
        t.wall_s -= hps_stage_collective_wall_s(s->stage[i].stage_collective);
        t.core_s -= hps_stage_collective_core_s(s->stage[i].stage_collective);
    }
    return t;
}

static struct span span_of(int what)
{
    return (struct span){ what >> 8, what >> 2 & 63, what >> 1 & 1, what & 1 };
}

/* A GPU's collectives lie within spans of computation: move their time to the reduction. Returns
 * the seconds to subtract from computation. */
static double read_collectives(struct hps_step *s, bool blocking)
{
    double seconds, busy_s = 0;
    int what;
    for (int i = 0; i < s->team->nmine; i++) {
        struct hps_stage_collective *c = s->stage[i].stage_collective;
        while (hps_stage_collective_took(c, blocking, &what, &seconds)) {
            struct span d = span_of(what);
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
    while (hps_spans_take(s->impl->spans, blocking, &what, &seconds)) {
        struct span d = span_of(what);
        if (!d.counts) continue;
        hps_count_gpu(d.region, d.part, seconds);
        if (d.busy) busy_s += seconds;
    }
    busy_s -= read_collectives(s, blocking);
    s->busy_s += busy_s;
    return busy_s;
}

void hps_step_span(struct hps_step *s, const struct hps_stage *r, enum hps_region region,
                   bool busy)
{
    struct hps_step_impl *o = s->impl;
    int what = (int)region << 8 | r->part << 2 | busy << 1 | !o->evaluating;
    hps_spans_begin(o->spans, what);
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_collective_mark(s->stage[i].stage_collective, what);
}

void hps_step_slow(struct hps_step *s, bool training)
{
    const struct hps_dev *dev = s->dev;
    struct hps_step_impl *o = s->impl;
    int me;

    o->slow = dev->slow;
    if (!training || dev->slow <= 1) return;
    if (dev->late > 1) o->slow *= dev->late;
    if (dev->stall_share <= 0) return;
    HPS_MPI(MPI_Comm_rank(s->team->world, &me));
    uint64_t key = hps_rng_sub(hps_rng_key(o->opt.seed, "stall"), (uint64_t)me);
    if (hps_rng_real(key, (uint64_t)o->number) < dev->stall_share) o->slow *= dev->stall_slow;
}

/* An emulated slower rank computes at full speed and sleeps the rest, so that all of it lasts
 * `slow` times the time on the core. It sleeps in pieces, between which messages make progress as
 * between the layers of a slow rank; those of a long sleep are long, since many emulated ranks
 * would fill a core with waking up. Waiting for the core counts as part of the sleep, and what one
 * sleep overshoots is subtracted from the next. */
static void sleep_off_debt(struct hps_step *s)
{
    const double min_s = 200e-6, max_s = 5e-3;
    struct hps_step_impl *o = s->impl;
    while (o->sleep_debt_s > 50e-6) {
        double t0 = hps_now_s(), slice_s = fmin(fmax(o->sleep_debt_s / 20, min_s), max_s);
        hps_sleep_s(fmin(o->sleep_debt_s, slice_s));
        hps_step_poll(s);
        o->sleep_debt_s -= hps_now_s() - t0;
    }
}

/* The host does not wait for a GPU, unless the GPU is emulated: then its own time is stretched. */
static void gpu_compute_end(struct hps_step *s, struct hps_step_clock begin)
{
    struct hps_step_impl *o = s->impl;
    double slow = o->slow, gone_s = hps_now_s() - begin.clock_s;
    hps_spans_end(o->spans, gone_s - (now(s).wall_s - begin.wall_s));
    if (slow == 1) return;
    double gpu_s = hps_step_read(s, true);
    o->sleep_debt_s += gpu_s * (slow - 1);
    sleep_off_debt(s);
    s->busy_s += gpu_s * (slow - 1);
}

void hps_step_compute_end(struct hps_step *s, struct hps_step_clock begin)
{
    struct hps_step_impl *o = s->impl;
    if (o->spans) {
        gpu_compute_end(s, begin);
        return;
    }
    s->dev->ops->sync(s->dev);
    struct hps_step_clock end = now(s);
    if (s->dev->slow > 1)
        o->sleep_debt_s +=
            (end.core_s - begin.core_s) * o->slow - (end.wall_s - begin.wall_s);
    sleep_off_debt(s);
    s->busy_s += now(s).wall_s - begin.wall_s;
}

struct hps_step_clock hps_step_compute_begin(struct hps_step *s, const struct hps_stage *r,
                                             enum hps_region region)
{
    hps_region_enter(region, r->part);
    hps_step_span(s, r, region, true);
    return now(s);
}

struct hps_step_clock hps_step_apply_begin(struct hps_step *s, long long number)
{
    s->impl->number = number;
    hps_step_slow(s, true);
    hps_region_enter(HPS_REGION_UPDATE, 0);
    return now(s);
}

void hps_step_apply_end(struct hps_step *s, struct hps_step_clock begin)
{
    hps_step_compute_end(s, begin);
    hps_region_leave(HPS_REGION_UPDATE);
}
