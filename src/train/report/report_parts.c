/* report_parts.c - the parts of a stage's step, measured and promised, and which is most off. */
#include <math.h>

#include "plan/promise.h"
#include "train/report/report_impl.h"

static const char *const name[HPS_PROMISE_PARTS] = { "compute", "pull", "reduce", "message",
                                                      "wait" };

/* Seconds of a step of this stage, as each worker takes it, in each part; mean over its ranks. */
static void measured(const struct hps_report_region *region, double seconds, double steps,
                     double part[HPS_PROMISE_PARTS])
{
    static const int of[HPS_REGIONS] = {
        [HPS_REGION_FORWARD] = HPS_PROMISE_COMPUTE, [HPS_REGION_BACKWARD] = HPS_PROMISE_COMPUTE,
        [HPS_REGION_PULL] = HPS_PROMISE_PULL,       [HPS_REGION_PUSH] = HPS_PROMISE_PULL,
        [HPS_REGION_UPDATE] = HPS_PROMISE_PULL,     [HPS_REGION_REDUCE] = HPS_PROMISE_REDUCE,
        [HPS_REGION_SEND] = HPS_PROMISE_MESSAGE,    [HPS_REGION_RECV] = HPS_PROMISE_MESSAGE,
        [HPS_REGION_READ] = HPS_PROMISE_WAIT,       [HPS_REGION_WAIT] = HPS_PROMISE_WAIT,
        [HPS_REGION_CHECKPOINT] = HPS_PROMISE_WAIT,
    };
    double rest = seconds - region[HPS_REGION_CHECKPOINT].avg_s;

    for (int i = 0; i < HPS_PROMISE_PARTS; i++)
        part[i] = 0;
    for (int g = 0; g < HPS_REGIONS; g++) {
        double s = region[g].gpu_s > 0 ? region[g].gpu_s : region[g].avg_s;
        if (of[g] == HPS_PROMISE_WAIT) continue;
        part[of[g]] += s / steps;
        rest -= s;
    }
    part[HPS_PROMISE_WAIT] = rest / steps;
}

void hps_report_put_parts(json_t *stage, const struct hps_report_input *f, int s,
                          const struct hps_report_region *region, double seconds)
{
    const struct hps_plan_epoch *e = f->plans.n > 0 ? &f->plans.epoch[f->plans.n - 1] : NULL;
    double batches = e ? (double)(e->last - e->first + 1) : 0, got[HPS_PROMISE_PARTS];
    double steps = fmax(batches / f->setup.plan->workers, 1);   /* of each worker */
    struct hps_promise_parts said = hps_promise_parts(f->setup.plan, f->setup.profile, s);
    json_t *list = json_array();
    int most = 0;

    if (batches < 1) {
        json_decref(list);
        return;
    }
    measured(region, seconds, steps, got);
    for (int i = 0; i < HPS_PROMISE_PARTS; i++) {
        json_t *one = json_object();
        hps_report_put_word(one, "part", name[i]);
        hps_report_put_real(one, "measured_s", got[i]);
        hps_report_put_real(one, "predicted_s", said.seconds[i]);
        hps_report_append(list, one);
        if (fabs(got[i] - said.seconds[i]) > fabs(got[most] - said.seconds[most])) most = i;
    }
    hps_report_put(stage, "parts", list);
    hps_report_put_word(stage, "most_off", name[most]);
    hps_report_put_real(stage, "most_off_share",
                        (got[most] - said.seconds[most]) / (seconds / steps));
}
