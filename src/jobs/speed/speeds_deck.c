/* speeds_deck.c - what a job's deck, and its run so far, say of its speed. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "data/data.h"
#include "hw/pool.h"
#include "jobs/speed/speeds_impl.h"
#include "life/rundir.h"
#include "net/opt.h"
#include "plan/sched.h"

/* ---- the hash ---- */

static bool is_in(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return (hash ^ '\n') * 1099511628211u;
}

/* A section without the keys that say nothing of its speed. */
static uint64_t mix_section(uint64_t hash, const struct hps_item *section, const char *const *skip)
{
    for (int i = 0; i < hps_item_count(section); i++) {
        const char *key;
        const struct hps_item *item = hps_item_at(section, i, &key);
        if (key && is_in(skip, key)) continue;
        char *yaml = hps_item_yaml(item);
        hash = mix(mix(hash, key ? key : "-"), yaml);
        hps_mem_free(yaml);
    }
    return hash;
}

static uint64_t hash_of(const struct hps_deck *deck)
{
    static const char *const sections[] = { "data", "model", "train", "resources", "storage",
                                            NULL };
    static const char *const skip[] = {
        "learning_rate", "table_learning_rate", "epochs", "steps", "staleness_rate", "record",
        "interleaving", "momentum", "nesterov", "beta1", "beta2", "epsilon", "initial_accumulator",
        "ftrl_beta", "l1", "l2", "warmup_steps", "decay", "decay_to", "decay_steps",
        "eval_interval_steps", "log_interval_seconds", "test", NULL };
    const struct hps_item *root = hps_deck_root(deck);
    uint64_t hash = 14695981039346656037u;

    for (int i = 0; sections[i]; i++)
        hash = mix_section(mix(hash, sections[i]), hps_item_under(root, sections[i]), skip);
    return hash;
}

/* ---- the deck ---- */

static enum hps_status bind(const struct hps_deck *deck, const char *section,
                            const struct hps_field *fields, void *into)
{
    const struct hps_item *item;
    enum hps_status st = hps_deck_map(deck, section, &item);

    return st ? st : hps_deck_bind(deck, item, fields, NULL, NULL, into);
}

enum hps_status hps_speed_deck_load(struct hps_speed_deck *d, const struct hps_list_job *job)
{
    struct hps_sched_opt sched;
    struct hps_run_opt run;
    struct hps_data_opt data;
    struct hps_train_opt train;

    *d = (struct hps_speed_deck){ 0 };
    enum hps_status st = hps_deck_load(&d->deck, job->deck, job->nset, job->set, MPI_COMM_NULL);
    if (!st) st = bind(d->deck, "schedule", hps_sched_fields, &sched);
    if (!st) st = bind(d->deck, "run", hps_run_fields, &run);
    if (!st) st = bind(d->deck, "data", hps_data_fields, &data);
    if (!st) st = bind(d->deck, "train", hps_train_fields, &train);
    if (st) return st;
    d->profile = *sched.profile ? hps_mem_text(sched.profile) : NULL;
    d->run = hps_rundir_path(&run);
    d->hash = hash_of(d->deck);
    d->batch = data.batch;
    d->microbatches = data.microbatches;
    d->epochs = train.epochs;
    d->steps = train.steps;
    d->workers = train.workers;
    return HPS_OK;
}

void hps_speed_deck_done(struct hps_speed_deck *d)
{
    hps_mem_free(d->profile);
    hps_mem_free(d->run);
    hps_deck_free(d->deck);
}

double hps_speed_deck_examples(const struct hps_speed_deck *d, double N)
{
    long long batch = (double)d->batch > N ? (long long)N : d->batch;
    struct hps_steps steps = hps_steps_of((long long)N, batch, d->microbatches, d->epochs,
                                          d->steps);

    steps.W = d->workers;
    return hps_steps_examples(&steps);
}

enum hps_status hps_speed_deck_limits(const struct hps_speed_deck *d, const struct hps_profile *p,
                                      long long *limit)
{
    struct hps_pool_opt opt;
    enum hps_status st = hps_pool_bind(&opt, d->deck);

    for (int t = 0; t < p->T && !st; t++) {
        limit[t] = 0;
        for (int i = 0; i < opt.n; i++)
            if (strcmp(opt.entry[i].name, p->type[t].name) == 0) limit[t] = opt.entry[i].limit;
    }
    hps_pool_opt_done(&opt);
    return st;
}

/* ---- the run ---- */

static char *path_of(const char *directory, const char *name)
{
    return hps_mem_print("%s/%s", directory, name);
}

bool hps_speed_deck_ran(const struct hps_speed_deck *d, const char *directory)
{
    char *path = path_of(directory, "deck.yaml");
    struct hps_deck *deck = NULL;
    bool same = access(path, R_OK) == 0 &&
                hps_deck_load(&deck, path, 0, NULL, MPI_COMM_NULL) == HPS_OK &&
                hash_of(deck) == d->hash;

    hps_deck_free(deck);
    hps_mem_free(path);
    return same;
}
