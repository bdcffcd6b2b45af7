#include "plan/plan.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "plan/memory.h"

struct hps_plan *hps_plan_new(int L, int S)
{
    assert(0 < S && S <= L);
    struct hps_plan *plan = hps_mem_new(1, sizeof *plan);

    plan->L = L;
    plan->S = S;
    plan->workers = 1;
    plan->stage = hps_mem_new((size_t)S, sizeof *plan->stage);
    return plan;
}

void hps_plan_free(struct hps_plan *plan)
{
    if (!plan) return;
    hps_mem_free(plan->layer);
    hps_mem_free(plan->type);
    hps_mem_free(plan->share);
    hps_mem_free(plan->stage);
    hps_mem_free(plan);
}

/* Room for the names; T = 0: none. */
static void take_names(struct hps_plan *plan, int T)
{
    hps_mem_free(plan->layer);
    hps_mem_free(plan->type);
    plan->T = T;
    plan->layer = T > 0 ? hps_mem_new((size_t)plan->L, sizeof *plan->layer) : NULL;
    plan->type = T > 0 ? hps_mem_new((size_t)T, sizeof *plan->type) : NULL;
}

bool hps_plan_cuts(const struct hps_plan *plan)
{
    for (int s = 1; s < plan->S; s++)
        if (plan->stage[s].type == plan->stage[s - 1].type) return true;
    return false;
}

void hps_plan_share(struct hps_plan *plan, int n)
{
    hps_mem_free(plan->share);
    plan->nshare = n;
    plan->share = n > 0 ? hps_mem_new((size_t)n, sizeof *plan->share) : NULL;
}

int hps_plan_partner(const struct hps_plan *plan, int s)
{
    for (int a = 0; a < plan->nshare; a++)
        if (plan->share[a][0] == s || plan->share[a][1] == s)
            return plan->share[a][0] + plan->share[a][1] - s;
    return -1;
}

bool hps_plan_is_second(const struct hps_plan *plan, int s)
{
    int partner = hps_plan_partner(plan, s);

    return partner >= 0 && partner < s;
}

bool hps_plan_same_work(const struct hps_plan *a, const struct hps_plan *b)
{
    bool same = a->S == b->S && a->workers == b->workers && a->server_units == b->server_units &&
                (a->server_units == 0 || a->server_type == b->server_type);

    for (int s = 0; same && s < a->S; s++)
        same = a->stage[s].last == b->stage[s].last && a->stage[s].type == b->stage[s].type &&
               a->stage[s].units == b->stage[s].units &&
               hps_plan_partner(a, s) == hps_plan_partner(b, s);
    return same;
}

long long hps_plan_servers_on(const struct hps_plan *plan, const struct hps_profile *p, int t)
{
    if (p->server_auto) return plan->server_type == t ? plan->server_units : 0;
    return p->server_type == t ? p->server_units : 0;
}

struct hps_memory hps_plan_holds(const struct hps_plan *plan, const struct hps_profile *p, int s)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    struct hps_memory m = hps_memory_of(p, g->first, g->last);
    int partner = hps_plan_partner(plan, s);

    for (int l = partner < 0 ? 0 : plan->stage[partner].first;
         partner >= 0 && l <= plan->stage[partner].last; l++)
        hps_memory_add(&m, p, l);
    return m;
}

void hps_plan_name(struct hps_plan *plan, const struct hps_profile *p)
{
    assert(plan->L == p->L);
    take_names(plan, p->T);
    for (int l = 0; l < p->L; l++)
        memcpy(plan->layer[l], p->layer[l].name, HPS_NAME);
    for (int t = 0; t < p->T; t++)
        memcpy(plan->type[t], p->type[t].name, HPS_NAME);
}

/* All but the arrays. */
static void copy_head(struct hps_plan *to, const struct hps_plan *from)
{
    struct hps_plan head = *from;

    head.stage = to->stage;
    head.share = to->share;
    head.layer = to->layer;
    head.type = to->type;
    *to = head;
}

struct hps_plan *hps_plan_copy(const struct hps_plan *plan)
{
    struct hps_plan *q = hps_plan_new(plan->L, plan->S);

    take_names(q, plan->T);
    hps_plan_share(q, plan->nshare);
    copy_head(q, plan);
    memcpy(q->stage, plan->stage, (size_t)plan->S * sizeof *plan->stage);
    if (plan->nshare > 0) memcpy(q->share, plan->share, (size_t)plan->nshare * sizeof *plan->share);
    if (plan->T > 0) {
        memcpy(q->layer, plan->layer, (size_t)plan->L * sizeof *plan->layer);
        memcpy(q->type, plan->type, (size_t)plan->T * sizeof *plan->type);
    }
    return q;
}

struct hps_plan *hps_plan_of_assignment(int L, const int *assignment)
{
    int S = 1;

    for (int l = 1; l < L; l++)
        S += assignment[l] != assignment[l - 1];
    struct hps_plan *plan = hps_plan_new(L, S);
    for (int s = 0, i = 0; s < S; i = plan->stage[s++].last + 1)
        plan->stage[s] = (struct hps_plan_stage){ .first = i,
                                                  .type = assignment[i],
                                                  .last = hps_plan_run_end(assignment, L, i) - 1 };
    return plan;
}

