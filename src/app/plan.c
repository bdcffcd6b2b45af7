/* plan.c - the verb `plan`: the plan for a profile or a deck, and what it promises. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/plan_script.h"
#include "app/verbs.h"
#include "base/json.h"
#include "base/launch.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/page.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "life/watch.h"
#include "plan/compare.h"
#include "plan/pareto.h"
#include "plan/runner_up.h"
#include "step/wait_for.h"

struct request {
    const char *profile, *method, *seed, *json, *script, *pareto, *keep;
    struct hps_arg_list set;
};

/* The word for a comparison of all methods; decks do not have it. */
static bool wants_all(const struct request *w)
{
    return w->method && strcmp(w->method, "all") == 0;
}

/* A bad method or seed on the command line is HPS_USAGE, in a deck HPS_DECK. */
static enum hps_status check_words(const struct request *w)
{
    if (w->method && !wants_all(w) && !hps_sched_find(w->method, NULL)) {
        HPS_SAY(HPS_ERROR, "heterps plan: '%s' is none of the methods all|%s", w->method,
                hps_sched_words());
        return HPS_USAGE;
    }
    if (w->seed && (*w->seed == 0 || strspn(w->seed, "0123456789") != strlen(w->seed))) {
        HPS_SAY(HPS_ERROR, "heterps plan: --seed %s is no whole number", w->seed);
        return HPS_USAGE;
    }
    if (wants_all(w) && (w->script || w->pareto)) {
        HPS_SAY(HPS_ERROR, "heterps plan: --%s is for one method, not for all",
                w->script ? "sbatch" : "pareto");
        return HPS_USAGE;
    }
    if (w->profile && w->script) {
        HPS_SAY(HPS_ERROR, "heterps plan: --sbatch wants a deck: a profile cannot be trained");
        return HPS_USAGE;
    }
    if (w->keep && (w->profile || wants_all(w))) {
        HPS_SAY(HPS_ERROR, "heterps plan: --keep-profile is for a deck and one method");
        return HPS_USAGE;
    }
    return HPS_OK;
}

/* Check beforehand that the outputs can be written. */
static enum hps_status name_outputs(struct request *w, MPI_Comm world)
{
    enum hps_status st = hps_outputs_add("sbatch", &w->script, HPS_OUTPUT_NEW);

    if (!st) st = hps_outputs_add("pareto", &w->pareto, HPS_OUTPUT_NEW);
    if (!st) st = hps_outputs_add("json", &w->json, HPS_OUTPUT_ANY);
    if (!st) st = hps_outputs_add("keep-profile", &w->keep, HPS_OUTPUT_NEW);
    return hps_agree(world, st);
}

/* The --set arguments, with --method and --seed appended as two more. */
struct sets {
    int n, nborrowed; /* those from `nborrowed` on are to free */
    char **item;
};

static struct sets sets_of(const struct request *w)
{
    struct sets s = { w->set.n, w->set.n, hps_mem_new((size_t)w->set.n + 2, sizeof(char *)) };

    if (s.n > 0) memcpy(s.item, w->set.item, (size_t)s.n * sizeof *s.item);
    if (w->method && !wants_all(w))
        s.item[s.n++] = hps_mem_print("schedule.method=\"%s\"", w->method);
    if (w->seed) s.item[s.n++] = hps_mem_print("schedule.seed=%s", w->seed);
    return s;
}

static void free_sets(struct sets *s)
{
    while (s->n > s->nborrowed)
        hps_mem_free(s->item[--s->n]);
    hps_mem_free(s->item);
}

/* With --profile, make a deck of the names of its types and the sets. */
static enum hps_status parse_sets(struct hps_deck **deck, const struct request *w,
                                  const struct hps_profile *p)
{
    struct hps_page text = { 0 };
    struct sets s = sets_of(w);

    hps_page_add(&text, "schedule: {}\nresources:\n");
    for (int t = 0; t < p->T; t++) {
        json_t *name = json_string(p->type[t].name);
        char *quoted = json_dumps(name, JSON_ENCODE_ANY);
        hps_page_add(&text, "  - {name: %s}\n", quoted);
        free(quoted);
        json_decref(name);
    }
    enum hps_status st = hps_deck_parse(deck, "--profile", text.at, text.n, s.n, s.item);
    hps_mem_free(text.at);
    free_sets(&s);
    return st;
}

