#include "jobs/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/links.h"

enum { SUBSET = 12 };           /* jobs of a node of which all subsets may be asked to move */

/* A job on a node, in a list of them; it may have left. */
struct guest {
    int job, next;
};

struct place {
    const struct hps_place_opt *opt;
    struct hps_place_job *job;
    int n, T, nnode;
    int *free;                  /* (nnode, T) units                                        */
    int *first;                 /* (nnode) guests, where it matters who is there; -1: none */
    int nguest;
    size_t guest_cap;
    struct guest *guest;
};

static int *free_of(const struct place *p, int node, int type)
{
    return &p->free[(size_t)node * (size_t)p->T + (size_t)type];
}

static int capacity(const struct place *p, int node, int type)
{
    return p->opt->pool->units[(size_t)node * (size_t)p->T + (size_t)type];
}

/* ---- one job here or there ---- */

static int units_on(const struct hps_placed *at, int node, int type)
{
    int units = 0;

    for (int i = 0; i < at->n; i++)
        if (at->part[i].node == node && (type < 0 || at->part[i].type == type))
            units += at->part[i].units;
    return units;
}

static bool is_on(const struct place *p, int job, int node)
{
    return units_on(&p->job[job].at, node, -1) > 0;
}

static void welcome(struct place *p, int job, int node)
{
    if (!p->opt->beside && !p->opt->links) return;
    for (int g = p->first[node]; g >= 0; g = p->guest[g].next)
        if (p->guest[g].job == job) return;
    hps_mem_grow(&p->guest, &p->guest_cap, (size_t)p->nguest + 1, sizeof *p->guest);
    p->guest[p->nguest] = (struct guest){ job, p->first[node] };
    p->first[node] = p->nguest++;
}

static void add(struct place *p, struct hps_place_job *job, int node, int type, int units)
{
    struct hps_placed *at = &job->at;
    struct hps_placed_part *part = hps_mem_new((size_t)at->n + 1, sizeof *part);

    if (at->n > 0) memcpy(part, at->part, (size_t)at->n * sizeof *part);
    part[at->n] = (struct hps_placed_part){ node, type, units };
    hps_mem_free(at->part);
    at->part = part;
    at->n++;
    *free_of(p, node, type) -= units;
    welcome(p, (int)(job - p->job), node);
}

/* Takes back what a job has; its own list is left to the caller. */
static void take_back(struct place *p, const struct hps_placed *at)
{
    for (int i = 0; i < at->n; i++)
        *free_of(p, at->part[i].node, at->part[i].type) += at->part[i].units;
}

/* 1 over the share of its speed that a job keeps beside all others on a node. */
static double slowness(const struct place *p, const struct hps_place_job *job, int node, int type)
{
    double share = 1;

    for (int g = p->first[node]; g >= 0; g = p->guest[g].next) {
        const struct hps_place_job *other = &p->job[p->guest[g].job];
        if (other != job && is_on(p, p->guest[g].job, node))
            share *= hps_interference_share(p->opt->beside, type, job->model, other->model);
    }
    return 1 / share;
}

/* Of the node's link, what is wanted beyond all of its time once this job is on the node, if it is
 * on another one already. */
static double beyond_link(const struct place *p, const struct hps_place_job *job, int node)
{
    bool elsewhere = job->at.n > 0 && job->at.part[0].node != node;
    double sum = elsewhere ? hps_links_wanted(job->config) : 0;

    if (!p->opt->links || !(sum > 0)) return 0;
    for (int g = p->first[node]; g >= 0; g = p->guest[g].next) {
        const struct hps_place_job *other = &p->job[p->guest[g].job];
        if (other != job && is_on(p, p->guest[g].job, node))
            sum += hps_links_part(other->config, &other->at);
    }
    return fmax(0, sum - 1);
}

/* How much longer everybody there takes together once this job is on the node. */
static double slowed(const struct place *p, const struct hps_place_job *job, int node, int type)
{
    const struct hps_interference *x = p->opt->beside;

    if (!x) return beyond_link(p, job, node);
    double sum = slowness(p, job, node, type) - 1;
    for (int g = p->first[node]; g >= 0; g = p->guest[g].next) {
        const struct hps_place_job *other = &p->job[p->guest[g].job];
        if (other == job || !is_on(p, p->guest[g].job, node)) continue;
        double now = slowness(p, other, node, type);
        sum += now / hps_interference_share(x, type, other->model, job->model) - now;
    }
    return sum + beyond_link(p, job, node);
}

/* An empty node of at most `units`, the largest first, then one that it was on; -1: there is none.
 */
static int empty_node(const struct place *p, const struct hps_placed *was, int type, int units)
{
    int best = -1;

    for (int i = 0; i < p->nnode; i++) {
        int has = capacity(p, i, type), mine = units_on(was, i, type) > 0;
        if (has == 0 || has > units || *free_of(p, i, type) < has) continue;
        if (best < 0 || has > capacity(p, best, type) ||
            (has == capacity(p, best, type) && mine > (units_on(was, best, type) > 0)))
            best = i;
    }
    return best;
}