void hps_plan_assignment(const struct hps_plan *plan, int *type)
{
    for (int s = 0; s < plan->S; s++)
        for (int l = plan->stage[s].first; l <= plan->stage[s].last; l++)
            type[l] = plan->stage[s].type;
}

static enum hps_status check_names(const struct hps_plan *plan, const struct hps_profile *p,
                                   const char *from)
{
    if (plan->T > 0 && plan->T != p->T) {
        HPS_SAY(HPS_ERROR, "%s: the plan is for a pool of %d types, this pool has %d", from,
                plan->T, p->T);
        return HPS_DECK;
    }
    for (int l = 0; plan->T > 0 && l < p->L; l++)
        if (strcmp(plan->layer[l], p->layer[l].name) != 0) {
            HPS_SAY(HPS_ERROR, "%s: the plan is for another network: its layer %d is %s, here %s",
                    from, l, plan->layer[l], p->layer[l].name);
            return HPS_DECK;
        }
    for (int t = 0; t < plan->T; t++)
        if (strcmp(plan->type[t], p->type[t].name) != 0) {
            HPS_SAY(HPS_ERROR, "%s: the plan is for another pool: its type %d is %s, here %s", from,
                    t, plan->type[t], p->type[t].name);
            return HPS_DECK;
        }
    return HPS_OK;
}

static enum hps_status check_stage(const struct hps_plan *plan, int s, const struct hps_profile *p,
                                   const char *from)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    int next = s > 0 ? plan->stage[s - 1].last + 1 : 0;

    if (g->first != next || g->last < g->first || g->last >= plan->L) {
        HPS_SAY(HPS_ERROR, "%s: stage %d has layers %d to %d, wanted is from %d to at most %d",
                from, s, g->first, g->last, next, plan->L - 1);
        return HPS_DECK;
    }
    if (g->type < 0 || g->type >= p->T) {
        HPS_SAY(HPS_ERROR, "%s: stage %d is on type %d, this pool has types 0 to %d", from, s,
                g->type, p->T - 1);
        return HPS_DECK;
    }
    if (g->units < 1) {
        HPS_SAY(HPS_ERROR, "%s: stage %d has %lld units, wanted is at least 1", from, s, g->units);
        return HPS_DECK;
    }
    return HPS_OK;
}

static enum hps_status check_workers(const struct hps_plan *plan, const struct hps_profile *p,
                                     const char *from)
{
    if (plan->workers != p->workers) {
        HPS_SAY(HPS_ERROR, "%s: the plan is for %d workers, this run has %d", from, plan->workers,
                p->workers);
        return HPS_DECK;
    }
    for (int s = 0; s < plan->S; s++)
        if (plan->stage[s].units % plan->workers != 0) {
            HPS_SAY(HPS_ERROR, "%s: the %lld units of stage %d cannot be divided among %d workers",
                    from, plan->stage[s].units, s, plan->workers);
            return HPS_DECK;
        }
    return HPS_OK;
}

static enum hps_status check_share(const struct hps_plan *plan, int n, const char *from)
{
    int a = plan->share[n][0], b = plan->share[n][1];
    const char *wrong = NULL;

    if (a < 0 || a >= b || b >= plan->S)
        wrong = "must be two stages, the earlier one first";
    else if (plan->stage[a].type != plan->stage[b].type)
        wrong = "are on different types";
    else if (plan->stage[a].units != plan->stage[b].units)
        wrong = "have different units";
    for (int m = 0; m < n && !wrong; m++)
        for (int c = 0; c < 2; c++)
            if (plan->share[m][c] == a || plan->share[m][c] == b)
                wrong = "share with another stage already";
    if (!wrong) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: stages %d and %d, which share their units, %s", from, a, b, wrong);
    return HPS_DECK;
}

/* Of servers that the plan chooses. */
static enum hps_status check_servers(const struct hps_plan *plan, const struct hps_profile *p,
                                     const char *from)
{
    const char *wrong = NULL;
    int t = plan->server_type;

    if (!p->server_auto) return HPS_OK;
    if (plan->server_units < 1)
        wrong = "wanted is at least 1";
    else if (t < 0 || t >= p->T || p->type[t].gpu || (p->server_type >= 0 && p->server_type != t))
        wrong = "servers may not be of that type";
    else if (plan->server_units < hps_memory_min_servers(p, t))
        wrong = "they do not hold all rows";
    if (!wrong) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: the plan has %lld servers of type %d: %s", from, plan->server_units, t,
            wrong);
    return HPS_DECK;
}

