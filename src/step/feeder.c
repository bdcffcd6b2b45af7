/* feeder.c - a reader for the columns that my stages need, and the requests for their rows. */
#include "step/feeder.h"

#include "base/mem.h"
#include "base/rng.h"
#include "hw/count.h"
#include "net/negatives.h"

enum { NSLOT = 2 };             /* steps whose inputs are on the device at the same time */

/* A slot of the ring of inputs: the batch of one step, its dense features and labels. */
struct slot {
    const struct hps_batch *batch;
    struct hps_load load;
    struct hps_load_raw *raw;   /* (M) */
};

struct hps_feeder {
    struct hps_dev *dev;
    struct slot slot[NSLOT];                /* step n's: n % NSLOT                           */
    long long fetched, taken;
    struct hps_reader *reader;              /* NULL: the rank's stages read nothing          */
    int n;                                  /* parameter servers                             */
    struct hps_ps_requests **requests;      /* (n)                                           */
    struct hps_steps steps;
    long long *next, total;                 /* (n) next step to fetch                        */
    struct hps_negatives_sampler *negatives;    /* NULL: the rank's stages draw none         */
    uint64_t key;                           /* of the negatives                              */
    int M, nvalidating;
    const struct hps_layer **validating;    /* (nvalidating) the rank's layers that refuse some
                                               data                                          */
};

/* Which layers (L) belong to this rank's stages? To free. */
static bool *my_layers(const struct hps_net *net, const struct hps_plan *plan,
                       const struct hps_team *team)
{
    bool *mine = hps_mem_new((size_t)net->L, sizeof *mine);

    for (int i = 0; i < team->nmine; i++) {
        const struct hps_plan_stage *s = &plan->stage[team->my_stage[i]];
        for (int l = s->first; l <= s->last; l++)
            mine[l] = true;
    }
    return mine;
}

/* Add the columns that this rank's layers read; false when there are none. */
static bool needs(const struct hps_net *net, const bool *mine, struct hps_reader_opt *r,
                  bool *slot)
{
    bool any = false;
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        if (!mine[l]) continue;
        r->dense |= y->wants_dense;
        r->label |= y->wants_label;
        hps_net_slots_of(net, l, slot);
        any |= y->wants_dense || y->wants_label || y->nslot > 0 || y->type->reads_example;
    }
    return any;
}

static enum hps_status make_reader(struct hps_feeder *f, const struct hps_feeder_opt *opt,
                                   const struct hps_net *net, const bool *mine,
                                   const struct hps_team *team)
{
    struct hps_reader_opt r = { .worker = team->worker, .part = team->my_replica,
                                .parts = team->nreplica, .ahead = opt->ahead,
                                .yields = f->dev->nthread > 1 };
    bool *slot = hps_mem_new((size_t)opt->data->nslot, sizeof *slot);
    enum hps_status st = HPS_OK;

    r.slot = slot;
    if (needs(net, mine, &r, slot))
        st = hps_reader_new(&f->reader, opt->data, opt->order, opt->steps, &r, opt->first[0]);
    hps_mem_free(slot);
    return st;
}

/* Does a layer of this rank refuse something in the step? */
static enum hps_status accept(const struct hps_feeder *f, const struct hps_batch *batch)
{
    enum hps_status st = HPS_OK;
    for (int i = 0; i < f->nvalidating; i++)
        for (int m = 0; !st && m < f->M; m++)
            st = f->validating[i]->type->check_batch(f->validating[i], &batch[m]);
    return st;
}

static void list_validating(struct hps_feeder *f, const struct hps_net *net, const bool *mine)
{
    f->validating = hps_mem_new((size_t)net->L, sizeof *f->validating);
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        if (mine[l] && y->type->check_batch) f->validating[f->nvalidating++] = y;
    }
}

