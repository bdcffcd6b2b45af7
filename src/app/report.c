/* report.c - the verb `report`: prints a run's report from its files. */
#include "train/report.h"

#include "app/args.h"
#include "app/verbs.h"
#include "base/outputs.h"

enum hps_status hps_app_report(int argc, char **argv, MPI_Comm world)
{
    const char *json = NULL, *html = NULL, *trace = NULL;
    struct hps_arg_list run = { 0 };
    const struct hps_arg table[] = { { "json", &json, NULL, NULL },
                                     { "html", &html, NULL, NULL },
                                     { "trace", &trace, NULL, NULL },
                                     { 0 } };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &run);
    (void)world;

    if (!st) st = hps_outputs_add("json", &json, HPS_OUTPUT_ANY);
    if (!st) st = hps_outputs_add("html", &html, HPS_OUTPUT_ANY);
    if (!st) st = hps_outputs_add("trace", &trace, HPS_OUTPUT_NEW);
    if (!st) st = hps_report_show(run.item[0], json, html, trace);
    hps_args_done(&run);
    return st;
}
