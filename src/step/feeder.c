/* feeder.c - a reader for the columns that my stages need, and the requests for their rows. */
#include "step/feeder.h"

#include "base/mem.h"
#include "base/rng.h"
#include "hw/count.h"
#include "net/negatives.h"

enum { TURNS = 2 }; /* steps whose inputs live on the device at once */

struct turn {
    struct hps_load load;
    struct hps_load_raw *raw; /* (M) */
};

struct hps_feeder {
    struct hps_dev *dev;
    struct turn turn[TURNS]; /* step n's: n % TURNS              */
    long long fetched, taken;
    struct hps_reader *reader; /* NULL: my stages read nothing                   */
    struct hps_ps_requests *requests;
    const struct hps_batch *batch[2];  /* fetched, not yet taken: the older first        */
    int nbatch;
    long long next, total; /* next step to fetch                             */
    struct hps_negatives_sampler *noise; /* NULL: my stages draw nothing                   */
    uint64_t key;                  /* of what is drawn                               */
    int M, nfussy;
    const struct hps_layer **fussy; /* (nfussy) mine that do not take all data      */
};

/* Which layers (L) are of my stages? To free. */
static bool *my_layers(const struct hps_net *net, const struct hps_plan *plan,
                       const struct hps_team *team)
{
    bool *mine = hps_mem_new((size_t)net->L, sizeof *mine);

    for (int i = 0; i < team->nrole; i++) {
        const struct hps_plan_stage *s = &plan->stage[team->role[i]];
        for (int l = s->first; l <= s->last; l++)
            mine[l] = true;
    }
    return mine;
}

/* Adds the columns that my layers read; false when there are none. */
static bool needs(const struct hps_net *net, const bool *mine, struct hps_reader_opt *r,
                  bool *slot)
{
    bool any = false;
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        if (!mine[l]) continue;
        r->dense |= y->wants_dense;
        r->label |= y->wants_label;
        hps_net_mark_slots(net, l, slot);
        any |= y->wants_dense || y->wants_label || y->nslot > 0 || y->type->reads_example;
    }
    return any;
}

static enum hps_status make_reader(struct hps_feeder *f, const struct hps_feeder_opt *opt,
                                   const struct hps_net *net, const bool *mine,
                                   const struct hps_team *team)
{
    struct hps_reader_opt r = { .part = team->my_part, .parts = team->nparts, .ahead = opt->ahead,
                                .yields = f->dev->nthread > 1 };
    bool *slot = hps_mem_new((size_t)opt->data->nslot, sizeof *slot);
    enum hps_status st = HPS_OK;

    r.slot = slot;
    if (needs(net, mine, &r, slot))
        st = hps_reader_new(&f->reader, opt->data, opt->order, opt->steps, &r, f->next);
    hps_mem_free(slot);
    return st;
}

/* Is there something in the step that a layer of mine cannot take? */
static enum hps_status accept(const struct hps_feeder *f, const struct hps_batch *batch)
{
    enum hps_status st = HPS_OK;
    for (int i = 0; i < f->nfussy; i++)
        for (int m = 0; !st && m < f->M; m++)
            st = f->fussy[i]->type->check_batch(f->fussy[i], &batch[m]);
    return st;
}

static void list_fussy(struct hps_feeder *f, const struct hps_net *net, const bool *mine)
{
    f->fussy = hps_mem_new((size_t)net->L, sizeof *f->fussy);
    for (int l = 0; l < net->L; l++)
        if (mine[l] && net->layer[l].type->check_batch) f->fussy[f->nfussy++] = &net->layer[l];
}

enum hps_status hps_feeder_new(struct hps_feeder **out, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team,
                               struct hps_ps *ps, struct hps_dev *dev,
                               const struct hps_feeder_opt *opt)
{
    const struct hps_steps *steps = opt->steps;
    struct hps_feeder *f = hps_mem_new(1, sizeof *f);
    enum hps_status st = HPS_OK;

    f->next = opt->first_step;
    f->dev = dev;
    for (int i = 0; i < TURNS; i++)
        f->turn[i].raw = hps_mem_new((size_t)steps->M, sizeof *f->turn[i].raw);
    f->total = team->nrole == 0 ? 0 : steps->total;
    f->M = steps->M;
    f->key = hps_rng_key(opt->order->key, "noise");
    bool *mine = my_layers(net, plan, team);
    list_fussy(f, net, mine);
    f->noise = hps_negatives_new(net, mine, f->M);
    if (team->nrole > 0) {
        st = make_reader(f, opt, net, mine, team);
        /* with the other members */
        enum hps_status requests = hps_ps_requests_new(&f->requests, ps, steps->M, opt->learns);
        if (!st) st = requests;
    }
    hps_mem_free(mine);
    *out = f;
    st = hps_agree(team->world, st);
    if (st) {
        hps_feeder_free(f);
        *out = NULL;
    }
    return st;
}

void hps_feeder_free(struct hps_feeder *f)
{
    if (!f) return;
    hps_ps_requests_free(f->requests);
    for (int i = 0; i < TURNS; i++) {
        hps_load_free(&f->turn[i].load, f->dev);
        hps_mem_free(f->turn[i].raw);
    }
    hps_reader_free(f->reader);
    hps_negatives_free(f->noise);
    hps_mem_free(f->fussy);
    hps_mem_free(f);
}

enum hps_status hps_feeder_fetch(struct hps_feeder *f)
{
    const struct hps_batch *batch = NULL;
    enum hps_status st = HPS_OK;

    if (f->next >= f->total) return HPS_OK;
    f->next++;
    hps_region_enter(HPS_REGION_READ, 0);
    if (f->reader) st = hps_reader_take(f->reader, &batch);
    if (!st && batch) st = accept(f, batch);
    if (st) batch = NULL; /* no row is asked for by what may be no id */
    batch = hps_negatives_batches(f->noise, batch, hps_rng_sub(f->key, (uint64_t)f->next));
    /* all steps but the one taken last are queued: what they read is free behind them */
    f->dev->ops->stream_wait(f->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    struct turn *t = &f->turn[f->fetched++ % TURNS];
    if (batch) hps_load_batch(&t->load, f->dev, f->M, batch, t->raw);
    hps_region_leave(HPS_REGION_READ);
    f->batch[f->nbatch++] = batch;
    hps_region_enter(HPS_REGION_PULL, 0);
    /* after a failure too: the other members' exchange needs us */
    hps_ps_prefetch(f->requests, batch);
    hps_region_leave(HPS_REGION_PULL);
    if (f->reader) hps_reader_wake(f->reader);
    return st;
}

struct hps_feeder_step hps_feeder_take(struct hps_feeder *f)
{
    struct hps_feeder_step step = { f->batch[0], f->turn[f->taken++ % TURNS].raw };
    f->batch[0] = f->batch[1];
    f->nbatch--;
    f->dev->ops->stream_wait(f->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    return step;
}

struct hps_ps_requests *hps_feeder_requests(struct hps_feeder *f)
{
    return f->requests;
}

void hps_feeder_poll(struct hps_feeder *f, bool time)
{
    hps_region_enter(HPS_REGION_PULL, 0); /* the next step's ids may be put in order here */
    hps_ps_prefetch_poll(f->requests, time);
    hps_region_leave(HPS_REGION_PULL);
}

double hps_feeder_bytes(const struct hps_feeder *f)
{
    return f->requests ? hps_ps_requests_bytes(f->requests) : 0;
}
