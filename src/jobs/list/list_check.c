/* list_check.c - the jobs' decks, checked by children. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "jobs/child.h"
#include "jobs/list/list_impl.h"

/* The status of a child that failed. */
static enum hps_status status_of(int code)
{
    static const enum hps_status ours[] = { HPS_USAGE, HPS_DECK, HPS_INPUT, HPS_OUTPUT };

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (code == (int)ours[i]) return code == HPS_USAGE ? HPS_DECK : ours[i];
    return HPS_FAIL;
}

static enum hps_status run(const struct hps_list_job *job, int n, const char **argument)
{
    char *error;

    for (int i = 0; i < job->nset; i++) {
        argument[n++] = "--set";
        argument[n++] = job->set[i];
    }
    int code = hps_child_run(n, argument, &error);
    if (code) HPS_SAY(HPS_ERROR, "job '%s': its deck fails its check: %s", job->name, error);
    hps_mem_free(error);
    return code ? status_of(code) : HPS_OK;
}

/* `whole`: with model, data and plan, else what its keys are alone. */
static enum hps_status check(const struct hps_list_job *job, bool whole)
{
    const char **argument = hps_mem_new((size_t)job->nset * 2 + 3, sizeof *argument);

    argument[0] = whole ? "train" : "deck";
    argument[1] = job->deck;
    if (whole) argument[2] = "--check";
    enum hps_status st = run(job, whole ? 3 : 2, argument);
    hps_mem_free(argument);
    return st;
}

enum hps_status hps_job_list_check_decks(const struct hps_job_list *list)
{
    enum hps_status st = HPS_OK;

    for (int j = 0; j < list->n && !st; j++) {
        const struct hps_list_job *job = &list->job[j];
        bool first = true;
        for (int i = 0; i < j && first; i++)
            first = list->job[i].item != job->item &&
                    (strcmp(list->job[i].deck, job->deck) != 0 || list->job[i].nset > 0 ||
                     job->nset > 0);
        st = check(job, first);
    }
    return st;
}
