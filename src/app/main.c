/* main.c - the table of verbs, and the beginning and end of the program. */
#include <stdlib.h>
#include <string.h>

#include "app/verbs.h"
#include "base/deck.h"
#include "base/h5_walk.h"
#include "base/launch.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/streams.h"
#include "base/world.h"
#include "data/import.h"
#include "hw/dev.h"
#include "life/stop.h"
#include "life/watch.h"

/* How a verb uses MPI: ALONE is an error on several ranks; as RANKS, one without a launcher. */
enum world { ALONE, RANKS };

struct verb {
    const char *name;
    enum world world;
    bool reads;                     /* HDF5 files from elsewhere                      */
    enum hps_status (*run)(int argc, char **argv, MPI_Comm world);
    const char *usage, *help;
    const char *options;            /* their help, a line each; NULL: none            */
    const struct hps_field *fields; /* or their table                                 */
};

#define SET "  --set KEY=VALUE     another value for a key of the deck: train.steps=100\n"
#define JSON "  --json FILE         the same for programs; -: on standard output, alone\n"

static const struct verb verbs[] = {
    { "train", RANKS, true, hps_app_train,
      "DECK [--set KEY=VALUE]... [--restart auto|never|FILE] [--check] [--replay DIRECTORY]",
      "trains the deck's network on all ranks, by a plan, and reports",
      SET "  --restart auto      from the newest whole checkpoint of the run directory (default)\n"
          "  --restart never     from step 0; old checkpoints go when the first new one is whole\n"
          "  --restart FILE      from this checkpoint\n"
          "  --replay DIRECTORY  follow the order of updates that a run there recorded\n"
          "  --check             validate deck, data and plan, print the plan, run nothing\n",
      NULL },
    { "generate", ALONE, false, hps_app_generate,
      "DECK --rows N --output FILE.h5 [--first N] [--set KEY=VALUE]...",
      "made-up data of the deck's shape, whose best possible AUC is known",
      "  --rows N            examples to make\n"
      "  --first N           the first one's number (0); later ones are a test set\n"
      "  --output FILE       the dataset to write\n" SET,
      NULL },
    { "eval", RANKS, true, hps_app_eval,
      "DECK --checkpoint FILE [--predictions FILE.h5] [--json FILE] [--set KEY=VALUE]...",
      "the quality of a checkpoint on the deck's test set",
      "  --checkpoint FILE   RUN_DIRECTORY/checkpoint/step_NNNNNNNNN.h5\n"
      "  --predictions FILE  what it says of each example, as HDF5\n" JSON SET,
      NULL },
    { "plan", RANKS, true, hps_app_plan,
      "(DECK | --profile FILE) [--method NAME] [--seed N] [--set KEY=VALUE]... [--json FILE]"
      " [--sbatch FILE] [--pareto FILE.svg] [--keep-profile FILE]",
      "the plan for a deck or a profile, without training",
      "  --profile FILE      plan for this profile alone, of any pool\n"
      "  --method NAME       instead of the deck's schedule.method; all: side by side\n"
      "  --seed N            of the search\n"
      "  --sbatch FILE       write a job script that asks for the planned units\n"
      "  --pareto FILE.svg   draw cost against throughput\n"
      "  --keep-profile FILE the profile of the deck, for --profile or schedule.profile\n" JSON SET,
      NULL },
    { "import", ALONE, true, hps_app_import,
      "FORMAT --output FILE.h5 [--test-output FILE.h5] [--append] [OPTION]... INPUT...",
      "text (csv, criteo, avazu, slot, libsvm) to a dataset", NULL, hps_import_fields },
    { "info", ALONE, true, hps_app_info, "FILE... [--json FILE]",
      "what a dataset, checkpoint, performance file, profile, plan or pool holds", JSON, NULL },
    { "report", ALONE, true, hps_app_report, "RUN_DIR [--json FILE] [--html FILE] [--trace FILE]",
      "tables, plots and the timeline of a run, from its files",
      JSON "  --html FILE         a page with plots\n"
           "  --trace FILE        the timeline, for chrome://tracing or ui.perfetto.dev\n",
      NULL },
    { "jobs", ALONE, false, hps_app_jobs,
      "simulate LIST|TRACE [--pool WHAT] [--format NAME] [--policy NAME|all] [--restart S]"
      " [--bound] [--json FILE] | plan LIST [--pool WHAT] [--policy NAME] [--json FILE]",
      "many training jobs that share a pool: what policies make of them; what to expect of a list",
      "  --pool WHAT         16x4: sixteen nodes of four units; or the deck of a pool\n"
      "  --format NAME       of the trace, where its first line does not tell\n"
      "  --policy NAME       who gets which units; all: side by side\n"
      "  --restart S         seconds that a job takes to start, each time (0; of a list 4)\n"
      "  --bound             how good any schedule could be at most, and its proof\n"
      "  --gantt FILE        a chart of when each job had which units: .svg, or a page: .html\n"
      "  --csv FILE          the accounting: a line for each stretch of a job\n" JSON,
      NULL },
    { "deck", ALONE, false, hps_app_deck,
      "[[--jobs] [--man] | DECK [--set KEY=VALUE]... [--folders]]",
      "the reference deck: every key, default, meaning; or a deck as it would run, or where",
      "  --jobs              the reference of lists of jobs and of pools instead\n"
      "  --man               the reference as a manual page: heterps-deck(5), heterps-jobs(5)\n" SET
      "  --folders           the run directory and that of its checkpoints, a line each\n",
      NULL },
    { NULL, ALONE, false, NULL, NULL, NULL, NULL, NULL },
};

