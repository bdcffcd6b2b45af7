/* eval.c - the verb `eval`: evaluates a checkpoint on the test set, on any number of ranks. */
#include <math.h>
#include <string.h>

#include "app/args.h"
#include "app/job.h"
#include "app/verbs.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"
#include "life/watch.h"
#include "step/wait_for.h"
#include "train/evaluate.h"

struct request {
    const char *checkpoint, *predictions, *json;
};

static enum hps_status print_result(const struct hps_job *j, const struct request *w,
                                    struct hps_metric *metric)
{
    struct hps_metric_result r = hps_metric_read(metric, j->world);
    enum hps_status st = HPS_OK;
    if (strcmp(w->json, "-") != 0) hps_metric_print(&r, j->test->path);
    if (w->json[0]) st = hps_args_json(w->json, hps_metric_text(&r));
    st = hps_agree(j->world, st);
    double bytes = (double)j->test->N * sizeof(struct hps_metric_row);
    hps_watch_phase("writing the predictions", bytes / HPS_CKPT_BYTES_S);
    if (!st && w->predictions[0])
        st = hps_metric_write(metric, j->test->N, w->predictions, j->world);
    return st ? st : hps_agree(j->world, hps_out_flush());
}

/* All ranks are one stage: an evaluation needs no plan. */
static enum hps_status prepare(struct hps_job *j)
{
    enum hps_status st = HPS_OK;
    if (!j->test) {
        HPS_SAY(HPS_ERROR, "the deck names no test set: data.test is empty");
        st = HPS_DECK;
    }
    if (!st) st = hps_job_device(j);
    if (st) return st;
    hps_job_plan_one_stage(j);
    return hps_job_build(j, false);
}

/* Check beforehand that outputs do not replace inputs. */
static enum hps_status name_outputs(struct request *w, MPI_Comm world)
{
    enum hps_status st = hps_outputs_add("predictions", &w->predictions, HPS_OUTPUT_NEW);

    if (!st) st = hps_outputs_add("json", &w->json, HPS_OUTPUT_ANY);
    return hps_agree(world, st);
}

static enum hps_status eval(struct hps_job *j, const struct request *w)
{
    struct hps_cursor cursor = { 0 };
    bool damaged;
    char *planning = NULL;
    enum hps_status st = hps_job_data(j);

    if (!st) st = prepare(j);
    if (!st)
        st = hps_ckpt_peek(w->checkpoint, j->shape, NULL, &cursor, &planning, &damaged, j->world);
    hps_mem_free(planning);
    hps_cursor_done(&cursor);
    if (st) return st;
    hps_watch_phase("loading the checkpoint",
                    hps_ckpt_bytes(j->net, &j->o.train) / HPS_CKPT_BYTES_S);
    st = hps_ckpt_load(w->checkpoint, j->step, j->world);
    if (st) return st;
    hps_wait_for_announce(j->step);
    hps_watch_phase(NULL, 0);
    struct hps_metric *metric = hps_metric_new();
    st = hps_evaluate(j->step, j->test, &j->o.data, INFINITY, metric);
    if (!st) st = print_result(j, w, metric);
    hps_metric_free(metric);
    return st;
}

enum hps_status hps_app_eval(int argc, char **argv, MPI_Comm world)
{
    struct request w = { "", "", "" };
    struct hps_arg_list set = { 0 }, deck = { 0 };
    struct hps_job job = { .world = world };
    const struct hps_arg table[] = { { "set", NULL, NULL, &set },
                                     { "checkpoint", &w.checkpoint, NULL, NULL },
                                     { "predictions", &w.predictions, NULL, NULL },
                                     { "json", &w.json, NULL, NULL },
                                     { 0 } };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &deck);

    if (!st && !w.checkpoint[0]) {
        HPS_SAY(HPS_ERROR, "heterps eval: --checkpoint FILE is missing");
        st = HPS_USAGE;
    }
    if (!st) st = name_outputs(&w, world);
    if (!st) st = hps_job_deck(&job, deck.item[0], set.n, set.item);
    if (!st) hps_job_watch(&job);
    if (!st) st = eval(&job, &w);
    hps_watch_leave();
    hps_job_close(&job);
    hps_args_done(&set);
    hps_args_done(&deck);
    return st;
}