enum hps_status hps_feeder_new(struct hps_feeder **out, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team, int n,
                               struct hps_ps *const *ps, struct hps_dev *dev,
                               const struct hps_feeder_opt *opt)
{
    const struct hps_steps *steps = opt->steps;
    struct hps_feeder *f = hps_mem_new(1, sizeof *f);
    enum hps_status st = HPS_OK;

    f->steps = *steps;
    f->n = n;
    f->requests = hps_mem_new((size_t)n, sizeof(struct hps_ps_requests *));
    f->next = hps_mem_new((size_t)n, sizeof *f->next);
    for (int i = 0; i < n; i++)
        f->next[i] = opt->first[i];
    f->dev = dev;
    for (int i = 0; i < NSLOT; i++)
        f->slot[i].raw = hps_mem_new((size_t)steps->M, sizeof *f->slot[i].raw);
    f->total = hps_team_works(team) ? steps->total : 0;
    f->M = steps->M;
    f->key = hps_rng_key(opt->order->key, "noise");
    bool *mine = my_layers(net, plan, team);
    list_validating(f, net, mine);
    f->negatives = hps_negatives_new(net, mine, f->M);
    if (team->nmine > 0) st = make_reader(f, opt, net, mine, team);
    for (int i = 0; i < n && hps_team_works(team); i++) {
        /* collective: also after a failure */
        enum hps_status requests = hps_ps_requests_new(&f->requests[i], ps[i], steps->M,
                                                       opt->learns);
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
    for (int i = 0; i < f->n; i++)
        hps_ps_requests_free(f->requests[i]);
    hps_mem_free(f->requests);
    hps_mem_free(f->next);
    for (int i = 0; i < NSLOT; i++) {
        hps_load_free(&f->slot[i].load, f->dev);
        hps_mem_free(f->slot[i].raw);
    }
    hps_reader_free(f->reader);
    hps_negatives_free(f->negatives);
    hps_mem_free(f->validating);
    hps_mem_free(f);
}

enum hps_status hps_feeder_fetch(struct hps_feeder *f, int ps)
{
    const struct hps_batch *batch = NULL;
    enum hps_status st = HPS_OK;

    if (ps >= f->n || f->next[ps] >= f->total) return HPS_OK;
    uint64_t key = hps_rng_sub(f->key, (uint64_t)(f->next[ps] / f->steps.per_epoch));
    f->next[ps] = hps_steps_next(&f->steps, f->next[ps]);
    hps_region_enter(HPS_REGION_READ, 0);
    if (f->reader) st = hps_reader_take(f->reader, &batch);
    if (!st && batch) st = accept(f, batch);
    if (st) batch = NULL; /* it may hold what is no id: request nothing */
    batch = hps_negatives_batches(f->negatives, batch, key);
    /* all steps but the one taken last are queued: their inputs may be overwritten behind them */
    f->dev->ops->stream_wait(f->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    struct slot *t = &f->slot[f->fetched++ % NSLOT];
    if (batch) hps_load_batch(&t->load, f->dev, f->M, batch, t->raw);
    t->batch = batch;
    hps_region_leave(HPS_REGION_READ);
    hps_region_enter(HPS_REGION_PULL, 0);
    /* collective: also after a failure */
    hps_ps_prefetch(f->requests[ps], batch);
    hps_region_leave(HPS_REGION_PULL);
    if (f->reader) hps_reader_wake(f->reader);
    return st;
}

void hps_feeder_request_again(struct hps_feeder *f, int ps)
{
    const struct slot *last = &f->slot[(f->fetched + NSLOT - 1) % NSLOT];

    hps_ps_prefetch(f->requests[ps], f->fetched > f->taken ? last->batch : NULL);
}

struct hps_feeder_step hps_feeder_take(struct hps_feeder *f)
{
    const struct slot *t = &f->slot[f->taken++ % NSLOT];
    f->dev->ops->stream_wait(f->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    return (struct hps_feeder_step){ t->batch, t->raw };
}

struct hps_ps_requests *hps_feeder_requests(struct hps_feeder *f, int ps)
{
    return f->requests[ps];
}

void hps_feeder_poll(struct hps_feeder *f, bool time)
{
    hps_region_enter(HPS_REGION_PULL, 0);   /* may sort the next step's ids */
    for (int i = 0; i < f->n; i++)
        hps_ps_prefetch_poll(f->requests[i], time);
    hps_region_leave(HPS_REGION_PULL);
}

double hps_feeder_bytes(const struct hps_feeder *f)
{
    double bytes = 0;

    for (int i = 0; i < f->n; i++)
        bytes += f->requests[i] ? hps_ps_requests_bytes(f->requests[i]) : 0;
    return bytes;
}

void hps_feeder_count(const struct hps_feeder *f, struct hps_message_count *ids)
{
    for (int i = 0; i < f->n; i++)
        if (f->requests[i]) hps_ps_requests_count(f->requests[i], ids);
}