static enum hps_status check_limits(const struct hps_plan *plan, const struct hps_profile *p,
                                    const char *from)
{
    for (int t = 0; t < p->T; t++) {
        long long servers = hps_plan_servers_on(plan, p, t), left = p->type[t].limit - servers;
        for (int s = 0; s < plan->S; s++) {
            if (plan->stage[s].type != t || hps_plan_is_second(plan, s)) continue;
            if (plan->stage[s].units > left) {
                HPS_SAY(HPS_ERROR, "%s: the plan wants more of type %s than its limit %lld%s", from,
                        p->type[t].name, p->type[t].limit,
                        servers > 0 ? " less the servers" : "");
                return HPS_DECK;
            }
            left -= plan->stage[s].units;
        }
        if (left < 0) {
            HPS_SAY(HPS_ERROR, "%s: the plan has %lld servers of type %s, whose limit is %lld",
                    from, servers, p->type[t].name, p->type[t].limit);
            return HPS_DECK;
        }
    }
    return HPS_OK;
}

static enum hps_status check_memory(const struct hps_plan *plan, const struct hps_profile *p,
                                    const char *from)
{
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        struct hps_memory b = hps_plan_holds(plan, p, s);
        if (g->units >= hps_memory_min_units(p, g->type, b)) continue;
        HPS_SAY(HPS_ERROR, "%s: stage %d needs %.10g bytes on each of %lld units of type %s, "
                "which has %.10g", from, s, hps_memory_need(b, (double)g->units), g->units,
                p->type[g->type].name, p->type[g->type].memory_bytes);
        return HPS_DECK;
    }
    return HPS_OK;
}

enum hps_status hps_plan_check(const struct hps_plan *plan, const struct hps_profile *p,
                               const char *from)
{
    enum hps_status e = HPS_OK;

    if (plan->L != p->L) {
        HPS_SAY(HPS_ERROR, "%s: the plan is for a network of %d layers, this one has %d", from,
                plan->L, p->L);
        return HPS_DECK;
    }
    for (int s = 0; s < plan->S && !e; s++)
        e = check_stage(plan, s, p, from);
    if (!e && plan->stage[plan->S - 1].last != plan->L - 1) {
        HPS_SAY(HPS_ERROR, "%s: the stages end at layer %d, the network at layer %d", from,
                plan->stage[plan->S - 1].last, plan->L - 1);
        e = HPS_DECK;
    }
    if (!e) e = check_workers(plan, p, from);
    for (int n = 0; n < plan->nshare && !e; n++)
        e = check_share(plan, n, from);
    if (!e) e = check_names(plan, p, from);
    if (!e) e = check_servers(plan, p, from);
    if (!e) e = check_limits(plan, p, from);
    if (!e) e = check_memory(plan, p, from);
    return e;
}

static void bcast(void *what, size_t bytes, MPI_Comm world)
{
    HPS_MPI(MPI_Bcast(what, (int)bytes, MPI_BYTE, 0, world));
}

void hps_plan_bcast(struct hps_plan **plan, MPI_Comm world)
{
    struct hps_plan head = { 0 };
    int rank;

    if (world == MPI_COMM_NULL) return;
    HPS_MPI(MPI_Comm_rank(world, &rank));
    if (rank == 0) head = **plan;
    bcast(&head, sizeof head, world);
    if (rank != 0) {
        *plan = hps_plan_new(head.L, head.S);
        take_names(*plan, head.T);
        hps_plan_share(*plan, head.nshare);
        copy_head(*plan, &head);
    }
    bcast((*plan)->stage, (size_t)head.S * sizeof *head.stage, world);
    if (head.nshare > 0) bcast((*plan)->share, (size_t)head.nshare * sizeof *head.share, world);
    if (head.T > 0) {
        bcast((*plan)->layer, (size_t)head.L * sizeof *head.layer, world);
        bcast((*plan)->type, (size_t)head.T * sizeof *head.type, world);
    }
}

/* Servers are the last ranks of their type. Returns how many of them have none. */
static long long place_servers(const struct hps_plan *plan, int R, const int *type, int *stage_of)
{
    long long missing = plan->server_units;

    for (int r = R - 1; r >= 0 && missing > 0; r--)
        if (type[r] == plan->server_type) {
            stage_of[r] = HPS_PLAN_SERVER;
            missing--;
        }
    return missing;
}

enum hps_status hps_plan_place(const struct hps_plan *plan, int R, const int *type, int *stage_of)
{
    for (int r = 0; r < R; r++)
        stage_of[r] = HPS_PLAN_IDLE;
    long long servers = place_servers(plan, R, type, stage_of);
    if (servers > 0) {
        HPS_SAY(HPS_ERROR, "the plan wants %lld servers of type %d%s%s, there are %lld ranks",
                plan->server_units, plan->server_type, plan->T > 0 ? ", " : "",
                plan->T > 0 ? plan->type[plan->server_type] : "", plan->server_units - servers);
        return HPS_DECK;
    }
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        long long missing = hps_plan_is_second(plan, s) ? 0 : g->units;
        for (int r = 0; r < R && missing > 0; r++)
            if (stage_of[r] == HPS_PLAN_IDLE && type[r] == g->type) {
                stage_of[r] = s;
                missing--;
            }
        if (missing > 0) {
            HPS_SAY(HPS_ERROR,
                    "stage %d of the plan wants %lld ranks of type %d%s%s, there are %lld", s,
                    g->units, g->type, plan->T > 0 ? ", " : "",
                    plan->T > 0 ? plan->type[g->type] : "", g->units - missing);
            return HPS_DECK;
        }
    }
    return HPS_OK;
}
