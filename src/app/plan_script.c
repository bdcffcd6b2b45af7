#include "app/plan_script.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/page.h"
#include "base/say.h"
#include "plan/promise.h"

/* Units of one kind of request: types with equal requests to Slurm are one part. */
struct part {
    const struct hps_resource_opt *r;
    int cores; /* of a unit */
    long long units;
    double usd_hour;
};

static bool same_request(const struct hps_resource_opt *a, const struct hps_resource_opt *b)
{
    return strcmp(a->slurm_partition, b->slurm_partition) == 0 &&
           strcmp(a->slurm_constraint, b->slurm_constraint) == 0 &&
           strcmp(a->slurm_gres, b->slurm_gres) == 0;
}

static int cores_of(const struct hps_job *j, int type)
{
    const struct hps_type *from = &j->pool->type[type];
    int cores = j->o.pool.entry[from->entry].slurm_cores;

    return cores > 0 ? cores : from->node.threads;
}

/* The part of a type's units; n: none yet. */
static int part_of(const struct part *part, int n, const struct hps_job *j, int type)
{
    const struct hps_resource_opt *r = &j->o.pool.entry[j->pool->type[type].entry];
    int a = 0;

    while (a < n && !(same_request(part[a].r, r) && part[a].cores == cores_of(j, type)))
        a++;
    return a;
}

static long long units_of(const struct hps_job *j, int type)
{
    const struct hps_plan *p = j->plan;
    long long units = hps_plan_servers_on(p, j->profile, type);

    for (int s = 0; s < p->S; s++)
        if (p->stage[s].type == type && !hps_plan_is_second(p, s)) units += p->stage[s].units;
    return units;
}

/* Parts in the order of the pool's types, which is the order of ranks. */
static int parts_of(struct part *part, const struct hps_job *j)
{
    int n = 0;

    for (int t = 0; t < j->pool->T; t++) {
        long long units = units_of(j, t);
        int a = part_of(part, n, j, t);

        if (units == 0) continue;
        if (a == n)
            part[n++] = (struct part){ .r = &j->o.pool.entry[j->pool->type[t].entry],
                                       .cores = cores_of(j, t) };
        part[a].units += units;
        part[a].usd_hour += j->profile->type[t].price_usd_hour * (double)units;
    }
    return n;
}

/* The first rank of a type in the job: after earlier parts, and earlier types of its part. */
static long long first_of(const struct part *part, int n, const struct hps_job *j, int type)
{
    int my_part = part_of(part, n, j, type);
    long long rank = 0;

    for (int a = 0; a < my_part; a++)
        rank += part[a].units;
    for (int t = 0; t < type; t++)
        if (part_of(part, n, j, t) == my_part) rank += units_of(j, t);
    return rank;
}

/* A word that is valid after #SBATCH, which no shell expands. */
static enum hps_status check_word(const struct hps_resource_opt *r, const char *key,
                                  const char *word)
{
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '"' || *c == '\'' || *c == '\\' || *c == 127) {
            HPS_SAY(HPS_ERROR, "resources.%s.slurm.%s: '%s' cannot stand in a script: no blanks, "
                    "quotes or backslashes", r->name, key, word);
            return HPS_DECK;
        }
    return HPS_OK;
}

/* A name for a comment or a job: one line, one word. */
static void plain(struct hps_page *t, const char *word)
{
    for (int n; *word; word += n > 0 ? n : 1) {
        n = hps_escape_shown(word, strlen(word));
        hps_page_add(t, "%.*s", n > 0 && *word != ' ' ? n : 1, n > 0 && *word != ' ' ? word : "_");
    }
}

static void directive(struct hps_page *t, const char *option, const char *word)
{
    if (*word) hps_page_add(t, "#SBATCH --%s=%s\n", option, word);
}

/* gpu:1 and gpu:v100:1 are requested by task, other resources by node. */
static void gres(struct hps_page *t, const char *word)
{
    if (strcmp(word, "gpu") == 0)
        hps_page_add(t, "#SBATCH --gpus-per-task=1\n");
    else if (strncmp(word, "gpu:", 4) == 0)
        hps_page_add(t, "#SBATCH --gpus-per-task=%s\n", word + 4);
    else
        directive(t, "gres", word);
}

static void request(struct hps_page *t, const struct part *x)
{
    hps_page_add(t, "#SBATCH --ntasks=%lld\n", x->units);
    hps_page_add(t, "#SBATCH --cpus-per-task=%d\n", x->cores);
    directive(t, "partition", x->r->slurm_partition);
    directive(t, "constraint", x->r->slurm_constraint);
    gres(t, x->r->slurm_gres);
}

/* 'word', quoted for a shell. */
static void quoted(struct hps_page *t, const char *word)
{
    hps_page_add(t, "'");
    for (; *word; word++)
        hps_page_add(t, *word == '\'' ? "'\\''" : "%c", *word);
    hps_page_add(t, "'");
}

