/* job.c - builds, from a deck, all that a training or an evaluation needs. */
#include "app/job.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "app/servers.h"
#include "base/clock.h"
#include "base/deck_lines.h"
#include "base/launch.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"
#include "hw/other_load.h"
#include "life/stop.h"
#include "life/watch.h"
#include "plan/budget.h"
#include "plan/cost.h"
#include "profile/measure.h"
#include "step/wait_for.h"
#include "train/ckpt_try.h"

/* Seconds that measuring may take beyond run.stall_seconds. */
enum { MEASURE_S = 120 };
/* For a test write to a sleeping disk. */
enum { TRY_S = 60 };

enum hps_status hps_job_deck(struct hps_job *j, const char *deck, int nset, char *const *set)
{
    return hps_options_load(&j->o, deck, nset, set, j->world);
}

void hps_job_watch(struct hps_job *j)
{
    hps_watch_begin(j->o.run.stall_seconds, j->dir.path ? &j->dir : NULL, &hps_wait_for_regions,
                    j->world);
    hps_launch_end();
}

/* Warn of what an evaluation does otherwise than the training. */
static void warn_unlike(const struct hps_data *a, const struct hps_data *b)
{
    if (a->constants && b->constants && a->constants != b->constants)
        HPS_SAY(HPS_WARN, "the dense features of %s and %s are scaled by other constants: import "
                          "the test file with --scaling", a->path, b->path);
    if (a->rule && b->rule && a->rule != b->rule)
        HPS_SAY(HPS_WARN, "the labels of %s and %s are made in other ways (heterps info tells)",
                a->path, b->path);
}

/* Both datasets must have the same shape, since the net is made for both. */
static enum hps_status same_columns(const struct hps_data *a, const struct hps_data *b)
{
    bool same = a->D == b->D && a->nslot == b->nslot;
    for (int i = 0; same && i < a->nslot; i++)
        same = strcmp(a->slot[i].name, b->slot[i].name) == 0 &&
               a->slot[i].buckets == b->slot[i].buckets;
    if (same) {
        warn_unlike(a, b);
        return HPS_OK;
    }
    HPS_SAY(
        HPS_ERROR,
        "%s and %s do not have the same dense features and slots: import the test file with the "
        "constants of the train file",
        a->path, b->path);
    return HPS_DECK;
}

static double flops_of(const struct hps_net *net)
{
    double sum = 0;
    for (int l = 0; l < net->L; l++)
        sum += net->layer[l].type->flops(&net->layer[l], net);
    return sum;
}

/* A batch larger than the dataset is the dataset. */
static void fit_batch(struct hps_job *j)
{
    if (j->o.data.batch <= j->train->N) return;
    HPS_SAY(HPS_INFO, "data.batch is %lld, there are %lld examples: one batch has them all",
            j->o.data.batch, j->train->N);
    j->o.data.batch = j->train->N;
    if (j->o.data.microbatches > j->train->N) j->o.data.microbatches = (int)j->train->N;
}

/* Check consistency between sections of the deck. */
static enum hps_status suits(const struct hps_job *j)
{
    const struct hps_options *o = &j->o;
    const struct hps_item *train;
    enum hps_status st = hps_deck_map(o->deck, "train", &train);
    if (!st) st = hps_net_check_optimizers(j->net, &o->train, train);
    long long n = o->data.batch, M = o->data.microbatches;
    return st ? st : hps_net_check_rows(j->net, n / M, (n + M - 1) / M);
}

enum hps_status hps_job_data(struct hps_job *j)
{
    const struct hps_options *o = &j->o;
    const struct hps_list *test = &o->data.test;
    hps_watch_phase("opening the data", 0);
    enum hps_status st = hps_data_open_all(&j->train, &o->data.train, j->world);
    if (!st && test->n > 0 && *test->item[0]) st = hps_data_open_all(&j->test, test, j->world);
    if (!st && j->test) st = same_columns(j->train, j->test);
    if (!st) fit_batch(j);
    if (!st) st = hps_agree(j->world, hps_net_new(&j->net, o->deck, j->train));
    if (!st) st = hps_agree(j->world, suits(j));
    if (st) return st;
    j->steps = hps_steps_of(j->train->N, o->data.batch, o->data.microbatches, o->train.epochs,
                            o->train.steps);
    j->steps.W = o->train.workers;
    char *order = hps_data_order_text(j->train, &o->data);
    j->shape = hps_ckpt_shape(j->net, &j->steps, &o->train, (uint64_t)o->run.seed, order);
    hps_mem_free(order);
    j->course = hps_ckpt_course(o->deck, &o->train, &j->steps);
    j->flops_example = flops_of(j->net);
    return HPS_OK;
}

