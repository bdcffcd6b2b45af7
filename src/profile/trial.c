/* trial.c - the loop of a training without checkpoints, lines and watch. */
#include "profile/trial.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/wait.h"
#include "plan/budget.h"
#include "step/step_agree.h"

/* Steps that do not count, since they touch new memory, until so many in a row are no faster than
 * the fastest before them by FASTER; fewer where steps are long. */
enum { WARM_UP = 3, MIN_SURE = 8, FEW = 2 };
#define FASTER 0.03
#define WARM_UP_S 0.02
#define MAX_WARM_UP_S 0.4
#define PAUSE_S 0.1             /* between windows */

struct loop {
    const struct hps_trial_opt *o;
    struct hps_step *step;
    struct hps_feeder *feeder;
    struct hps_steps steps;
    struct hps_step_agree agree;
    long long number;           /* the next step                                       */
    long long whole;            /* examples of a step of whole batches                 */
    double loss;                /* this rank's, of the last step that returned one     */
    bool warm;                  /* steps count                                         */
    double min_s;               /* the fastest step                                    */
    int no_faster;              /* steps since one was faster by FASTER                */
    struct hps_trial window[HPS_TRIAL_WINDOWS];
    int w;                      /* the window that is measured; before it all is known */
    double *took_s;             /* (max_steps) seconds of its whole batches            */
    int n;
    double began_s;             /* when the first step, then when the first that counts, began */
    double window_s;            /* when the window began                               */
    double sum_s, region_s[HPS_REGIONS];    /* of its steps                            */
    double before_s[HPS_REGIONS];           /* of each region, before the step         */
    int me;                     /* rank in the world of the team                       */
};

/* Seconds up to here in a region. */
static double spent_s(enum hps_region region)
{
    const struct hps_count_sum *sum = &hps_count_total()[region];

    return sum->gpu_s > 0 ? sum->gpu_s : sum->seconds;
}

/* The median step of those that counted, and how sure it is. took_s (n) is sorted. */
static void read_times(struct hps_trial *t, double *took_s, int n)
{
    hps_sort_ascending(took_s, (size_t)n);
    t->n = n;
    t->step_s = (took_s[(n - 1) / 2] + took_s[n / 2]) / 2;
    t->low_s = took_s[n / 4];
    t->high_s = took_s[n - 1 - n / 4];
    t->unsure = fmin((t->high_s - t->low_s) / (sqrt(n) * t->step_s), 0.99);
}

/* Is the median sure enough? Looked at now and then, since it sorts. */
static bool is_sure(const struct loop *x)
{
    struct hps_trial t;

    if (!(x->o->sure > 0) || x->n < MIN_SURE || (x->n & (x->n - 1)) != 0) return false;
    read_times(&t, x->took_s, x->n);
    return t.unsure <= x->o->sure;
}

/* The window's share of so many steps. */
static int share_of(const struct loop *x, int steps)
{
    long long w = x->w, nwindow = x->o->nwindow;

    return (int)(steps * (w + 1) / nwindow - steps * w / nwindow);
}

static bool is_late(const struct loop *x, double share)
{
    return x->o->max_seconds > 0 && hps_now_s() - x->began_s > share * x->o->max_seconds;
}

/* Has the window enough steps, with the one that begins, of n examples? */
static bool has_enough(const struct loop *x, long long n)
{
    const struct hps_trial_opt *o = x->o;
    int steps = x->n + (x->warm && n == x->whole);
    double s = hps_now_s() - x->window_s;

    return steps >= share_of(x, o->max_steps) || (steps >= FEW && is_late(x, 1)) ||
           (steps >= share_of(x, o->min_steps) && (s > o->seconds / o->nwindow || is_sure(x)));
}

/* Does no window come after this one? */
static bool is_last(const struct loop *x)
{
    const double half = 0.5;

    return x->w + 1 == x->o->nwindow || is_late(x, half);
}

/* Is the step that begins the last one that does not count? */
static bool gets_warm(const struct loop *x)
{
    double s = hps_now_s() - x->began_s;
    bool settled = x->no_faster >= WARM_UP && s > WARM_UP_S;

    return !x->warm && (settled || s > MAX_WARM_UP_S);
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
    hps_step_loss(x->step);                     /* waits for the device */
    read_regions(x, false);
    x->window_s = hps_now_s();
    if (!x->warm) x->began_s = x->window_s;
    x->warm = true;
}

/* What its steps took, and nothing is left of it. */
static void end_window(struct loop *x)
{
    struct hps_trial *t = &x->window[x->w];

    if (x->n == 0) return;
    read_times(t, x->took_s, x->n);
    for (int r = 0; r < HPS_REGIONS; r++) {
        t->region_s[r] = x->region_s[r] * t->step_s / x->sum_s;
        x->region_s[r] = 0;
    }
    x->sum_s = 0;
    x->n = 0;
    x->w++;
}