static void head(struct hps_page *t, const struct hps_job *j, const struct part *part, int n)
{
    struct hps_engine_result e = hps_promise_run(j->plan, j->profile);
    long long minutes = 10 + (long long)fmin(ceil(1.5 * e.seconds / 60), 1e6);

    hps_page_add(t, "#!/bin/bash\n"
                    "# Made by heterps plan: asks for the units of one plan and trains on them.\n"
                    "#\n");
    for (int s = 0; s < j->plan->S; s++) {
        const struct hps_plan_stage *g = &j->plan->stage[s];
        hps_page_add(t, "# Stage %-3d layers %d to %d on %lld of type ", s, g->first, g->last,
                     g->units);
        plain(t, j->profile->type[g->type].name);
        hps_page_add(t, "\n");
    }
    if (j->plan->workers > 1)
        hps_page_add(t, "# Workers   %d, each with an equal part of the units of every stage\n",
                     j->plan->workers);
    hps_page_add(t, "# Promise   %.6g examples/s, %.6g s, %.6g USD\n", e.examples_s, e.seconds,
                 e.cost_usd);
    for (int a = 0; a < n; a++)
        hps_page_add(t, "# Price     %lld units: %.6g USD an hour\n", part[a].units,
                     part[a].usd_hour);
    hps_page_add(t, "# Time      the promise, half of it more, and ten minutes; what does not fit "
                    "goes on after a requeue\n");
    hps_page_add(t, "#\n# sbatch takes account and anything else of your site. The program: "
                    "$HETERPS, else the one that\n# planned.\n");
    hps_page_add(t, "#SBATCH --job-name=heterps-");
    plain(t, j->o.run.name);
    hps_page_add(t, "\n#SBATCH --time=%lld\n#SBATCH --requeue\n#SBATCH --open-mode=append\n",
                 minutes);
    for (int a = 0; a < n; a++) {
        if (a > 0) hps_page_add(t, "#SBATCH hetjob\n");
        request(t, &part[a]);
    }
}

static void option(struct hps_page *t, const char *word)
{
    hps_page_add(t, " \\\n    --set ");
    quoted(t, word);
}

/* Emulated ranks have other numbers in the job than where it was planned. */
static void emulated(struct hps_page *t, const struct hps_job *j, const struct part *part, int n,
                     int entry)
{
    const struct hps_resource_opt *r = &j->o.pool.entry[entry];
    struct hps_page word = { 0 };
    const char *between = "";

    hps_page_add(&word, "resources.%s.emulate={slow: %.17g, ranks: \"", r->name, r->emulate_slow);
    for (int type = 0; type < j->pool->T; type++) {
        long long first, units = units_of(j, type);
        if (j->pool->type[type].entry != entry || units == 0) continue;
        first = first_of(part, n, j, type);
        hps_page_add(&word, "%s%lld-%lld", between, first, first + units - 1);
        between = ",";
    }
    hps_page_add(&word, *between ? "\"}" : "none\"}");
    option(t, word.at);
    hps_mem_free(word.at);
}

/* The script uses the library of jobs/. The program is by default the one that made the plan. */
static void body(struct hps_page *t, const char *deck, int nset, char *const *set)
{
    char *self = hps_program();

    hps_page_add(t, "\nprogram=$HETERPS\n[ -n \"$program\" ] || program=");
    quoted(t, self);
    hps_page_add(t, "\ndata=$(\"$program\" --datadir) || exit 66\n"
                    ". \"$data/jobs/job.sh\"\njob_train ");
    quoted(t, deck);
    for (int i = 0; i < nset; i++)
        option(t, set[i]);
    hps_mem_free(self);
}

enum hps_status hps_plan_script(const char *path, const struct hps_job *j, const char *deck,
                                int nset, char *const *set)
{
    struct part *part = hps_mem_new((size_t)j->pool->T, sizeof *part);
    struct hps_page text = { 0 };
    int n = parts_of(part, j);
    enum hps_status st = HPS_OK;

    for (int a = 0; a < n && !st; a++) {
        st = check_word(part[a].r, "partition", part[a].r->slurm_partition);
        if (!st) st = check_word(part[a].r, "constraint", part[a].r->slurm_constraint);
        if (!st) st = check_word(part[a].r, "gres", part[a].r->slurm_gres);
    }
    if (!st) {
        head(&text, j, part, n);
        body(&text, deck, nset, set);
        for (int e = 0; e < j->o.pool.n; e++)
            if (j->o.pool.entry[e].emulate_ranks[0]) emulated(&text, j, part, n, e);
        hps_page_add(&text, "\n");
        st = hps_json_write(path, text.at);
    }
    if (!st && chmod(path, 0755) != 0)
        HPS_SAY(HPS_WARN, "%s cannot be made executable: sbatch takes it as it is", path);
    hps_mem_free(text.at);
    hps_mem_free(part);
    return st;
}
