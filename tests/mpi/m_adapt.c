/* Law: a plan stays while its promise holds; when its type is slower, all ranks hear of the same
 * better plan; a plan that ran before is judged by how fast it was, so two do not take turns; a
 * change that the rest of the run cannot repay is none; the third has to wait. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "plan/cost.h"
#include "train/adapt.h"

enum { L = 3, T = 2, STEPS = 10, EXAMPLES = 1000 };

static const struct hps_sched_opt sched = { .method = "exact", .objective = "model", .profile = "",
                                            .plan = "", .policy = "", .warm = "", .polish = true,
                                            .replan = true, .seconds = 1, .replan_margin = 0.1 };

/* A layer takes 1 s of a batch on type 0, 2 s on type 1; there is one unit of each. */
static struct hps_profile *a_profile(void)
{
    struct hps_profile *p = hps_profile_new(L, T);

    p->batch = 100;
    p->examples = 1e6;
    p->epochs = 1;
    for (int t = 0; t < T; t++) {
        p->type[t] = (struct hps_profile_type){ .name = "a", .price_usd_hour = 1, .limit = 1 };
        p->type[t].name[0] += (char)t;
    }
    for (int l = 0; l < L; l++) {
        strcpy(p->layer[l].name, "l");
        strcpy(p->layer[l].type, "fc");
        p->layer[l].name[0] += (char)l;
    }
    for (int i = 0; i < L * T; i++) {
        p->oct[i] = 1 + i % T;
        p->alpha[i] = p->beta[i] = 1;
    }
    return p;
}

/* All layers on one type, on rank 0; the others are left out. */
static void begin(struct hps_step *step, const struct hps_profile *p, int type, MPI_Comm world)
{
    int *stage_of = hps_mem_new((size_t)hps_nrank(), sizeof *stage_of);
    struct hps_plan *plan = hps_plan_of_assignment(L, (int[L]){ type, type, type });
    struct hps_team *team;

    for (int r = 1; r < hps_nrank(); r++)
        stage_of[r] = -1;
    plan->stage[0].units = 1;
    hps_cost_of(plan, p);
    hps_plan_name(plan, p);
    hps_team_new(&team, plan, stage_of, world);
    *step = (struct hps_step){ .plan = plan, .team = team };
    hps_mem_free(stage_of);
}

static void end(struct hps_step *step)
{
    hps_team_free((struct hps_team *)step->team);
    hps_plan_free((struct hps_plan *)step->plan);
}

/* Ten steps in which the stage computed `factor` times its promise, at `rate` examples/s; then the
 * type of the plan that all hear of, -1: it stays. */
static int window(struct hps_adapt *a, struct hps_step *step, double factor, double rate,
                  double left, MPI_Comm world)
{
    struct hps_cursor c = { .step = 100, .examples = 0 };
    struct hps_adapt_state now = { &c, left, 1 };
    struct hps_plan *plan;
    struct hps_profile *profile;

    hps_adapt_begin(a, step, &c);
    if (hps_adapt_ready(a, &c)) HPS_DIE("an empty window is ripe");
    step->busy_s += EXAMPLES * step->plan->stage[0].ct * factor;
    c.step += STEPS;
    c.examples += EXAMPLES;
    c.seconds += EXAMPLES / rate;
    if (!hps_adapt_ready(a, &c)) HPS_DIE("ten steps are not ripe");
    if (hps_adapt_evaluate(a, step, &now, &plan, &profile, world)) HPS_DIE("the look failed");
    if (!plan) return -1;
    int type = plan->stage[0].type, least, most;
    if (hps_plan_check(plan, profile, "told")) HPS_DIE("the plan does not fit what was told");
    HPS_MPI(MPI_Allreduce(&type, &least, 1, MPI_INT, MPI_MIN, world));
    HPS_MPI(MPI_Allreduce(&type, &most, 1, MPI_INT, MPI_MAX, world));
    if (least != most) HPS_DIE("two ranks heard of different plans");
    hps_plan_free(plan);
    hps_profile_free(profile);
    return type;
}

static void wanted(const char *what, int got, int want)
{
    if (got != want) HPS_DIE("%s: %d, wanted %d", what, got, want);
}

static void test(MPI_Comm world)
{
    struct hps_profile *p = a_profile();
    struct hps_adapt *a = hps_adapt_new(&sched, p, 300);
    struct hps_step on0, on1;

    begin(&on0, p, 0, world);
    begin(&on1, p, 1, world);
    wanted("as promised", window(a, &on0, 1, 100, 1e6, world), -1);
    wanted("half as slow again", window(a, &on0, 1.8, 100, 1e6, world), -1);
    wanted("too late", window(a, &on0, 20, 100, 10, world), -1);
    wanted("much slower", window(a, &on0, 20, 100, 1e6, world), 1);
    wanted("the model would go back", window(a, &on1, 12, 150, 1e6, world), -1);
    wanted("it was faster then", window(a, &on1, 12, 50, 1e6, world), 0);
    wanted("too new to be left", window(a, &on0, 400, 10, 1e6, world), -1);
    wanted("not any more", window(a, &on0, 400, 10, 1e6, world), 1);
    end(&on1);
    end(&on0);
    hps_adapt_free(a);
    hps_profile_free(p);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    test(world);
    return hps_end(HPS_OK);
}