/* Seconds to make groups of GPUs, one after the other in each type. */
static double open_s(const struct hps_job *j)
{
    double s = 0;

    for (int t = 0; j->pool && t < j->pool->T; t++)
        if (j->pool->type[t].gpu) s += HPS_NCCL_OPEN_S;
    return s;
}

/* ---- the plan ---- */

/* All that the plan depends on as a text: equal texts give equal plans. It has the deck's own
 * lines, without keys that do not affect a plan or are in the shape. */
static char *planning_text(const struct hps_job *j)
{
    static const char *const skip[] = { "data.train", "data.test", "data.batch", "data.shuffle",
                                        "data.prefetch", "schedule.replan",
                                        "schedule.replan_margin", NULL };
    char *data = hps_deck_lines(j->o.deck, "data", hps_data_fields, skip);
    char *schedule = hps_deck_lines(j->o.deck, "schedule", hps_sched_fields, skip);
    const struct hps_message_opt *m = &j->o.storage.messages;
    char *text = hps_mem_print("%sprecision %s, of messages %s %s %s %s %g %s, rows %s %s, "
                               "%.0f servers of type %d, %s, %d workers, %.0f bytes of rows\n%s%s",
                               j->shape, hps_dev_precision_word(j->dev.precision), m->rows,
                               m->gradients, m->activations, m->dense,
                               hps_storage_dense_share(&j->o.storage), m->ids,
                               j->o.storage.rows, j->o.storage.states, j->o.storage.servers,
                               j->server_type,
                               j->o.train.synchronization, j->o.train.workers,
                               j->memory_auto ? INFINITY : j->o.storage.host_memory, data,
                               schedule);

    hps_mem_free(data);
    hps_mem_free(schedule);
    for (int t = 0; t < j->pool->T; t++) {
        const struct hps_type *y = &j->pool->type[t];
        char *more = hps_mem_print("%s%s %s %s %d %d %.17g %lld %.17g %.17g\n", text, y->name,
                                   y->node.cpu, y->node.gpu, y->node.threads, y->nrank,
                                   y->price_usd_hour, y->limit, y->memory_bytes, y->slow);
        hps_mem_free(text);
        text = more;
    }
    return text;
}

static struct hps_measure_opt measure_opt(const struct hps_job *j, bool present)
{
    double examples = hps_steps_examples(&j->steps);

    return (struct hps_measure_opt){ .train = &j->o.train,
                                     .data = j->train,
                                     .batch = j->o.data.batch,
                                     .microbatches = j->o.data.microbatches,
                                     .workers = j->o.train.workers,
                                     .shuffle = j->o.data.shuffle,
                                     .examples = j->train->N,
                                     .epochs = examples / (double)j->train->N,
                                     .throughput_limit = j->o.sched.throughput_limit,
                                     .present = present,
                                     .storage = &j->o.measured,
                                     .files = &j->o.storage,
                                     .max_rows_bytes = j->o.storage.host_memory,
                                     .prefetch = j->o.data.prefetch,
                                     .server_type = j->server_type,
                                     .servers = j->o.storage.servers };
}

/* Is a recorded profile of this net and this pool? */
static enum hps_status fits(const struct hps_profile *p, const struct hps_job *j)
{
    const char *from = j->o.sched.profile;
    if (p->L != j->net->L || p->T != j->pool->T) {
        HPS_SAY(HPS_ERROR,
                "%s is of %d layers and %d types, the deck has %d layers, the pool %d types", from,
                p->L, p->T, j->net->L, j->pool->T);
        return HPS_DECK;
    }
    for (int l = 0; l < p->L; l++)
        if (strcmp(p->layer[l].name, j->net->layer[l].name) != 0) {
            HPS_SAY(HPS_ERROR, "%s: layer %d is '%s', in the deck it is '%s'", from, l,
                    p->layer[l].name, j->net->layer[l].name);
            return HPS_DECK;
        }
    for (int t = 0; t < p->T; t++)
        if (strcmp(p->type[t].name, j->pool->type[t].name) != 0) {
            HPS_SAY(HPS_ERROR, "%s: type %d is '%s', in the pool it is '%s'", from, t,
                    p->type[t].name, j->pool->type[t].name);
            return HPS_DECK;
        }
    return HPS_OK;
}