/* Rank 0's clock decides what counts and when it is enough. */
static struct hps_heartbeat heartbeat_of(const struct loop *x, long long n)
{
    bool decides = x->me == 0, enough = x->warm && has_enough(x, n), last = enough && is_last(x);

    return (struct hps_heartbeat){ .stop = (decides && last) || hps_budget_over(0),
                                   .save = decides && ((enough && !last) || gets_warm(x)),
                                   .loss = x->loss };
}

/* One step and its agreement, as the loop of a training has them. */
static enum hps_status one_step(struct loop *x, bool *stop)
{
    long long epoch, position, n = hps_steps_batch(&x->steps, x->number, &epoch, &position);
    bool counts = x->warm && n == x->whole && x->n < x->o->max_steps;
    double t0 = hps_now_s();
    struct hps_heartbeat all = hps_step_train(x->step, x->feeder, &x->agree, x->number,
                                              heartbeat_of(x, n), &x->loss);
    double took_s = hps_now_s() - t0;
    x->number = hps_steps_next(&x->steps, x->number);
    x->no_faster = took_s > (1 - FASTER) * x->min_s ? x->no_faster + 1 : 0;
    x->min_s = fmin(x->min_s, took_s);
    read_regions(x, counts);
    if (counts) {
        x->took_s[x->n++] = took_s;
        x->sum_s += took_s;
    }
    *stop = all.stop > 0;
    if (all.save > 0 && !*stop) {
        if (x->warm) hps_sleep_s(PAUSE_S);
        end_window(x);
        begin_window(x);
    }
    return all.status;
}

/* The median of the windows by their step; of two the faster one, since what disturbs a machine
 * makes nothing faster. */
static void take_median(struct loop *x, struct hps_trial *t)
{
    int n = 0;

    for (int w = 0; w < x->w; w++)
        n += x->window[w].n;
    for (int w = 0; w < x->w; w++) {
        int faster = 0;
        for (int v = 0; v < x->w; v++)
            faster += x->window[v].step_s < x->window[w].step_s ||
                      (x->window[v].step_s <= x->window[w].step_s && v < w);
        if (faster == (x->w - 1) / 2) *t = x->window[w];
    }
    t->n = n;
}

static enum hps_status run(struct loop *x, struct hps_trial *t)
{
    enum hps_status st = hps_agree(x->step->team->world, hps_feeder_fetch(x->feeder, 0));
    bool stop = false;

    x->began_s = hps_now_s();
    while (!st && !stop && x->number < x->steps.total)
        st = one_step(x, &stop);
    if (st) return st;
    end_window(x);
    take_median(x, t);
    return HPS_OK;
}

static enum hps_status make(struct loop *x, const struct hps_order *order,
                            const struct hps_net *net, const struct hps_plan *plan,
                            const struct hps_team *team, struct hps_dev *dev)
{
    const struct hps_trial_opt *o = x->o;
    struct hps_step_opt step = { o->train, o->storage, x->steps, o->seed, true };
    const long long first = 0;
    struct hps_feeder_opt feed = { o->data, order, &x->steps, o->prefetch, &first, true };
    enum hps_status st = hps_step_new(&x->step, &step, net, plan, team, dev);

    if (st) return st;
    return hps_step_feeder(&x->feeder, x->step, &feed);
}

enum hps_status hps_trial_run(struct hps_trial *t, const struct hps_net *net,
                              const struct hps_plan *plan, const struct hps_team *team,
                              struct hps_dev *dev, const struct hps_trial_opt *o)
{
    struct hps_order order = hps_order_of_data(o->data, o->shuffle, false, o->seed);
    struct loop x = { .o = o, .steps = hps_steps_of(o->data->N, o->batch, o->microbatches, 0,
                                                    INT32_MAX),
                      .min_s = INFINITY };
    enum hps_level level = hps_say_min(HPS_ERROR);  /* the run will say the rest itself */

    *t = (struct hps_trial){ 0 };
    assert(1 <= o->nwindow && o->nwindow <= HPS_TRIAL_WINDOWS);
    assert(o->min_steps >= o->nwindow && o->max_steps >= o->min_steps);
    x.steps.W = team->W;
    x.whole = team->W * o->batch;
    HPS_MPI(MPI_Comm_rank(team->world, &x.me));
    x.took_s = hps_mem_new((size_t)o->max_steps, sizeof *x.took_s);
    hps_step_agree_init(&x.agree, team->world);
    enum hps_status st = make(&x, &order, net, plan, team, dev);
    if (!st) st = run(&x, t);
    hps_step_agree_done(&x.agree);
    hps_feeder_free(x.feeder);
    hps_step_free(x.step);
    hps_mem_free(x.took_s);
    hps_count_clear();
    hps_say_min(level);
    return st;
}
