#include "jobs/policy_opt.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what all have ---- */

struct common {
    const char *objective;
    double lease_seconds, rho_max, quantum_seconds;
};

static const struct hps_field common_fields[] = {
    HPS_CHOICE(common, objective, "jct", HPS_OBJECTIVE_WORDS,
               "what is to be least: the mean completion time, the end of all, the unfairness of "
               "finish times; `prices` decides by it, and --bound is of it"),
    { "lease_seconds", HPS_REAL, offsetof(struct common, lease_seconds), "auto", 0, 1e9, "auto",
      "s", "that a job keeps its configuration at least; auto: max(60, 20 restarts)" },
    HPS_FIELD(common, rho_max, HPS_REAL, "3", 0, 1e6, "",
              "a job that waited so many times what it takes alone on its share is next; 0: none"),
    HPS_FIELD(common, quantum_seconds, HPS_REAL, "360", 1e-3, 1e9, "s",
              "after which las, gittins and maxmin look again while jobs wait"),
    { 0 }
};

static enum hps_status set_common(struct hps_policy_opt *opt, const struct hps_item *item,
                                  const void *given)
{
    const struct common *c = given;

    (void)item;
    opt->objective = hps_objective_of(c->objective);
    opt->lease_s = c->lease_seconds;
    opt->rho_max = c->rho_max;
    opt->quantum_s = c->quantum_seconds;
    return HPS_OK;
}

/* ---- what some have ---- */

struct backfill {
    const char *kind;
};

static const struct hps_field backfill_fields[] = {
    HPS_CHOICE(backfill, kind, "easy", "easy|conservative",
               "easy: the head of the queue is not delayed; conservative: nobody in it is"),
    { 0 }
};

static enum hps_status set_backfill(struct hps_policy_opt *opt, const struct hps_item *item,
                                    const void *given)
{
    const struct backfill *b = given;

    (void)item;
    opt->conservative = strcmp(b->kind, "conservative") == 0;
    return HPS_OK;
}

struct tiresias {
    struct hps_list queues;
    const char *attained;
    double promote, tick;
};

static const struct hps_field tiresias_fields[] = {
    HPS_FIELD(tiresias, queues, HPS_LIST, "", 0, 0, "s",
              "the service at which a job leaves each queue for the next; none: 3250, 7200"),
    HPS_CHOICE(tiresias, attained, "gpu_time", "time|gpu_time",
               "service: seconds, or seconds times units"),
    HPS_FIELD(tiresias, promote, HPS_REAL, "0", 0, 1e6, "",
              "a job that waited so many times what it ran is in the first queue again; 0: never"),
    HPS_FIELD(tiresias, tick, HPS_REAL, "0", 0, 1e9, "s",
              "between looks at the queues; 0: just when a job leaves its own"),
    { 0 }
};

static enum hps_status set_tiresias(struct hps_policy_opt *opt, const struct hps_item *item,
                                    const void *given)
{
    const struct tiresias *t = given;
    double last = 0;

    opt->by_units = strcmp(t->attained, "gpu_time") == 0;
    opt->promote = t->promote;
    opt->tick_s = t->tick;
    opt->nqueue = t->queues.n > 0 ? t->queues.n : 2;
    opt->queue[0] = 3250;
    opt->queue[1] = 7200;
    if (t->queues.n > HPS_POLICY_QUEUES)
        return hps_deck_wrong(item, "queues", "%d queues at most", HPS_POLICY_QUEUES);
    for (int i = 0; i < t->queues.n; i++) {
        char *end;
        opt->queue[i] = strtod(t->queues.item[i], &end);
        if (end == t->queues.item[i] || *end || !(opt->queue[i] > last && opt->queue[i] < 1e15))
            return hps_deck_wrong(item, "queues", "'%s' is no service above %g",
                                  t->queues.item[i], last);
        last = opt->queue[i];
    }
    return HPS_OK;
}

struct gittins {
    double delta;
};

static const struct hps_field gittins_fields[] = {
    HPS_FIELD(gittins, delta, HPS_REAL, "0", 0, 1e15, "unit-seconds",
              "that the index looks ahead; 0: as far as is best for each job"),
    { 0 }
};

