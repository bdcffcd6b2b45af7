#include "jobs/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct hps_job_room hps_job_room_of(const struct hps_job_pool *pool)
{
    struct hps_job_room room = { pool->T, hps_mem_new((size_t)pool->T, sizeof *room.units) };

    for (int t = 0; t < pool->T; t++)
        room.units[t] = pool->type[t].units;
    return room;
}

void hps_job_room_done(struct hps_job_room *room)
{
    hps_mem_free(room->units);
}

bool hps_job_room_fits(const struct hps_job_room *room, const struct hps_job_config *c)
{
    for (int i = 0; i < c->nparts; i++)
        if (room->units[c->part[i].type] < c->part[i].units) return false;
    return true;
}

void hps_job_room_give(struct hps_job_room *room, const struct hps_job_config *c)
{
    for (int i = 0; i < c->nparts; i++)
        room->units[c->part[i].type] += c->part[i].units;
}

bool hps_job_room_take(struct hps_job_room *room, const struct hps_job_config *c)
{
    if (!hps_job_room_fits(room, c)) return false;
    for (int i = 0; i < c->nparts; i++)
        room->units[c->part[i].type] -= c->part[i].units;
    return true;
}

/* ---- one job ---- */

const struct hps_job_config *hps_job_config_of(const struct hps_job_state *j, int config)
{
    return config < 0 ? NULL : &j->job->config[config];
}

double hps_job_end_s(const struct hps_job_view *view, int i)
{
    const struct hps_job_state *j = &view->job[i];

    if (j->config < 0) return INFINITY;
    return fmax(view->now_s, j->since_s + view->restart_s) +
           j->left * j->job->config[j->config].seconds;
}

double hps_job_share(const struct hps_job_pool *pool, const struct hps_job_config *c)
{
    double share = 0;

    for (int i = 0; i < c->nparts; i++)
        share = fmax(share, (double)c->part[i].units / pool->type[c->part[i].type].units);
    return share;
}

int hps_job_smallest(const struct hps_job_view *view, int i)
{
    const struct hps_pool_job *job = view->job[i].job;
    double least = INFINITY;
    int best = -1;

    for (int c = 0; c < job->nconfig; c++) {
        double share = hps_job_share(view->pool, &job->config[c]);
        if (share > 1 || share > least) continue;
        if (share == least && job->config[c].seconds >= job->config[best].seconds) continue;
        least = share;
        best = c;
    }
    return best;
}

/* ---- all jobs ---- */

/* A key beside its job. */
struct keyed {
    double key;
    int job;
};

static int less(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->job - y->job;
}

int *hps_job_order(const struct hps_job_view *view, const double *key)
{
    int n = view->n, *order = hps_mem_new((size_t)n, sizeof *order);
    struct keyed *k = hps_mem_new((size_t)n, sizeof *k);

    for (int i = 0; i < n; i++)
        k[i] = (struct keyed){ key[i], i };
    qsort(k, (size_t)n, sizeof *k, less);
    for (int i = 0; i < n; i++)
        order[i] = k[i].job;
    hps_mem_free(k);
    return order;
}

void hps_job_give_asked(const struct hps_job_view *view, const double *key, bool skip,
                        struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(view->pool);
    int *order = hps_job_order(view, key);

    for (int k = 0; k < view->n; k++)
        d->config[k] = -1;
    for (int k = 0; k < view->n; k++) {
        const struct hps_pool_job *job = view->job[order[k]].job;
        if (hps_job_room_take(&room, &job->config[job->asked]))
            d->config[order[k]] = job->asked;
        else if (!skip)
            break;
    }
    hps_job_room_done(&room);
    hps_mem_free(order);
}
