/* evaluate.c - forward passes with the steps, shares and messages of training. */
#include "train/evaluate.h"

#include "base/mem.h"
#include "base/mpi_check.h"
#include "hw/count.h"
#include "life/stop.h"
#include "life/watch.h"
#include "step/server.h"

/* A server's part for workers that do not wait for each other. */
static enum hps_status serve(struct hps_step *s, struct hps_feeder *f,
                             const struct hps_steps *steps)
{
    struct hps_server_opt opt = { .steps = *steps };
    struct hps_server *server = hps_server_new(s, f, &opt);
    enum hps_status st = hps_server_run(server, NULL, NULL);

    if (!st && server->said.stop > 0) st = HPS_AGAIN;
    hps_server_free(server);
    return st;
}

/* The steps of this rank; agree: of the ranks that go step by step with it. */
static enum hps_status work(struct hps_step *s, struct hps_feeder *f,
                            const struct hps_steps *steps, double patience_s,
                            struct hps_step_agree *agree, struct hps_metric *metric)
{
    enum hps_status st = HPS_OK;

    for (long long i = 0, next; !st && i < steps->total; i = next) {
        next = hps_steps_next(steps, i);
        struct hps_heartbeat mine = { .status = hps_step_begin(s, f, i),
                                      .stop = hps_stop_overdue(patience_s) };
        hps_step_agree_begin(agree, &mine);
        hps_step_evaluate(s, f, steps, i, metric);
        struct hps_heartbeat all = hps_step_agree_end(agree, !hps_team_works(s->team));
        st = all.status ? all.status
             : hps_server_leaves(&all, false) && next < steps->total ? HPS_AGAIN : HPS_OK;
        hps_watch_heartbeat(-1);
    }
    return st;
}

static enum hps_status run(struct hps_step *s, struct hps_feeder *f, const struct hps_steps *steps,
                           double patience_s, struct hps_metric *metric)
{
    struct hps_step_agree all;
    enum hps_status st = HPS_OK;

    for (int i = 0; !st && i < (s->async ? s->nchannel : 1); i++)
        st = hps_feeder_fetch(f, i);
    st = hps_agree(s->team->world, st);
    if (st) return st;
    if (s->async && s->team->serves) st = serve(s, f, steps);
    if (s->async && s->team->nmine > 0)
        st = work(s, f, steps, patience_s, &s->channel[0].agree, metric);
    hps_step_agree_init(&all, s->team->world);
    if (!s->async) st = work(s, f, steps, patience_s, &all, metric);
    struct hps_heartbeat mine = { .status = st == HPS_AGAIN ? HPS_OK : st,
                                  .stop = st == HPS_AGAIN };
    hps_step_agree_begin(&all, &mine);
    struct hps_heartbeat end = hps_step_agree_end(&all, s->async);
    hps_step_agree_done(&all);
    return end.status ? end.status : end.stop ? HPS_AGAIN : HPS_OK;
}

enum hps_status hps_evaluate(struct hps_step *s, const struct hps_data *data,
                             const struct hps_data_opt *opt, double patience_s,
                             struct hps_metric *metric)
{
    struct hps_steps steps = hps_steps_of(data->N, opt->batch, opt->microbatches, 1, 0);
    struct hps_order order = hps_order_of(data->N, false, 0);
    double busy_s = s->busy_s, bytes = hps_step_bytes(s);
    struct hps_message_count messages[HPS_MESSAGES] = { { 0 } };
    struct hps_feeder *feeder;

    steps.W = s->team->W;
    hps_step_count(s, messages, 1);
    hps_watch_phase("the evaluation", 0);
    hps_metric_clear(metric);
    hps_metric_of(metric, s->net->layer[s->net->L - 1].score);
    long long *first = hps_mem_new((size_t)steps.W, sizeof *first);
    struct hps_feeder_opt feed = { data, &order, &steps, opt->prefetch, first, false };
    enum hps_status st =
        hps_step_feeder(&feeder, s, &feed);
    if (!st) {
        hps_count_pause();
        st = run(s, feeder, &steps, patience_s, metric);
        hps_count_resume();
        hps_feeder_free(feeder);
    }
    hps_mem_free(first);
    hps_watch_phase(NULL, 0);
    s->busy_s = busy_s;
    s->other_bytes -= hps_step_bytes(s) - bytes;
    hps_step_count(s, messages, -1);
    for (int kind = 0; kind < HPS_MESSAGES; kind++)
        hps_message_count_add(&s->other_messages[kind], &messages[kind], 1);
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