static enum hps_status set_gittins(struct hps_policy_opt *opt, const struct hps_item *item,
                                   const void *given)
{
    const struct gittins *g = given;

    (void)item;
    opt->gittins_delta = g->delta;
    return HPS_OK;
}

struct dl2 {
    int taught, tried, seed;
};

static const struct hps_field dl2_fields[] = {
    HPS_FIELD(dl2, taught, HPS_INT, "15", 0, 1e6, "episodes",
              "of 80 jobs each, in which it learns what drf does"),
    HPS_FIELD(dl2, tried, HPS_INT, "60", 0, 1e6, "episodes",
              "in which it then learns from what comes of choices: four of the same jobs each"),
    HPS_FIELD(dl2, seed, HPS_INT, "1", 0, 1e9, "", "of its network and its draws"),
    { 0 }
};

static enum hps_status set_dl2(struct hps_policy_opt *opt, const struct hps_item *item,
                               const void *given)
{
    const struct dl2 *d = given;

    (void)item;
    opt->dl2_taught = d->taught;
    opt->dl2_tried = d->tried;
    opt->dl2_seed = d->seed;
    return HPS_OK;
}

/* ---- the list ---- */

/* Anything that a group binds into. */
union given {
    struct common common;
    struct backfill backfill;
    struct tiresias tiresias;
    struct gittins gittins;
    struct dl2 dl2;
};

static const struct group {
    const char *name;           /* NULL: the section itself */
    const struct hps_field *fields;
    enum hps_status (*set)(struct hps_policy_opt *opt, const struct hps_item *item,
                           const void *given);
} groups[] = {
    { NULL, common_fields, set_common },
    { "backfill", backfill_fields, set_backfill },
    { "dl2", dl2_fields, set_dl2 },
    { "gittins", gittins_fields, set_gittins },
    { "tiresias", tiresias_fields, set_tiresias },
};

enum { GROUPS = sizeof groups / sizeof *groups, KEYS = 64 };

/* Names of groups, and names that the caller gave. */
static const char **names_of(const char *const *skip, const char **names)
{
    int n = 0;

    for (int i = 1; i < GROUPS; i++)
        names[n++] = groups[i].name;
    for (; skip && *skip && n < KEYS - 1; skip++)
        names[n++] = *skip;
    names[n] = NULL;
    return names;
}

enum hps_status hps_policy_opt_bind(struct hps_policy_opt *opt, const struct hps_deck *deck,
                                    const struct hps_item *item, const char *const *skip)
{
    const char *names[KEYS];
    enum hps_status st = HPS_OK;

    *opt = (struct hps_policy_opt){ 0 };
    for (int i = 0; i < GROUPS && !st; i++) {
        const struct hps_item *inner = item;
        union given given;
        if (groups[i].name) st = hps_item_map(item, groups[i].name, &inner);
        if (!st) st = hps_deck_bind(deck, inner, groups[i].fields, NULL,
                                    groups[i].name ? NULL : names_of(skip, names), &given);
        if (!st) st = groups[i].set(opt, inner, &given);
    }
    return st;
}

struct hps_policy_opt hps_policy_opt_preset(void)
{
    struct hps_policy_opt opt;

    hps_policy_opt_bind(&opt, NULL, NULL, NULL);        /* defaults are right */
    return opt;
}

const char *const *hps_policy_opt_keys(void)
{
    static const char *keys[KEYS];
    int n = 0;

    if (keys[0]) return keys;
    for (const struct hps_field *f = common_fields; f->name; f++)
        keys[n++] = f->name;
    for (int i = 1; i < GROUPS; i++)
        keys[n++] = groups[i].name;
    return keys;
}

void hps_policy_opt_print(enum hps_deck_form form)
{
    hps_deck_print_table(form, false, common_fields);
    for (int i = 1; i < GROUPS; i++) {
        char head[64];
        snprintf(head, sizeof head, "%s: {...}", groups[i].name);
        hps_deck_print_group(form, head, "parameters of this policy");
        hps_deck_print_table(form, true, groups[i].fields);
    }
}
