#include "jobs/links.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"

static bool spans_nodes(const struct hps_placed *at)
{
    for (int k = 1; k < at->n; k++)
        if (at->part[k].node != at->part[0].node) return true;
    return false;
}

double hps_links_wanted(const struct hps_job_config *config)
{
    return config->link_s > 0 ? fmin(1, config->link_s / config->seconds) : 0;
}

double hps_links_part(const struct hps_job_config *config, const struct hps_placed *at)
{
    return config && spans_nodes(at) ? hps_links_wanted(config) : 0;
}

/* Parts of links that jobs get, while they are dealt. */
struct dealing {
    const struct hps_place_job *job;
    int nspan, *span;           /* (nspan) jobs that still want more                           */
    double *part;               /* (n) what each wants                                         */
    double *left;               /* (nnode) of each link                                        */
    int *wanted;                /* (nnode) by so many jobs of span                             */
};

/* The parts of a job that are on nodes of their own: the first of each node. */
static bool is_first(const struct hps_placed *at, int k)
{
    for (int i = 0; i < k; i++)
        if (at->part[i].node == at->part[k].node) return false;
    return true;
}

static void count(struct dealing *d, int j, int by)
{
    const struct hps_placed *at = &d->job[j].at;

    for (int k = 0; k < at->n; k++)
        if (is_first(at, k)) d->wanted[at->part[k].node] += by;
}

static void take(struct dealing *d, int j, double part)
{
    const struct hps_placed *at = &d->job[j].at;

    for (int k = 0; k < at->n; k++)
        if (is_first(at, k)) d->left[at->part[k].node] -= part;
    count(d, j, -1);
}

/* What a job can have if all that still want a part of its links get as much. */
static double level(const struct dealing *d, int j)
{
    const struct hps_placed *at = &d->job[j].at;
    double least = INFINITY;

    for (int k = 0; k < at->n; k++) {
        int node = at->part[k].node;
        least = fmin(least, fmax(0, d->left[node]) / d->wanted[node]);
    }
    return least;
}

/* Whoever can have all that he wants gets it; nobody can: whoever has the least gets that. got (n)
 * [out]. */
static void deal(struct dealing *d, double *got)
{
    while (d->nspan > 0) {
        double least = INFINITY;
        int kept = 0, n = d->nspan;
        for (int s = 0; s < n; s++)
            least = fmin(least, fmin(d->part[d->span[s]], level(d, d->span[s])));
        for (int s = 0; s < n; s++) {
            int j = d->span[s];
            if (fmin(d->part[j], level(d, j)) > least * (1 + 1e-12)) {
                d->span[kept++] = j;
                continue;
            }
            got[j] = least;
            take(d, j, least);
        }
        d->nspan = kept;
    }
}

void hps_links_shares(const struct hps_job_pool *pool, const struct hps_place_job *job, int n,
                      double *share)
{
    struct dealing d = { .job = job };
    double *got = hps_mem_new((size_t)n, sizeof *got);

    d.span = hps_mem_new((size_t)n, sizeof *d.span);
    d.part = hps_mem_new((size_t)n, sizeof *d.part);
    d.left = hps_mem_new((size_t)pool->nnode, sizeof *d.left);
    d.wanted = hps_mem_new((size_t)pool->nnode, sizeof *d.wanted);
    for (int i = 0; i < pool->nnode; i++)
        d.left[i] = 1;
    for (int j = 0; j < n; j++) {
        d.part[j] = hps_links_part(job[j].config, &job[j].at);
        if (!(d.part[j] > 0)) continue;
        d.span[d.nspan++] = j;
        count(&d, j, 1);
    }
    deal(&d, got);
    for (int j = 0; j < n; j++)
        if (d.part[j] > 0) share[j] *= got[j] / d.part[j];
    hps_mem_free(got);
    hps_mem_free(d.span);
    hps_mem_free(d.part);
    hps_mem_free(d.left);
    hps_mem_free(d.wanted);
}
