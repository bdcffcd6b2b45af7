#include "jobs/decide.h"

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

bool hps_job_room_take(struct hps_job_room *room, const struct hps_job_config *c)
{
    if (!hps_job_room_fits(room, c)) return false;
    for (int i = 0; i < c->nparts; i++)
        room->units[c->part[i].type] -= c->part[i].units;
    return true;
}

void hps_job_give_asked(const struct hps_job_view *view, const int *order, bool skip,
                        struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(view->pool);

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
}

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
