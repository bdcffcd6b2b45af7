/* deck.c - the verb `deck`: prints the reference of decks or of lists of jobs, also as a manual
 * page; or a deck as it would run, or its folders. */
#include "app/args.h"
#include "app/options.h"
#include "app/verbs.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/list.h"

static void print_folders(const struct hps_options *o)
{
    struct hps_rundir dir = { .path = hps_rundir_path(&o->run) };
    char *checkpoints = hps_rundir_file(&dir, o->ckpt.directory);

    hps_out("%s\n%s\n", dir.path, checkpoints);
    hps_mem_free(checkpoints);
    hps_mem_free(dir.path);
}

static enum hps_status show(char *path, const struct hps_arg_list *set, bool folders)
{
    struct hps_options o;
    enum hps_status st = hps_options_load(&o, path, set->n, set->item, MPI_COMM_NULL);

    if (!st && folders) print_folders(&o);
    if (!st && !folders) {
        char *text = hps_deck_text(o.deck);
        hps_out("%s", text);
        hps_mem_free(text);
    }
    hps_options_done(&o);
    return st;
}

static void print_reference(bool jobs, enum hps_deck_form form)
{
    if (jobs)
        hps_job_list_print_reference(form);
    else
        hps_options_print(form);
}

enum hps_status hps_app_deck(int argc, char **argv, MPI_Comm world)
{
    struct hps_arg_list set = { 0 }, deck = { 0 };
    bool folders = false, man = false, jobs = false;
    const struct hps_arg table[] = { { .name = "set", .list = &set },
                                     { .name = "folders", .flag = &folders },
                                     { .name = "man", .flag = &man },
                                     { .name = "jobs", .flag = &jobs },
                                     { 0 } };
    enum hps_status st = hps_args_parse(argc, argv, table, 0, 1, &deck);

    (void)world;
    if (!st && deck.n == 0 && (set.n > 0 || folders)) {
        HPS_SAY(HPS_ERROR, "heterps deck: --%s wants a deck", folders ? "folders" : "set");
        st = HPS_USAGE;
    }
    if (!st && deck.n > 0 && (man || jobs)) {
        HPS_SAY(HPS_ERROR, "heterps deck: --%s is of no deck", man ? "man" : "jobs");
        st = HPS_USAGE;
    }
    if (!st && deck.n == 0) print_reference(jobs, man ? HPS_DECK_MAN : HPS_DECK_YAML);
    if (!st && deck.n > 0) st = show(deck.item[0], &set, folders);
    hps_args_done(&set);
    hps_args_done(&deck);
    return st ? st : hps_out_flush();
}
