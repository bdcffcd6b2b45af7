/* ledger.c - counts gradients. */
#include "ledger.h"

#include <math.h>

#include "base/quit.h"

static void add(struct ledger *l, struct ledger_state *s, const struct ledger_grad *g)
{
    for (int r = 0; r < l->rows; r++)
        s->row[r] -= l->rate * g->row[r];
    for (int p = 0; p < l->ndense; p++)
        s->dense[p] -= l->rate * g->dense[p];
}

void ledger_begin(struct ledger *l)
{
    for (long long c = 0; c < l->nclock; c++) {
        l->after[c + 1] = l->after[c];
        for (int w = 0; w < l->W; w++)
            add(l, &l->after[c + 1], &l->grad[w][c]);
    }
}

/* A worker that has clocks left may be no more than the bound behind. */
static void check_bound(struct ledger *l, int j, int w)
{
    const struct ledger_server *s = &l->server[j];
    long long c = s->npull[w];

    for (int v = 0; v < l->W; v++) {
        if (ledger_is_over(l, j, v)) continue;
        if (c - s->napply[v] > l->ahead) l->ahead = c - s->napply[v];
        if (l->staleness >= 0 && s->napply[v] < c - l->staleness)
            HPS_DIE("server %d: worker %d pulls for clock %lld, worker %d has finished %lld", j, w,
                    c, v, s->napply[v]);
    }
}

void ledger_pull(struct ledger *l, int j, int w)
{
    struct ledger_server *s = &l->server[j];

    if (s->npull[w] != s->npush[w] || ledger_is_over(l, j, w))
        HPS_DIE("server %d: worker %d pulls once more, after %lld pulls and %lld gradients", j, w,
                s->npull[w], s->npush[w]);
    check_bound(l, j, w);
    struct ledger_state *mine = &s->pulled[w][s->npull[w] % LEDGER_KEPT];
    *mine = s->now;
    mine->clock = s->npull[w]++;
}

/* Of W workers each other one has at most staleness gradients before the clock's, that one, and as
 * many behind; and some of the worker's own were held. */
static void check_stale(struct ledger *l, long long stale, int row)
{
    if (stale > l->stalest) l->stalest = stale;
    if (l->staleness >= 0 && stale > (l->W - 1) * (2 * l->staleness + 1) + l->aggregate - 1)
        HPS_DIE("a gradient of row %d is %lld late", row, stale);
}

static double rate_of(const struct ledger *l, uint32_t stale)
{
    return l->inverse && stale > 1 ? l->rate / stale : l->rate;
}

void ledger_push(struct ledger *l, int j, int w)
{
    struct ledger_server *s = &l->server[j];
    const struct ledger_grad *g = &l->grad[w][s->npush[w]];
    const struct ledger_state *had = &s->pulled[w][s->npush[w] % LEDGER_KEPT];

    if (s->npull[w] != s->npush[w] + 1)
        HPS_DIE("server %d: a gradient of worker %d too many", j, w);
    for (int r = 0; r < l->rows; r++)
        if (g->hit[r]) check_stale(l, s->now.version[r] - had->version[r], r);
    s->held[s->nheld++] = w;
    s->npush[w]++;
}

static void apply(const struct ledger *l, struct ledger_server *s, int w)
{
    const struct ledger_grad *g = &l->grad[w][s->napply[w]];
    const struct ledger_state *had = &s->pulled[w][s->napply[w] % LEDGER_KEPT];

    for (int r = 0; r < l->rows; r++) {
        if (!g->hit[r]) continue;
        uint32_t stale = s->now.version[r]++ - had->version[r];
        s->now.row[r] -= rate_of(l, stale) * g->row[r];
    }
    double rate = rate_of(l, s->now.dense_version++ - had->dense_version);
    for (int p = 0; p < l->ndense; p++)
        s->now.dense[p] -= rate * g->dense[p];
    s->napply[w]++;
}

void ledger_apply(struct ledger *l, int j, bool early)
{
    struct ledger_server *s = &l->server[j];

    if (early ? s->nheld >= l->aggregate : s->nheld != l->aggregate)
        HPS_DIE("server %d applies %d gradients together", j, s->nheld);
    for (int i = 0; i < s->nheld; i++)
        apply(l, s, s->held[i]);
    s->nheld = 0;
}

bool ledger_is_over(const struct ledger *l, int j, int w)
{
    return l->server[j].npush[w] >= l->nclock;
}

const struct ledger_state *ledger_now(const struct ledger *l, int j)
{
    return &l->server[j].now;
}

const struct ledger_state *ledger_pulled(const struct ledger *l, int j, int w, long long c)
{
    const struct ledger_state *s = &l->server[j].pulled[w][c % LEDGER_KEPT];

    if (s->clock != c || l->server[j].npull[w] <= c)
        HPS_DIE("worker %d is in clock %lld, for which server %d has given it nothing", w, c, j);
    return s;
}

bool ledger_same(const struct ledger *l, double a, double b)
{
    return fabs(a - b) <= 1e-3 * l->rate / 64;
}