/* Check what --set changes in a type of a recorded profile. */
struct what_if {
    const char *name;
    double price_usd_hour, memory;
    long long limit;
};
static const struct hps_field what_if_fields[] = {
    HPS_FIELD(what_if, name, HPS_TEXT, "\"\"", 0, 0, "", "of the type"),
    HPS_FIELD(what_if, price_usd_hour, HPS_REAL, "0", 0, 1e6, "USD", "an hour of a unit"),
    HPS_FIELD(what_if, memory, HPS_REAL, "0", 0, 1e18, "bytes", "of a unit; 0: unchecked"),
    HPS_FIELD(what_if, limit, HPS_LONG, "1", 1, 1e9, "units", "that there are"),
    { 0 }
};

static enum hps_status apply_what_if(struct hps_profile *p, const struct hps_deck *deck)
{
    const struct hps_item *const *item;
    int n = 0;
    enum hps_status st = hps_deck_entries(deck, "resources", &n, &item);

    for (int t = 0; t < p->T && !st; t++) {
        struct what_if x;
        st = hps_deck_bind(deck, item[t], what_if_fields, NULL, NULL, &x);
        if (st) break;
        if (hps_item_has(item[t], "price_usd_hour")) p->type[t].price_usd_hour = x.price_usd_hour;
        if (hps_item_has(item[t], "memory")) p->type[t].memory_bytes = x.memory;
        if (hps_item_has(item[t], "limit")) p->type[t].limit = x.limit;
    }
    return st ? st : hps_profile_check(p, "--profile with its --set");
}

/* The schedule section. The throughput limit is the profile's unless it is set. */
static enum hps_status bind(struct hps_sched_opt *opt, const struct hps_deck *deck,
                            const struct hps_profile *p)
{
    static const char *const sections[] = { "schedule", "resources", NULL };
    const struct hps_item *item;
    enum hps_status st = hps_deck_sections(deck, sections);

    if (!st) st = hps_deck_map(deck, "schedule", &item);
    if (!st) st = hps_deck_bind(deck, item, hps_sched_fields, NULL, NULL, opt);
    if (!st && *opt->profile) st = hps_deck_wrong(item, "profile", "--profile names the profile");
    if (!st && !hps_item_has(item, "throughput_limit")) opt->throughput_limit = p->throughput_limit;
    return st;
}

/* The curve of cost against throughput, as a plot and in `tree`. */
static enum hps_status draw(const struct request *w, const struct hps_profile *p,
                            const struct hps_sched_opt *opt, json_t *tree)
{
    struct hps_pareto *pareto;
    enum hps_status st = hps_pareto_run(&pareto, p, opt);

    if (!st) {
        char *svg = hps_pareto_svg(pareto);
        json_object_set_new(tree, "pareto", hps_pareto_tree(pareto));
        st = hps_json_write(w->pareto, svg);
        hps_mem_free(svg);
    }
    hps_pareto_free(pareto);
    return st;
}

/* The number of searches of a curve. */
enum { PARETO_SEARCHES = 4 };

/* On rank 0 alone: the other ranks do not need the alternatives. */
static enum hps_status show(const struct request *w, const struct hps_plan *plan,
                            const struct hps_profile *p, const struct hps_sched_opt *opt)
{
    bool alone = w->json && strcmp(w->json, "-") == 0;
    enum hps_status st = HPS_OK;

    hps_job_search(opt, w->pareto ? PARETO_SEARCHES : 1);
    if (hps_rank() != 0) return HPS_OK;
    struct hps_runner_up *runner = hps_runner_up_new(plan, p, opt);
    if (!alone) {
        hps_plan_print(plan, p);
        hps_runner_up_print(runner);
    }
    json_t *tree = hps_runner_up_tree(runner);
    if (w->pareto) st = draw(w, p, opt, tree);
    char *text = hps_json_text(tree);
    if (w->json && !st) st = hps_args_json(w->json, hps_mem_text(text));
    hps_mem_free(text);
    hps_runner_up_free(runner);
    return st ? st : hps_out_flush();
}

static enum hps_status show_all(const struct request *w, const struct hps_compare *all)
{
    bool alone = w->json && strcmp(w->json, "-") == 0;
    enum hps_status st = HPS_OK;

    if (!alone) hps_compare_print(all);
    if (w->json) st = hps_args_json(w->json, hps_compare_text(all));
    return st ? st : hps_out_flush();
}

/* Rank 0 searches while the others sleep, since no rank uses these plans. */
static enum hps_status compare(const struct request *w, const struct hps_profile *p,
                               const struct hps_sched_opt *opt, MPI_Comm world)
{
    struct hps_compare *all = NULL;
    enum hps_status st = HPS_OK;
    int n = p->T; /* methods, at most: `single` is one for each type */

    while (hps_sched_at(n - p->T))
        n++;
    hps_job_search(opt, n);
    if (hps_rank() == 0) {
        st = hps_compare_run(&all, p, opt);
        if (!st) st = show_all(w, all);
        hps_compare_free(all);
    }
    hps_barrier_sleeping(world);
    return hps_agree(world, st);
}