static enum hps_status recorded(struct hps_job *j, const struct hps_measure_opt *m)
{
    enum hps_status st = HPS_OK;
    if (hps_rank() == 0) {
        st = hps_profile_load(&j->profile, j->o.sched.profile);
        if (!st) st = fits(j->profile, j);
    }
    st = hps_agree(j->world, st);
    if (st) return st;
    hps_profile_bcast(&j->profile, j->world);
    hps_measure_types(j->profile, j->pool,
                      m); /* prices and limits are current */
    j->profile->examples = (double)m->examples;
    j->profile->epochs = m->epochs;
    j->profile->throughput_limit = m->throughput_limit;
    return HPS_OK;
}

/* Is the profile of the present types? A start with another pool and nothing left to train may have
 * written its own, without a checkpoint. */
static bool of_today(struct hps_profile *p, const struct hps_pool *pool,
                     const struct hps_measure_opt *m)
{
    if (p->T != pool->T) return false;
    bool same = p->workers == m->workers;
    struct hps_profile_type *then = hps_mem_new((size_t)p->T, sizeof *then);
    memcpy(then, p->type, (size_t)p->T * sizeof *then);
    hps_measure_types(p, pool, m);
    for (int t = 0; t < p->T; t++)
        same &= strcmp(then[t].name, p->type[t].name) == 0 && then[t].limit == p->type[t].limit &&
                then[t].price_usd_hour == p->type[t].price_usd_hour;
    hps_mem_free(then);
    return same;
}

/* Load the run directory's profile and plan, if they are valid. The same result on all ranks. */
static bool kept(struct hps_job *j, bool present)
{
    struct hps_measure_opt m = measure_opt(j, present);
    bool ok = false;
    if (hps_rank() == 0) {
        char *profile = hps_rundir_file(&j->dir, "profile.json"),
             *plan = hps_rundir_file(&j->dir, "plan.json");
        ok = access(profile, R_OK) == 0 && access(plan, R_OK) == 0 &&
             hps_profile_load(&j->profile, profile) == HPS_OK &&
             of_today(j->profile, j->pool, &m) &&
             hps_plan_load(&j->plan, plan) == HPS_OK &&
             hps_plan_check(j->plan, j->profile, plan) == HPS_OK;
        hps_mem_free(profile);
        hps_mem_free(plan);
    }
    int verdict = ok;
    HPS_MPI(MPI_Bcast(&verdict, 1, MPI_INT, 0, j->world));
    if (verdict) {
        hps_profile_bcast(&j->profile, j->world);
        hps_plan_bcast(&j->plan, j->world);
        hps_cost_of(j->plan, j->profile);
        return true;
    }
    hps_profile_free(j->profile);
    hps_plan_free(j->plan);
    j->profile = NULL;
    j->plan = NULL;
    return false;
}

void hps_job_search(const struct hps_sched_opt *opt, int n)
{
    hps_watch_phase("planning", opt->seconds > 0 ? 3 * n * opt->seconds : INFINITY);
}

/* With the servers' type. */
static enum hps_status make_profile(struct hps_job *j, bool present)
{
    struct hps_measure_opt m = measure_opt(j, present);

    hps_watch_phase("measuring", MEASURE_S + open_s(j));
    if (j->o.sched.profile[0]) return recorded(j, &m);
    struct hps_other_load began = hps_other_load_begin(j->pool, j->world);
    enum hps_status st = hps_measure_profile(&j->profile, j->net, j->pool, &j->dev, &m, j->world);
    hps_other_load_end(&began, j->pool,
                       "while layers were measured: what is promised is for such a machine",
                       j->world);
    return st;
}

enum hps_status hps_job_profile(struct hps_job *j, bool present)
{
    enum hps_status st = hps_job_server_type(&j->server_type, j, present);

    return st ? st : make_profile(j, present);
}

/* After a search that a request to stop cut short, the plan may be far from the best, so the
 * planning text is cleared and the next start searches again. Where no plan was found, the
 * status is HPS_AGAIN. Collective. */
static enum hps_status cut_short(struct hps_job *j, enum hps_status st)
{
    int mine = hps_budget_stopped(), cut;     /* the request may have reached one rank alone */

    HPS_MPI(MPI_Allreduce(&mine, &cut, 1, MPI_INT, MPI_MAX, j->world));
    if (!cut) return st;
    hps_mem_free(j->planning);
    j->planning = hps_mem_text("cut short\n");
    const char *why = hps_stop_requested();
    HPS_SAY(HPS_INFO, "the search for a plan was cut short: %s", why ? why : "a wish to stop");
    return st == HPS_DECK ? HPS_AGAIN : st;
}

