/* order.c - one forward, one backward; several stages on the same ranks take turns. */
#include "train/order.h"

#include "base/mem.h"

/* How far every stage is. */
struct count {
    int S, M;
    bool training;
    int *fwd, *bwd; /* (S) done                                              */
    int *next;      /* (S) by home: the stage that it works for in this tick */
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
           (c->fwd[s] == c->M || under_way(c, s) == hps_order_flights(c->S, s, c->M));
}

/* Is there something left to do for stage s, and has what it needs come from its neighbour? */
static bool ready(const struct count *c, int s)
{
    if (is_backward(c, s))
        return c->bwd[s] < (s == c->S - 1 ? c->fwd[s] : c->bwd[s + 1]);
    return c->fwd[s] < (s == 0 ? c->M : c->fwd[s - 1]) &&
           under_way(c, s) < hps_order_flights(c->S, s, c->M);
}

/* Every home does one thing, if it can; returns how many did. */
static int tick(struct count *c, const int *home, int me, struct hps_todo **list)
{
    int moved = 0;

    for (int s = 0; s < c->S; s++)
        c->next[s] = -1;
    for (int s = 0; s < c->S; s++)
        if (ready(c, s)) c->next[home[s]] = s;
    for (int h = c->S - 1; h >= 0; h--) {
        int s = c->next[h];
        if (s < 0) continue;
        bool backward = is_backward(c, s);
        int m = backward ? c->bwd[s]++ : c->fwd[s]++;
        if (h == me) *(*list)++ = (struct hps_todo){ backward, s, m };
        moved++;
    }
    return moved;
}

int hps_order_1f1b(int S, const int *home, int me, int M, bool training, struct hps_todo *list)
{
    int *count = hps_mem_new((size_t)S * 3, sizeof *count);
    struct count c = { S, M, training, count, count + S, count + 2 * S };
    struct hps_todo *end = list;

    while (tick(&c, home, me, &end) > 0)
        ;
    hps_mem_free(count);
    return (int)(end - list);
}
