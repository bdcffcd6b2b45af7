/* order.c - one forward, one backward; several stages on the same ranks take turns. */
#include "step/order.h"

#include "base/mem.h"

/* How far every stage is, and what every home is at. */
struct count {
    int S, M;
    bool training;
    const int *home;
    int *fwd, *bwd;   /* (S) done                                    */
    int *sharing;     /* (S) by home: stages there                   */
    int *now, *ticks; /* (S) by home: the stage at work, -1 none; what is left of it */
};

/* In the flights of stage s: not yet back, or not yet taken by the next stage. */
static int under_way(const struct count *c, int s)
{
    int gone = s == c->S - 1 ? c->fwd[s] : c->fwd[s + 1];
    return c->fwd[s] - (c->training ? c->bwd[s] : gone);
}

static bool is_backward(const struct count *c, int s)
{
    return c->training &&
           (c->fwd[s] == c->M || under_way(c, s) == hps_order_in_flight(c->S, s, c->M));
}

/* Is there something left to do for stage s, and has what it needs come from its neighbour? */
static bool ready(const struct count *c, int s)
{
    if (is_backward(c, s)) return c->bwd[s] < (s == c->S - 1 ? c->fwd[s] : c->bwd[s + 1]);
    return c->fwd[s] < (s == 0 ? c->M : c->fwd[s - 1]) &&
           under_way(c, s) < hps_order_in_flight(c->S, s, c->M);
}

/* What home h does next: a backward before a forward, else the later stage; -1: it has to wait. */
static int choose(const struct count *c, int h)
{
    int best = -1;

    for (int s = h; s < c->S; s++)
        if (c->home[s] == h && ready(c, s) &&
            (best < 0 || is_backward(c, s) || !is_backward(c, best)))
            best = s;
    return best;
}

/* All that are idle begin something, if they can; returns how many are at work. */
static int begin(struct count *c, int me, struct hps_todo **list)
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

static void tick(struct count *c)
{
    for (int h = 0; h < c->S; h++) {
        int s = c->now[h];
        if (s < 0 || --c->ticks[h] > 0) continue;
        *(is_backward(c, s) ? &c->bwd[s] : &c->fwd[s]) += 1;
        c->now[h] = -1;
    }
}

int hps_order_1f1b(int S, const int *home, int me, int M, bool training, struct hps_todo *list)
{
    size_t n = (size_t)S;
    int *at = hps_mem_new(5 * n, sizeof *at);
    struct count c = { S, M, training, home, at, at + n, at + 2 * n, at + 3 * n, at + 4 * n };
    struct hps_todo *end = list;

    for (int s = 0; s < S; s++) {
        c.now[s] = -1;
        c.sharing[home[s]]++;
    }
    while (begin(&c, me, &end) > 0)
        tick(&c);
    hps_mem_free(at);
    return (int)(end - list);
}
