/* evaluate.c - forward only, with the same steps, shares and messages as training. */
#include "train/evaluate.h"

#include "hw/count.h"
#include "train/pulse.h"
#include "train/watch.h"

static enum hps_status run(struct hps_step *s, struct hps_feeder *f, const struct hps_steps *steps,
                           struct hps_metric *metric)
{
    struct hps_pulse pulse;
    enum hps_status st = hps_agree(s->team->world, hps_feeder_fetch(f));

    hps_pulse_init(&pulse, s->team->world);
    for (long long i = 0; !st && i < steps->total; i++) {
        struct hps_beat mine = { .trouble = hps_step_begin(s, f, i) };
        hps_pulse_begin(&pulse, &mine);
        hps_step_evaluate(s, f, steps, i, metric);
        st = hps_pulse_end(&pulse, s->team->nrole == 0).trouble;
        hps_watch_beat(-1);
    }
    hps_pulse_done(&pulse);
    return st;
}

enum hps_status hps_evaluate(struct hps_step *s, const struct hps_data *data,
                             const struct hps_data_opt *opt, struct hps_metric *metric)
{
    struct hps_steps steps = hps_steps_of(data->N, opt->batch, opt->microbatches, 1, 0);
    struct hps_order order = hps_order_of(data->N, false, 0);
    double busy_s = s->busy_s, bytes = hps_step_bytes(s);
    struct hps_feeder *feeder;

    hps_metric_clear(metric);
    hps_metric_of(metric, s->net->layer[s->net->L - 1].score);
    enum hps_status st = hps_feeder_new(&feeder, data, &order, &steps, s->net, s->plan, s->team,
                                        s->store, s->dev, opt->prefetch, 0);
    if (!st) {
        hps_count_pause();
        st = run(s, feeder, &steps, metric);
        hps_count_resume();
        hps_feeder_free(feeder);
    }
    s->busy_s = busy_s;
    s->other_bytes -= hps_step_bytes(s) - bytes;
    return st;
}