enum { NVERB = sizeof verbs / sizeof *verbs - 1 };

static bool is(const char *word, const char *full, const char *brief)
{
    return strcmp(word, full) == 0 || strcmp(word, brief) == 0;
}

static const struct verb *find(const char *name)
{
    for (int i = 0; i < NVERB; i++)
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    return NULL;
}

/* Did a launcher start this process? By the environment, since MPI is not initialised yet. */
static bool launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

static enum hps_status help(void)
{
    hps_out("usage: heterps VERB [OPTION]... [OPERAND]...\n"
            "       heterps VERB --help | --help | --version | --datadir\n\n"
            "Trains deep networks of embedding tables and dense layers on CPU and GPU ranks,\n"
            "by a plan that spends the least money for a promised throughput.\n\n");
    for (int i = 0; i < NVERB; i++)
        hps_out("  %-9s %s\n", verbs[i].name, verbs[i].help);
    hps_out("\nThe manual: man heterps. The deck: heterps deck.\n");
    return hps_out_flush();
}

static void help_field(const struct hps_field *f)
{
    char *name = hps_mem_text(f->name);

    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    hps_out("  --%-17s %s", name, f->help);
    if (f->words) hps_out("; %s", f->words);
    if (f->preset && *f->preset) hps_out(" (%s)", f->preset);
    hps_out("\n");
    hps_mem_free(name);
}

static enum hps_status help_verb(const struct verb *v)
{
    hps_out("usage: heterps %s %s\n\n%s\n", v->name, v->usage, v->help);
    if (v->options) hps_out("\n%s", v->options);
    if (v->fields) hps_out("\n");
    for (const struct hps_field *f = v->fields; f && f->name; f++)
        help_field(f);
    return hps_out_flush();
}

/* Is --help among the arguments? */
static bool wants_help(int argc, char **argv)
{
    if (argc > 2 && is(argv[2], "--help", "-h")) return true;
    for (int i = 3; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

static enum hps_status unknown(const char *word)
{
    const char *names[NVERB + 3];
    int n = 0;

    for (int i = 0; i < NVERB; i++)
        names[n++] = verbs[i].name;
    names[n++] = "--help";
    names[n++] = "--version";
    names[n++] = "--datadir";
    const char *nearest = hps_deck_nearest(word, names, n);
    if (nearest)
        HPS_SAY(HPS_ERROR, "unknown verb '%s'; did you mean '%s'?", word, nearest);
    else
        HPS_SAY(HPS_ERROR, "unknown verb '%s'; heterps --help lists them", word);
    return HPS_USAGE;
}

static enum hps_status run(const struct verb *v, int argc, char **argv, MPI_Comm world)
{
    if (argc < 2) {
        HPS_SAY(HPS_ERROR, "no verb is given; heterps --help lists them");
        return HPS_USAGE;
    }
    if (is(argv[1], "--help", "-h")) return help();
    if (is(argv[1], "--version", "-V")) return hps_app_version();
    if (strcmp(argv[1], "--datadir") == 0) return hps_app_datadir();
    if (!v) return unknown(argv[1]);
    if (wants_help(argc, argv)) return help_verb(v);
    if (v->world == ALONE && hps_nrank() > 1) {
        HPS_SAY(HPS_ERROR, "%s works alone: start it once, without a launcher", v->name);
        return HPS_USAGE;
    }
    enum hps_status st = v->world == RANKS ? hps_launch_check() : HPS_OK;
    return st ? st : v->run(argc - 1, argv + 1, world);
}

int main(int argc, char **argv)
{
    const struct verb *v = argc > 1 ? find(argv[1]) : NULL;
    hps_streams_open();
    bool parallel = (launched() || (v && v->world == RANKS)) && !hps_launch_bare(getenv);
    hps_dev_blas_alone();                               /* before the fork */
    if (v && v->reads) hps_h5_walk_begin();             /* before all threads */
    if (v && v->run == hps_app_train) hps_stop_catch(); /* before MPI_Init, which takes long */
    if (parallel) hps_launch_begin();
    MPI_Comm world = hps_begin(&argc, &argv, parallel);
    hps_launch_met();
    if (!v || v->world == ALONE) hps_launch_end();
    enum hps_status st = run(v, argc, argv, world);
    hps_launch_end();
    hps_h5_walk_end();
    int code = hps_end(st);
    hps_watch_end();
    return code;
}
