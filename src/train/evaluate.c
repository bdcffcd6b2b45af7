/* evaluate.c - forward passes with the steps, shares and messages of training. */
#include "train/evaluate.h"

#include "base/mem.h"
#include "base/mpi_check.h"
#include "hw/count.h"
#include "life/stop.h"
#include "life/watch.h"
#include "step/step_agree.h"

static enum hps_status run(struct hps_step *s, struct hps_feeder *f, const struct hps_steps *steps,
                           double patience_s, struct hps_metric *metric)
{
    struct hps_step_agree agree;
    enum hps_status st = hps_agree(s->team->world, hps_feeder_fetch(f));

    hps_step_agree_init(&agree, s->team->world);
    for (long long i = 0, next; !st && i < steps->total; i = next) {
        next = hps_steps_next(steps, i);
        struct hps_heartbeat mine = { .status = hps_step_begin(s, f, i),
                                      .stop = hps_stop_overdue(patience_s) };
        hps_step_agree_begin(&agree, &mine);
        hps_step_evaluate(s, f, steps, i, metric);
        struct hps_heartbeat all = hps_step_agree_end(&agree, !hps_team_works(s->team));
        st = all.status ? all.status : all.stop && next < steps->total ? HPS_AGAIN : HPS_OK;
        hps_watch_heartbeat(-1);
    }
    hps_step_agree_done(&agree);
    return st;
}

enum hps_status hps_evaluate(struct hps_step *s, const struct hps_data *data,
                             const struct hps_data_opt *opt, double patience_s,
                             struct hps_metric *metric)
{
    struct hps_steps steps = hps_steps_of(data->N, opt->batch, opt->microbatches, 1, 0);
    struct hps_order order = hps_order_of(data->N, false, 0);
    double busy_s = s->busy_s, bytes = hps_step_bytes(s);
    struct hps_feeder *feeder;

    steps.W = s->team->W;
    hps_watch_phase("the evaluation", 0);
    hps_metric_clear(metric);
    hps_metric_of(metric, s->net->layer[s->net->L - 1].score);
    struct hps_feeder_opt feed = { data, &order, &steps, opt->prefetch, 0, false };
    enum hps_status st =
        hps_feeder_new(&feeder, s->net, s->plan, s->team, s->ps, s->dev, &feed);
    if (!st) {
        hps_count_pause();
        st = run(s, feeder, &steps, patience_s, metric);
        hps_count_resume();
        hps_feeder_free(feeder);
    }
    hps_watch_phase(NULL, 0);
    s->busy_s = busy_s;
    s->other_bytes -= hps_step_bytes(s) - bytes;
    return st;
}

/* The losses that refuse some labels; r [out]: the columns that they read. */
static int validating_losses(const struct hps_net *net, const struct hps_layer **loss,
                             struct hps_reader_opt *r, bool *slot)
{
    int n = 0;
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        if (!y->type->loss || !y->type->check_batch) continue;
        r->label |= y->wants_label;
        hps_net_slots_of(net, l, slot);
        loss[n++] = y;
    }
    return n;
}

static enum hps_status look(const struct hps_data *data, const struct hps_reader_opt *r, int n,
                            const struct hps_layer **loss)
{
    enum { CHUNK = 1 << 20 };         /* examples, of all ranks */
    struct hps_steps steps = hps_steps_of(data->N, CHUNK, 1, 1, 0);
    struct hps_order order = hps_order_of(data->N, false, 0);
    struct hps_reader *reader;
    const struct hps_batch *batch;
    enum hps_status st = hps_reader_new(&reader, data, &order, &steps, r, 0);

    for (long long i = 0; !st && i < steps.total; i++) {
        st = hps_reader_next(reader, &batch);
        for (int k = 0; !st && k < n; k++)
            st = loss[k]->type->check_batch(loss[k], batch);
        hps_watch_heartbeat(-1);
    }
    hps_reader_free(reader);
    return st;
}

enum hps_status hps_evaluate_check_labels(const struct hps_net *net, const struct hps_data *data,
                                          MPI_Comm world)
{
    bool *slot = hps_mem_new((size_t)net->nslot, sizeof *slot);
    const struct hps_layer **loss = hps_mem_new((size_t)net->L, sizeof *loss);
    struct hps_reader_opt r = { .slot = slot, .ahead = 1 };
    int n = validating_losses(net, loss, &r, slot);
    enum hps_status st = HPS_OK;

    HPS_MPI(MPI_Comm_rank(world, &r.part));
    HPS_MPI(MPI_Comm_size(world, &r.parts));
    if (n > 0) st = look(data, &r, n, loss);
    hps_mem_free(loss);
    hps_mem_free(slot);
    return hps_agree(world, st);
}