/* Without a deck there is no run.stall_seconds. */
static enum hps_status watch(const struct hps_deck *deck, MPI_Comm world)
{
    struct hps_run_opt run;
    const struct hps_item *item;
    enum hps_status st = hps_deck_map(deck, "run", &item);

    if (!st) st = hps_deck_bind(deck, item, hps_run_fields, NULL, NULL, &run);
    if (!st) hps_watch_begin(run.stall_seconds, NULL, &hps_wait_for_regions, world);
    hps_launch_end();
    return st;
}

/* Rank 0 reads the profile, which has its own pool, so that nothing is measured. */
static enum hps_status load(struct hps_profile **p, const char *path, MPI_Comm world)
{
    enum hps_status st = hps_rank() == 0 ? hps_profile_load(p, path) : HPS_OK;

    st = hps_agree(world, st);
    if (!st) hps_profile_bcast(p, world);
    return st;
}

static enum hps_status from_profile(const struct request *w, MPI_Comm world)
{
    struct hps_sched_opt opt;
    struct hps_profile *p = NULL;
    struct hps_plan *plan = NULL;
    struct hps_deck *deck = NULL;
    enum hps_status st = load(&p, w->profile, world);

    if (!st) st = parse_sets(&deck, w, p);
    if (!st) st = watch(deck, world);
    if (!st) st = apply_what_if(p, deck);
    if (!st) st = bind(&opt, deck, p);
    if (!st) hps_job_search(&opt, 1);
    if (!st && wants_all(w)) {
        st = compare(w, p, &opt, world);
    } else {
        if (!st) st = hps_sched_plan(&plan, p, &opt, world);
        if (!st) st = show(w, plan, p, &opt);
        hps_barrier_sleeping(world);
        st = hps_agree(world, st);
    }
    hps_watch_leave();
    hps_plan_free(plan);
    hps_profile_free(p);
    hps_deck_free(deck);
    return st;
}

/* From a deck: probe and measure this pool (or use the recorded profile), without a training.
 * Types may have as many units as the deck allows, not only the present ranks. */
static enum hps_status from_deck(const struct request *w, const char *path, MPI_Comm world)
{
    struct hps_job job = { .world = world };
    struct sets s = sets_of(w);
    enum hps_status st = hps_job_deck(&job, path, s.n, s.item);

    if (!st) hps_job_watch(&job);
    if (!st) st = hps_job_data(&job);
    if (!st) st = hps_job_hardware(&job);
    if (!st && wants_all(w)) {
        st = hps_job_profile(&job, false);
        if (!st) st = compare(w, job.profile, &job.o.sched, world);
    } else {
        if (!st) st = hps_job_plan(&job, NULL, false);
        if (!st) st = show(w, job.plan, job.profile, &job.o.sched);
        if (!st && w->script && hps_rank() == 0)
            st = hps_plan_script(w->script, &job, path, s.n, s.item);
        if (!st && w->keep && hps_rank() == 0) st = hps_profile_save(job.profile, w->keep);
        hps_barrier_sleeping(world);
        st = hps_agree(world, st);
    }
    hps_watch_leave();
    hps_job_close(&job);
    free_sets(&s);
    return st;
}

enum hps_status hps_app_plan(int argc, char **argv, MPI_Comm world)
{
    struct request w = { 0 };
    struct hps_arg_list operand = { 0, NULL };
    const struct hps_arg table[] = {
        { .name = "profile", .text = &w.profile }, { .name = "method", .text = &w.method },
        { .name = "seed", .text = &w.seed },       { .name = "json", .text = &w.json },
        { .name = "set", .list = &w.set },         { .name = "sbatch", .text = &w.script },
        { .name = "pareto", .text = &w.pareto },   { .name = "keep-profile", .text = &w.keep },
        { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 0, 1, &operand);

    if (!st && !w.profile == !operand.n) {
        HPS_SAY(HPS_ERROR, "heterps plan: wants a deck, or --profile FILE");
        st = HPS_USAGE;
    }
    if (!st) st = check_words(&w);
    if (!st) st = name_outputs(&w, world);
    if (!st) st = w.profile ? from_profile(&w, world) : from_deck(&w, operand.item[0], world);
    hps_args_done(&operand);
    hps_args_done(&w.set);
    return st;
}
