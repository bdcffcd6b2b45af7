/* order.c - one forward, one backward; stages on the same ranks alternate. */
#include "plan/order.h"

#include "base/mem.h"
#include "plan/plan.h"

/* The simulation: what each stage has done, and what the ranks of each lead stage are doing. */
struct simulation {
    int S, M;
    bool training;
    const int *lead;
    int *fwd, *bwd;             /* (S) passes done                                           */
    int *sharing;               /* (S) of a lead stage: stages on its ranks                  */
    int *now, *ticks;           /* (S) of a lead stage: the stage whose pass is under way, -1
                                   none; ticks until its end                                 */
};

/* Micro-batches in flight in stage s: without their backward yet, or not yet taken by the next
 * stage. */
static int under_way(const struct simulation *c, int s)
{
    int gone = s == c->S - 1 ? c->fwd[s] : c->fwd[s + 1];
    return c->fwd[s] - (c->training ? c->bwd[s] : gone);
}

static bool is_backward(const struct simulation *c, int s)
{
    return c->training &&
           (c->fwd[s] == c->M || under_way(c, s) == hps_plan_in_flight(c->S, s, c->M));
}

/* Has stage s a pass left whose input has come from its neighbour? */
static bool ready(const struct simulation *c, int s)
{
    if (is_backward(c, s)) return c->bwd[s] < (s == c->S - 1 ? c->fwd[s] : c->bwd[s + 1]);
    return c->fwd[s] < (s == 0 ? c->M : c->fwd[s - 1]) &&
           under_way(c, s) < hps_plan_in_flight(c->S, s, c->M);
}

/* The stage whose pass the ranks of lead stage h begin next: one with a backward before one with a
 * forward, else the later one; -1: they have to wait. */
static int choose(const struct simulation *c, int h)
{
    int best = -1;

    for (int s = h; s < c->S; s++)
        if (c->lead[s] == h && ready(c, s) &&
            (best < 0 || is_backward(c, s) || !is_backward(c, best)))
            best = s;
    return best;
}

/* Ranks that are idle begin a pass if they can. Returns how many lead stages are at work. */
static int begin(struct simulation *c, int me, struct hps_todo **list)
{
    int busy = 0;

    for (int h = 0; h < c->S; h++) {
        int s = c->now[h] < 0 ? choose(c, h) : -1;
        if (s >= 0) {
            bool backward = is_backward(c, s);
            c->now[h] = s;
            c->ticks[h] = (backward ? 2 : 1) * (c->sharing[h] > 1 ? 1 : 2);
            if (h == me)
                *(*list)++ = (struct hps_todo){ backward, s, backward ? c->bwd[s] : c->fwd[s] };
        }
        busy += c->now[h] >= 0;
    }
    return busy;
}

static void tick(struct simulation *c)
{
    for (int h = 0; h < c->S; h++) {
        int s = c->now[h];
        if (s < 0 || --c->ticks[h] > 0) continue;
        *(is_backward(c, s) ? &c->bwd[s] : &c->fwd[s]) += 1;
        c->now[h] = -1;
    }
}

/* The i-th pass of a stage that has its ranks for itself: n - 1 forwards, then one of each in turn,
 * then the backwards that are left. */
static struct hps_todo pass_alone(int S, int s, int M, bool training, int i)
{
    int warm = training ? hps_plan_in_flight(S, s, M) - 1 : M, turns = 2 * (M - warm);

    if (i < warm) return (struct hps_todo){ false, s, i };
    if (i >= warm + turns) return (struct hps_todo){ true, s, i - M };
    bool backward = (i - warm) % 2;
    return (struct hps_todo){ backward, s, (i - warm) / 2 + (backward ? 0 : warm) };
}

static int order_alone(int S, int s, int M, bool training, struct hps_todo *list)
{
    int n = training ? 2 * M : M;

    for (int i = 0; i < n; i++)
        list[i] = pass_alone(S, s, M, training, i);
    return n;
}

static bool is_alone(int S, const int *lead, int me)
{
    int n = 0;

    for (int s = 0; s < S; s++)
        n += lead[s] == me;
    return n == 1;
}

int hps_order_1f1b(int S, const int *lead, int me, int M, bool training, struct hps_todo *list)
{
    if (is_alone(S, lead, me)) return order_alone(S, me, M, training, list);
    size_t n = (size_t)S;
    int *at = hps_mem_new(5 * n, sizeof *at);
    struct simulation c = { S, M, training, lead, at, at + n, at + 2 * n, at + 3 * n, at + 4 * n };
    struct hps_todo *end = list;

    for (int s = 0; s < S; s++) {
        c.now[s] = -1;
        c.sharing[lead[s]]++;
    }
    while (begin(&c, me, &end) > 0)
        tick(&c);
    hps_mem_free(at);
    return (int)(end - list);
}
