/* report.c - the verb `report`: a run's tables and plots again, from its files. */
#include "train/report.h"

#include "app/args.h"
#include "app/verbs.h"

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

    if (!st && trace) st = hps_args_output(trace, 0, NULL);
    if (!st) st = hps_report_show(run.item[0], json, html, trace);
    hps_args_done(&run);
    return st;
}
