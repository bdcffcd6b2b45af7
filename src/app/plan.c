/* plan.c - the verb `plan`: which plan a profile asks for, and what it promises. */
#include <math.h>
#include <string.h>

#include "app/args.h"
#include "app/verbs.h"
#include "base/mem.h"
#include "plan/sched.h"

struct wish {
    const char *profile, *method, *seed, *json;
    struct hps_arg_list set;
};

/* A method or a seed that the command line names is wrong usage where the deck's would be a wrong
 * deck. */
static enum hps_status check_words(const struct wish *w)
{
    if (w->method && !hps_sched_find(w->method, NULL)) {
        HPS_SAY(HPS_ERROR, "heterps plan: '%s' is none of the methods %s", w->method,
                hps_sched_words());
        return HPS_USAGE;
    }
    if (w->seed && (*w->seed == 0 || strspn(w->seed, "0123456789") != strlen(w->seed))) {
        HPS_SAY(HPS_ERROR, "heterps plan: --seed %s is no whole number", w->seed);
        return HPS_USAGE;
    }
    return HPS_OK;
}

/* The sets of the command line, and --method and --seed as two more. */
static enum hps_status parse_sets(struct hps_deck **deck, const struct wish *w)
{
    char **set = hps_mem_new((size_t)w->set.n + 2, sizeof *set);
    int n = w->set.n, own = n;

    if (n > 0)
        memcpy(set, w->set.item, (size_t)n * sizeof *set);
    if (w->method)
        set[n++] = hps_mem_print("schedule.method=\"%s\"", w->method);
    if (w->seed)
        set[n++] = hps_mem_print("schedule.seed=%s", w->seed);
    static const char text[] = "schedule: {}\n";
    enum hps_status st = hps_deck_parse(deck, "--profile", text, sizeof text - 1, n, set);
    while (n > own)
        hps_mem_free(set[--n]);
    hps_mem_free(set);
    return st;
}

/* What plans: the schedule section alone. The limit is the profile's unless it is set. */
static enum hps_status bind(struct hps_sched_opt *opt, const struct hps_deck *deck,
                            const struct hps_profile *p)
{
    static const char *const sections[] = { "schedule", NULL };
    const struct hps_item *item;
    enum hps_status st = hps_deck_sections(deck, sections);

    if (!st) st = hps_deck_map(deck, "schedule", &item);
    if (!st) st = hps_deck_bind(deck, item, hps_sched_fields, NULL, NULL, opt);
    if (!st && *opt->profile)
        st = hps_deck_wrong(item, "profile", "--profile names the profile");
    if (!st && !hps_item_has(item, "throughput_limit"))
        opt->throughput_limit = p->throughput_limit;
    return st;
}

static enum hps_status show(const struct wish *w, const struct hps_plan *plan,
                            const struct hps_profile *p)
{
    bool alone = w->json && strcmp(w->json, "-") == 0;
    enum hps_status st = HPS_OK;

    if (!alone)
        hps_plan_print(plan, p);
    if (w->json)
        st = hps_args_json(w->json, hps_plan_text(plan));
    return st ? st : hps_out_flush();
}

/* Rank 0 reads; a profile file names its own pool, so nothing is measured and no rank is asked. */
static enum hps_status load(struct hps_profile **p, const char *path, MPI_Comm world)
{
    enum hps_status st = hps_rank() == 0 ? hps_profile_load(p, path) : HPS_OK;

    st = hps_agree(world, st);
    if (!st)
        hps_profile_bcast(p, world);
    return st;
}

static enum hps_status from_profile(const struct wish *w, MPI_Comm world)
{
    struct hps_sched_opt opt;
    struct hps_profile *p = NULL;
    struct hps_plan *plan = NULL;
    struct hps_deck *deck = NULL;
    enum hps_status st = parse_sets(&deck, w);

    if (!st) st = load(&p, w->profile, world);
    if (!st) st = bind(&opt, deck, p);
    if (!st) st = hps_sched_plan(&plan, p, &opt, world);
    if (!st) st = hps_agree(world, show(w, plan, p));
    hps_plan_free(plan);
    hps_profile_free(p);
    hps_deck_free(deck);
    return st;
}

enum hps_status hps_app_plan(int argc, char **argv, MPI_Comm world)
{
    struct wish w = { 0 };
    struct hps_arg_list operand = { 0, NULL };
    const struct hps_arg table[] = {
        { .name = "profile", .text = &w.profile }, { .name = "method", .text = &w.method },
        { .name = "seed", .text = &w.seed },       { .name = "json", .text = &w.json },
        { .name = "set", .list = &w.set },         { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 0, 0, &operand);

    if (!st && !w.profile) {
        HPS_SAY(HPS_ERROR, "heterps plan: wants --profile FILE");
        st = HPS_USAGE;
    }
    if (!st) st = check_words(&w);
    if (!st) st = from_profile(&w, world);
    hps_args_done(&operand);
    hps_args_done(&w.set);
    return st;
}