/* How long will the last checkpoint take, for which a run waits? */
static enum hps_status try_disk(struct hps_job *j)
{
    struct hps_ckpt_size size = { hps_ckpt_bytes(j->net, &j->o.train), j->net->L + j->net->ntable };

    if (!j->trains) return HPS_OK;
    hps_watch_phase("trying the disk", TRY_S);
    return hps_ckpt_try(&j->o.ckpt, &j->dir, size, &j->save_s, j->world);
}

enum hps_status hps_job_plan(struct hps_job *j, const char *old, bool present)
{
    enum hps_status st = hps_job_server_type(&j->server_type, j, present);

    if (st) return st;
    j->planning = planning_text(j);
    j->kept = old && strcmp(old, j->planning) == 0 && kept(j, present);
    if (j->kept) {
        HPS_SAY(HPS_INFO, "the plan is kept: deck and pool are as they were");
        return try_disk(j);
    }
    st = make_profile(j, present);
    if (!st) st = try_disk(j);
    if (!st) j->profile->engine.run_s = j->save_s;
    hps_job_search(&j->o.sched, 1);
    return st ? st : cut_short(j, hps_sched_plan(&j->plan, j->profile, &j->o.sched, j->world));
}

void hps_job_plan_one_stage(struct hps_job *j)
{
    int *assignment = hps_mem_new((size_t)j->net->L, sizeof *assignment);
    j->plan = hps_plan_of_assignment(j->net->L, assignment);
    j->plan->stage[0].units = hps_nrank();
    j->stage_of = hps_mem_new((size_t)hps_nrank(), sizeof *j->stage_of);
    hps_mem_free(assignment);
}

enum hps_status hps_job_build(struct hps_job *j, bool training)
{
    struct hps_step_opt opt = { &j->o.train, &j->o.storage, j->steps, (uint64_t)j->o.run.seed,
                                training };
    enum hps_status st = HPS_OK;
    double t0 = hps_now_s(), make_s = hps_ckpt_bytes(j->net, &j->o.train) / HPS_CKPT_BYTES_S;

    hps_watch_phase("making the tables", make_s + open_s(j));
    if (!j->stage_of) {
        j->stage_of = hps_mem_new((size_t)j->pool->R, sizeof *j->stage_of);
        st = hps_plan_place(j->plan, j->pool->R, j->pool->type_of, j->stage_of);
    }
    if (!st) st = hps_team_new(&j->team, j->plan, j->stage_of, j->world);
    if (!st) st = hps_step_new(&j->step, &opt, j->net, j->plan, j->team, &j->dev);
    j->made_s = hps_now_s() - t0;
    return st;
}

enum hps_status hps_job_save_plan(struct hps_job *j)
{
    enum hps_status st = HPS_OK;
    if (hps_rank() == 0) {
        char *profile = hps_rundir_file(&j->dir, "profile.json"),
             *plan = hps_rundir_file(&j->dir, "plan.json");
        st = hps_profile_save(j->profile, profile);
        if (!st) st = hps_plan_save(j->plan, plan);
        hps_mem_free(profile);
        hps_mem_free(plan);
    }
    return hps_agree(j->world, st);
}

enum hps_status hps_job_adopt(struct hps_job *j, struct hps_plan *plan,
                              struct hps_profile *profile)
{
    hps_step_free(j->step);
    hps_team_free(j->team);
    hps_mem_free(j->stage_of);
    hps_plan_free(j->plan);
    hps_profile_free(j->profile);
    j->step = NULL;
    j->team = NULL;
    j->stage_of = NULL;
    j->plan = plan;
    j->profile = profile;
    return hps_job_build(j, true);
}

void hps_job_close(struct hps_job *j)
{
    hps_step_free(j->step);
    hps_team_free(j->team);
    hps_mem_free(j->stage_of);
    hps_plan_free(j->plan);
    hps_profile_free(j->profile);
    hps_pool_free(j->pool);
    hps_count_end();
    if (j->dev.ops) j->dev.ops->close(&j->dev);
    hps_net_free(j->net);
    hps_data_close(j->test);
    hps_data_close(j->train);
    hps_rundir_close(&j->dir);
    hps_mem_free(j->shape);
    hps_mem_free(j->course);
    hps_mem_free(j->planning);
    hps_options_done(&j->o);
}