/* The node for a rest; -1: none has room. */
static int node_with_room(const struct place *p, const struct hps_place_job *job,
                          const struct hps_placed *was, int type, int units)
{
    double best_slow = INFINITY;
    int best = -1;

    for (int i = 0; i < p->nnode; i++) {
        int has = *free_of(p, i, type);
        if (has < units) continue;
        double slow = slowed(p, job, i, type);
        bool mine = units_on(was, i, type) > 0;
        bool better = best < 0 || slow < best_slow;
        if (!better && slow == best_slow) {
            bool its = units_on(was, best, type) > 0;
            better = mine > its || (mine == its && has < *free_of(p, best, type));
        }
        if (!better) continue;
        best = i;
        best_slow = slow;
    }
    return best;
}

/* ---- room by moving others ---- */

/* Jobs that could leave a node: all that they have of the type is there. */
struct leavers {
    int n, job[SUBSET], units[SUBSET];
};

static void find_leavers(const struct place *p, struct leavers *l, const struct hps_place_job *mine,
                         int node, int type)
{
    l->n = 0;
    for (int i = 0; i < p->n && l->n < SUBSET; i++) {
        const struct hps_place_job *job = &p->job[i];
        if (job == mine || !job->keeps || job->at.n != 1) continue;
        if (job->at.part[0].node != node || job->at.part[0].type != type) continue;
        l->job[l->n] = i;
        l->units[l->n++] = job->at.part[0].units;
    }
}

/* Can those of a subset go to other nodes, each in one piece? to (n) [out] says where. */
static bool can_leave(const struct place *p, const struct leavers *l, unsigned subset, int k,
                      int node, int type, int *to)
{
    while (k < l->n && !(subset >> k & 1))
        k++;
    if (k == l->n) return true;
    for (int i = 0; i < p->nnode; i++) {
        int *has = free_of(p, i, type);
        if (i == node || *has < l->units[k]) continue;
        *has -= l->units[k];
        to[k] = i;
        bool good = can_leave(p, l, subset, k + 1, node, type, to);
        *has += l->units[k];
        if (good) return true;
    }
    return false;
}

struct way {
    int node, jobs, units, to[SUBSET];
    unsigned subset;
    struct leavers l;
};

static void try_node(const struct place *p, struct way *best, const struct hps_place_job *mine,
                     int node, int type, int units)
{
    struct way w = { .node = node };
    int need = units - *free_of(p, node, type);

    if (capacity(p, node, type) < units) return;
    find_leavers(p, &w.l, mine, node, type);
    for (w.subset = 1; w.subset < 1u << w.l.n; w.subset++) {
        w.jobs = w.units = 0;
        for (int k = 0; k < w.l.n; k++) {
            w.jobs += (int)(w.subset >> k & 1);
            w.units += w.subset >> k & 1 ? w.l.units[k] : 0;
        }
        if (w.units < need || w.jobs > best->jobs ||
            (w.jobs == best->jobs && w.units >= best->units))
            continue;
        if (can_leave(p, &w.l, w.subset, 0, node, type, w.to)) *best = w;
    }
}

/* A node that has room for so many units once jobs have moved away from it; -1: there is none. */
static int make_room(struct place *p, const struct hps_place_job *mine, int type, int units)
{
    struct way best = { .node = -1, .jobs = SUBSET + 1 };

    for (int i = 0; i < p->nnode; i++)
        try_node(p, &best, mine, i, type, units);
    for (int k = 0; k < best.l.n; k++) {
        struct hps_place_job *job = &p->job[best.l.job[k]];
        if (!(best.subset >> k & 1)) continue;
        take_back(p, &job->at);
        job->at.n = 0;
        add(p, job, best.to[k], type, best.l.units[k]);
        job->moved = true;
    }
    return best.node;
}

/* ---- a job that comes ---- */

/* Some units, wherever they are: the most free first. */
static void spread(struct place *p, struct hps_place_job *job, int type, int units)
{
    while (units > 0) {
        int most = 0;
        for (int i = 1; i < p->nnode; i++)
            if (*free_of(p, i, type) > *free_of(p, most, type)) most = i;
        int has = *free_of(p, most, type), take = has < units ? has : units;
        if (take <= 0) return;
        add(p, job, most, type, take);
        units -= take;
    }
}

static int largest_node(const struct place *p, int type)
{
    int most = 0;

    for (int i = 0; i < p->nnode; i++)
        most = capacity(p, i, type) > most ? capacity(p, i, type) : most;
    return most;
}

