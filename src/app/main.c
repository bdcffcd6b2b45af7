/* main.c - the table of verbs: what the command line asks for, and who answers. */
#include <stdlib.h>
#include <string.h>

#include "app/verbs.h"
#include "base/deck.h"
#include "base/launch.h"
#include "base/say.h"
#include "train/stop.h"

/* How a verb meets MPI: alone, and then it is an error to start it on several ranks, or as ranks,
 * one without a launcher. */
enum world { ALONE, RANKS };

struct verb {
    const char *name;
    enum world world;
    enum hps_status (*run)(int argc, char **argv, MPI_Comm world);
    const char *usage, *help;
};

static const struct verb verbs[] = {
    { "train", RANKS, hps_app_train,
      "DECK [--set KEY=VALUE]... [--restart auto|never|FILE] [--check]",
      "trains the deck's network on all ranks, by a plan, and reports" },
    { "generate", ALONE, hps_app_generate, "DECK --rows N --output FILE.h5 [--set KEY=VALUE]...",
      "made-up data of the deck's shape, whose best possible AUC is known" },
    { "eval", RANKS, hps_app_eval,
      "DECK --checkpoint FILE [--predictions FILE.h5] [--json FILE] [--set KEY=VALUE]...",
      "the quality of a checkpoint on the deck's test set" },
    { "plan", RANKS, hps_app_plan,
      "(DECK | --profile FILE) [--method NAME] [--seed N] [--set KEY=VALUE]... [--json FILE]"
      " [--sbatch FILE] [--pareto FILE.svg]",
      "the plan for a deck or a profile, without training" },
    { "import", ALONE, hps_app_import,
      "FORMAT --output FILE.h5 [--test-output FILE.h5] [--append] [OPTION]... INPUT...",
      "text (csv, criteo, avazu, slot, libsvm) to a dataset" },
    { "info", ALONE, hps_app_info, "FILE... [--json FILE]",
      "what a dataset, checkpoint, performance file, profile, plan or pool holds" },
    { "report", ALONE, hps_app_report, "RUN_DIR [--json FILE] [--html FILE] [--trace FILE]",
      "tables, plots and the timeline of a run, from its files" },
    { "deck", ALONE, hps_app_deck, "[DECK [--set KEY=VALUE]... [--folders]]",
      "the reference deck: every key, default, meaning; or a deck as it would run, or where" },
    { NULL, ALONE, NULL, NULL, NULL },
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

/* Did a launcher start this process? Asked before MPI is there, so of the environment. */
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

static enum hps_status help_verb(const struct verb *v)
{
    hps_out("usage: heterps %s %s\n\n%s\n", v->name, v->usage, v->help);
    return hps_out_flush();
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
    const char *near = hps_deck_nearest(word, names, n);
    if (near)
        HPS_SAY(HPS_ERROR, "unknown verb '%s'; did you mean '%s'?", word, near);
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
    if (argc > 2 && is(argv[2], "--help", "-h")) return help_verb(v);
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
    if (v && v->run == hps_app_train) hps_stop_catch(); /* before MPI, which takes its time */
    bool parallel = launched() || (v && v->world == RANKS);
    MPI_Comm world = hps_begin(&argc, &argv, parallel);

    return hps_end(run(v, argc, argv, world));
}
