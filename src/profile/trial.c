/* trial.c - the loop of a training without checkpoints, lines and watch. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "plan/budget.h"
#include "profile/trial_impl.h"
#include "step/step_agree.h"

struct loop {
    struct hps_trial_training run;
    struct hps_trial_samples samples;       /* of seconds, of whole batches            */
    struct hps_step_agree agree;
    long long number;           /* the next step                                       */
    long long whole;            /* examples of a step of whole batches                 */
    double loss;                /* this rank's, of the last step that returned one     */
    double region_s[HPS_REGIONS];           /* of the steps that count in this window  */
    double before_s[HPS_REGIONS];           /* of each region, before the step         */
    int me;                     /* rank in the world of the team                       */
};

/* Seconds up to here in a region. */
static double spent_s(enum hps_region region)
{
    const struct hps_count_sum *sum = &hps_count_total()[region];

    return sum->gpu_s > 0 ? sum->gpu_s : sum->seconds;
}

/* Seconds of each region up to here; since the last call they are of a step that counts, or of
 * none. A GPU's clock may be a step late. */
static void read_regions(struct loop *x, bool counts)
{
    for (int r = 0; r < HPS_REGIONS; r++) {
        double now = spent_s((enum hps_region)r);
        x->region_s[r] += counts ? now - x->before_s[r] : 0;
        x->before_s[r] = now;
    }
}

static void begin_window(struct loop *x)
{
    hps_step_loss(x->run.step);                 /* waits for the device */
    read_regions(x, false);
    hps_trial_samples_begin(&x->samples);
}

/* What its steps took, and nothing is left of it. */
static void end_window(struct loop *x)
{
    double sum_s = x->samples.sum_s;
    struct hps_trial *t = hps_trial_samples_end(&x->samples);

    for (int r = 0; t && r < HPS_REGIONS; r++) {
        t->region_s[r] = x->region_s[r] * t->step_s / sum_s;
        x->region_s[r] = 0;
    }
}

/* Rank 0's clock decides what counts and when it is enough. */
static struct hps_heartbeat heartbeat_of(const struct loop *x, bool whole)
{
    const struct hps_trial_samples *s = &x->samples;
    bool decides = x->me == 0, enough = hps_trial_samples_enough(s, whole);
    bool last = enough && hps_trial_samples_last(s);
    bool next = (enough && !last) || hps_trial_samples_settled(s);

    return (struct hps_heartbeat){ .stop = (decides && last) || hps_budget_over(0),
                                   .save = decides && next,
                                   .loss = x->loss };
}

/* One step and its agreement, as the loop of a training has them. */
static enum hps_status one_step(struct loop *x, bool *stop)
{
    long long epoch, position, n = hps_steps_batch(&x->run.steps, x->number, &epoch, &position);
    bool whole = n == x->whole;
    double t0 = hps_now_s();
    struct hps_heartbeat all = hps_step_train(x->run.step, x->run.feeder, &x->agree, x->number,
                                              heartbeat_of(x, whole), &x->loss);
    double took_s = hps_now_s() - t0;
    x->number = hps_steps_next(&x->run.steps, x->number);
    read_regions(x, hps_trial_samples_add(&x->samples, took_s, whole));
    *stop = all.stop > 0;
    if (all.save > 0 && !*stop) {
        if (x->samples.warm) {
            end_window(x);
            hps_trial_samples_pause(&x->samples);
        } else {
            begin_window(x);
        }
    }
    return all.status;
}

static enum hps_status run(struct loop *x, struct hps_trial *t)
{
    const struct hps_trial_training *r = &x->run;
    enum hps_status st = hps_agree(r->step->team->world, hps_feeder_fetch(r->feeder, 0));
    bool stop = false;

    while (!st && !stop && x->number < r->steps.total)
        st = one_step(x, &stop);
    if (st) return st;
    end_window(x);
    hps_trial_samples_median(&x->samples, t);
    return HPS_OK;
}

enum hps_status hps_trial_begin(struct hps_trial_training *x, const struct hps_net *net,
                                const struct hps_plan *plan, const struct hps_team *team,
                                struct hps_dev *dev, const struct hps_trial_opt *o)
{
    long long *first = hps_mem_new((size_t)team->W, sizeof *first);   /* each worker's step: 0 */

    x->level = hps_say_min(HPS_ERROR);      /* the run will say the rest itself */
    x->order = hps_order_of_data(o->data, o->shuffle, false, o->seed);
    x->steps = hps_steps_of(o->data->N, o->batch, o->microbatches, 0, INT32_MAX);
    x->steps.W = team->W;
    struct hps_step_opt step = { o->train, o->storage, x->steps, o->seed, true };
    struct hps_feeder_opt feed = { o->data, &x->order, &x->steps, o->prefetch, first, true };
    enum hps_status st = hps_step_new(&x->step, &step, net, plan, team, dev);
    if (!st) st = hps_step_feeder(&x->feeder, x->step, &feed);
    hps_mem_free(first);
    return st;
}

void hps_trial_end(struct hps_trial_training *x)
{
    hps_feeder_free(x->feeder);
    hps_step_free(x->step);
    hps_count_clear();
    hps_say_min(x->level);
}

enum hps_status hps_trial_run(struct hps_trial *t, const struct hps_net *net,
                              const struct hps_plan *plan, const struct hps_team *team,
                              struct hps_dev *dev, const struct hps_trial_opt *o)
{
    struct loop x = { .whole = team->W * o->batch };

    *t = (struct hps_trial){ 0 };
    HPS_MPI(MPI_Comm_rank(team->world, &x.me));
    hps_step_agree_init(&x.agree, team->world);
    enum hps_status st = hps_trial_begin(&x.run, net, plan, team, dev, o);
    hps_trial_samples_init(&x.samples, o);
    if (!st) st = run(&x, t);
    hps_step_agree_done(&x.agree);
    hps_trial_end(&x.run);
    hps_trial_samples_done(&x.samples);
    return st;
}
