/* ps_requests.c - the requests of a sequence of steps, of each group of tables. */
#include "base/mem.h"
#include "ps/ps_impl.h"

struct hps_ps_requests {
    struct hps_ps *ps;                  /* borrowed */
    int M;
    bool learns;
    struct hps_request **request;       /* (ps->ngroup) */
    struct hps_paging_steps **paging;   /* (ps->ngroup) NULL: the group's rows are all in memory */
};

enum hps_status hps_ps_requests_new(struct hps_ps_requests **out, struct hps_ps *p, int M,
                                    bool learns)
{
    struct hps_ps_requests *r = hps_mem_new(1, sizeof *r);
    enum hps_status st = HPS_OK;

    *r = (struct hps_ps_requests){ .ps = p, .M = M, .learns = learns };
    r->request = hps_mem_new((size_t)p->ngroup, sizeof *r->request);
    r->paging = hps_mem_new((size_t)p->ngroup, sizeof *r->paging);
    for (int g = 0; !st && g < p->ngroup; g++) {
        const struct hps_ps_group *group = &p->group[g];
        struct hps_request_opt use = { group->nlayer, group->layer, group->index, group->sums,
                                       learns ? group->request_buffers : -1, p->team->nserver,
                                       learns && group->holds, learns ? group->cache : NULL,
                                       p->delta };
        st = hps_request_new(&r->request[g], &use, group->rows, M, p->dev, group->shm,
                             group->comm);
        if (group->paging)
            r->paging[g] = hps_paging_steps_new(group->paging, learns, (size_t)group->nlayer);
    }
    *out = r;
    return st;
}

void hps_ps_requests_free(struct hps_ps_requests *r)
{
    if (!r) return;
    for (int g = 0; g < r->ps->ngroup; g++) {
        hps_paging_steps_free(r->paging[g]);
        hps_request_free(r->request[g]);
    }
    hps_mem_free(r->paging);
    hps_mem_free(r->request);
    hps_mem_free(r);
}

/* Rows of the step to come begin to be read, where it is known which: the earlier, the better, so
 * that requests are put in order as soon as they have come. */
static void prepare(struct hps_ps_requests *r, int g)
{
    const struct hps_request_step *next = r->paging[g] ? hps_request_next(r->request[g]) : NULL;

    if (next) hps_paging_prepare(r->paging[g], next);
}

void hps_ps_prefetch(struct hps_ps_requests *r, const struct hps_batch *batch)
{
    for (int g = 0; g < r->ps->ngroup; g++) {
        hps_request_begin(r->request[g], batch);
        prepare(r, g);
    }
}

void hps_ps_prefetch_poll(struct hps_ps_requests *r, bool time)
{
    for (int g = 0; g < r->ps->ngroup; g++) {
        hps_request_poll(r->request[g], time || r->paging[g]);
        prepare(r, g);
    }
}

bool hps_ps_requests_flush(struct hps_ps_requests *r)
{
    bool dropped = false;

    for (int g = 0; g < r->ps->ngroup; g++) {
        if (r->paging[g]) hps_paging_unprepare(r->paging[g]);
        dropped |= hps_request_flush(r->request[g]);
    }
    return dropped;
}

/* Rows that stay until the step's update are noted as changed at once, before the next step's begin
 * to be read, which that would wait for. */
static const struct hps_request_step *in_slots(struct hps_ps_requests *r, struct hps_ps_group *g)
{
    const struct hps_request_step *step = hps_paging_take(g->paged, g->asked);

    if (r->learns && !r->ps->versioned) hps_paging_change(g->paged);
    return step;
}

int hps_ps_requests_take(struct hps_ps_requests *r)
{
    for (struct hps_ps_group *g = r->ps->group; g < r->ps->group + r->ps->ngroup; g++) {
        g->step = g->asked = hps_request_take(r->request[g - r->ps->group]);
        g->paged = r->paging[g - r->ps->group];
    }
    /* lists of rows are copied to the device beside the work of the step before */
    r->ps->dev->ops->stream_wait(r->ps->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    for (struct hps_ps_group *g = r->ps->group; g < r->ps->group + r->ps->ngroup; g++)
        if (g->staging)
            g->step = hps_staging_step(g->staging, g->step);
        else if (g->paging)
            g->step = in_slots(r, g);
    return r->M;
}

bool hps_ps_bring(struct hps_ps_requests *r, bool may_begin)
{
    bool all = true;

    for (int g = 0; g < r->ps->ngroup; g++) {
        if (!r->paging[g]) continue;
        hps_request_poll(r->request[g], true);
        const struct hps_request_step *next = hps_request_next(r->request[g]);
        all &= next && hps_paging_bring(r->paging[g], next, may_begin);
    }
    return all;
}

bool hps_ps_requests_arrived(struct hps_ps_requests *r)
{
    bool all = true;

    for (int g = 0; g < r->ps->ngroup; g++)
        all &= hps_request_arrived(r->request[g]);
    return all;
}

double hps_ps_requests_bytes(const struct hps_ps_requests *r)
{
    double bytes = 0;

    for (int g = 0; g < r->ps->ngroup; g++)
        bytes += hps_request_bytes(r->request[g]);
    return bytes;
}

void hps_ps_requests_count(const struct hps_ps_requests *r, struct hps_message_count *ids)
{
    for (int g = 0; g < r->ps->ngroup; g++)
        hps_message_count_add(ids, hps_request_count(r->request[g]), 1);
}