static void place_part(struct place *p, struct hps_place_job *job, const struct hps_placed *was,
                       int type, int units)
{
    int largest = largest_node(p, type);

    while (units > 0) {
        int node = empty_node(p, was, type, units), want = units < largest ? units : largest;
        if (node >= 0 && (capacity(p, node, type) == want || units > largest)) {
            int take = capacity(p, node, type);
            add(p, job, node, type, take);
            units -= take;
            continue;
        }
        node = node_with_room(p, job, was, type, want);
        if (node < 0 && p->opt->may_move) node = make_room(p, job, type, want);
        if (node < 0) {
            job->spread = true;
            spread(p, job, type, units);
            return;
        }
        add(p, job, node, type, want);
        units -= want;
    }
}

static void place_job(struct place *p, struct hps_place_job *job)
{
    struct hps_placed was = job->at;

    job->at = (struct hps_placed){ 0 };
    for (int i = 0; i < job->config->nparts; i++)
        place_part(p, job, &was, job->config->part[i].type, job->config->part[i].units);
    hps_mem_free(was.part);
}

/* ---- all ---- */

struct sized {
    int units, job;
};

static int larger(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    return x->units != y->units ? y->units - x->units : x->job - y->job;
}

/* Those that stay have their units; the others are nowhere until it is their turn. come (n) [out]:
 * who comes, the largest first; returns how many. */
static int begin(struct place *p, struct sized *come)
{
    int ncome = 0;

    memcpy(p->free, p->opt->pool->units, (size_t)p->nnode * (size_t)p->T * sizeof *p->free);
    for (int i = 0; i < p->nnode; i++)
        p->first[i] = -1;
    for (int i = 0; i < p->n; i++) {
        struct hps_place_job *job = &p->job[i];
        job->moved = job->spread = false;
        job->keeps = job->keeps && job->config && job->at.n > 0;
        for (int k = 0; k < job->at.n && job->keeps; k++) {
            const struct hps_placed_part *part = &job->at.part[k];
            *free_of(p, part->node, part->type) -= part->units;
            welcome(p, i, part->node);
        }
        if (!job->keeps && job->config)
            come[ncome++] = (struct sized){ hps_config_units(job->config), i };
        if (!job->config) job->at.n = 0;
    }
    qsort(come, (size_t)ncome, sizeof *come, larger);
    return ncome;
}

void hps_place(const struct hps_place_opt *opt, struct hps_place_job *job, int n)
{
    const struct hps_job_pool *pool = opt->pool;
    struct place p = { .opt = opt, .job = job, .n = n, .T = pool->T, .nnode = pool->nnode };
    struct sized *come = hps_mem_new((size_t)n, sizeof *come);

    p.free = hps_mem_new((size_t)pool->nnode * (size_t)pool->T, sizeof *p.free);
    p.first = hps_mem_new((size_t)pool->nnode, sizeof *p.first);
    int ncome = begin(&p, come);
    for (int i = 0; i < ncome; i++)
        place_job(&p, &job[come[i].job]);
    hps_mem_free(come);
    hps_mem_free(p.guest);
    hps_mem_free(p.first);
    hps_mem_free(p.free);
}

void hps_placed_copy(struct hps_placed *to, const struct hps_placed *from)
{
    *to = (struct hps_placed){ from->n, NULL };
    if (from->n == 0) return;
    to->part = hps_mem_new((size_t)from->n, sizeof *to->part);
    memcpy(to->part, from->part, (size_t)from->n * sizeof *to->part);
}

/* ---- who shares nodes ---- */

/* A part of a job on a node, in a list of them. */
struct visitor {
    int job, type, next;
};

void hps_place_shares(const struct hps_place_opt *opt, const struct hps_place_job *job, int n,
                      double *share)
{
    int nnode = opt->pool->nnode, nguest = 0, parts = 0;
    int *first = hps_mem_new((size_t)nnode, sizeof *first);

    for (int i = 0; i < nnode; i++)
        first[i] = -1;
    for (int i = 0; i < n; i++)
        parts += job[i].at.n;
    struct visitor *guest = hps_mem_new((size_t)parts, sizeof *guest);
    for (int i = 0; i < n; i++) {
        share[i] = 1;
        for (int k = 0; k < job[i].at.n; k++) {
            int node = job[i].at.part[k].node;
            guest[nguest] = (struct visitor){ i, job[i].at.part[k].type, first[node] };
            first[node] = nguest++;
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < job[i].at.n; k++) {
            const struct hps_placed_part *part = &job[i].at.part[k];
            double here = 1;
            for (int g = first[part->node]; g >= 0; g = guest[g].next)
                if (guest[g].job != i)
                    here *= hps_interference_share(opt->beside, part->type, job[i].model,
                                                   job[guest[g].job].model);
            share[i] = fmin(share[i], here);
        }
    if (opt->links) hps_links_shares(opt->pool, job, n, share);
    hps_mem_free(guest);
    hps_mem_free(first);
}
