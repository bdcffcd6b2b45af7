/* report.h - the report of a run, promised and measured: table, report.json, perf.h5. */
#ifndef HPS_TRAIN_REPORT_H
#define HPS_TRAIN_REPORT_H

#include "comm/messages.h"
#include "hw/count.h"
#include "hw/other_load.h"
#include "hw/pool.h"
#include "net/net.h"
#include "plan/promise.h"
#include "step/metric.h"
#include "train/ckpt.h"
#include "train/served.h"

struct hps_run_loss {
    long long step;
    double loss;
};

/* A plan of this start: steps, time and money while it was in use. */
struct hps_plan_epoch {
    long long first, last, examples;    /* steps, 1 for the first of the run             */
    double seconds, usd, usd_idle;      /* with the change to the next plan              */
    double change_s;                    /* of which for that change; 0: there is none    */
    double predicted_examples_s;        /* by the engine's model as the plan began       */
    struct hps_plan *plan;
    int *stage_of;                      /* (R)                                           */
};

/* A rank's counters when the last plan began. */
struct hps_run_counted {
    struct hps_count_sum part[HPS_COUNT_PARTS][HPS_REGIONS];
};

/* The plans of this start, in order: setup.plan is that of the last epoch. */
struct hps_run_plans {
    int n;
    const struct hps_plan_epoch *epoch; /* (n)                                           */
    const struct hps_run_counted *before;    /* on every rank; NULL: there was one plan   */
};

/* The layout (app/layout.h), which decides the order of sums, and the origin of the plan, as texts;
 * NULL: unknown. */
struct hps_run_layout {
    const char *layout, *origin;
};
struct hps_run_layouts {
    struct hps_run_layout now, was;     /* was: of the starts before, where it differs   */
    long long was_step;                 /* the last step of `was`                        */
};

/* The network, the hardware and the plan. */
struct hps_run_setup {
    const struct hps_net *net;          /* each layer's flops, bytes; NULL: no roofline  */
    double flops_example;               /* forward + backward of one example             */
    const struct hps_pool *pool;
    const struct hps_profile *profile;
    const struct hps_plan *plan;
    const int *stage_of;                /* (R), -1: the rank is idle                     */
};

/* Times of this start. */
struct hps_run_start {
    double seconds;                     /* of its training loop; 0: it trained nothing   */
    double ready_s;                     /* from program start to first step              */
    double step_median_s, step_p95_s;   /* of the last steps; NaN: unknown               */
    double bubble;                      /* share of time without work; NaN: one stage    */
};

/* Data traffic and energy of the training loop of this start. */
struct hps_run_traffic {
    double net_bytes;                   /* sent by all ranks                             */
    const char *codec[HPS_MESSAGES];    /* of each kind; NULL: it is not encoded         */
    struct hps_message_count messages[HPS_MESSAGES];    /* encoded, of all ranks         */
    double residual;                    /* norm of what topk has not sent at the end      */
    struct hps_message_count rows;      /* at rest, where they are encoded; bytes 0: none are */
    double tier_hits;                   /* share of needed rows that were in slots; NaN: all have
                                           all                                           */
    double tier_bytes;                  /* moved between slots and where other rows are  */
    const struct hps_tier_count *tier;  /* (ntable) of all ranks, at the first table of each
                                           request: slots 0 elsewhere; NULL: no rank has any */
    double gpu_joules;                  /* of the GPUs; NaN: unknown                     */
};

/* The loss over the run, for the plot. */
struct hps_run_losses {
    int n;
    const struct hps_run_loss *loss;    /* (n), NULL with 0                              */
};

/* Facts of a run that rank 0 knows at its end. */
struct hps_report_input {
    const char *name, *directory, *deck;    /* deck: text as run                         */
    bool finished;
    struct hps_cursor done;             /* over all starts; usd_idle: of idle ranks; train_loss
                                           NaN: no step was run                          */
    long long steps_total;
    struct hps_run_start start;
    struct hps_run_traffic traffic;
    struct hps_run_setup setup;
    bool has_test;
    struct hps_metric_result test;
    struct hps_run_losses losses;
    struct hps_run_layouts layout;
    struct hps_run_plans plans;
    struct hps_other_load_found other;  /* what else ran on the nodes meanwhile          */
    const struct hps_served *served;    /* by servers in this start; NULL: workers were
                                           synchronous                                   */
};

/* A region over the ranks that the plan uses: calls of all; min, avg, max seconds of a rank;
 * share = avg_s / seconds; gpu_s: GPU seconds, averaged over the ranks with a GPU that computed,
 * NaN: none. */
struct hps_report_region {
    long long calls;
    double min_s, avg_s, max_s, share, gpu_s;
};

/* Gather counters from all ranks, print the table (rank 0, stdout), write DIR/report.json and
 * DIR/perf.h5. Counters are of this start alone, and the table says so; money includes the
 * earlier starts (the earlier report's usd). A start that trained nothing, since the run was
 * finished, keeps the earlier report and perf.h5 and renews the evaluation. HPS_OUTPUT.
 * Collective over world (MPI_COMM_NULL: alone); on ranks other than 0 only plans.before of the
 * facts is read. */
enum hps_status hps_report_write(const struct hps_report_input *facts, MPI_Comm world);

/* Print the report again from a run directory's files; also write it as JSON ("-": to standard
 * output instead of the table), as HTML with plots (inline SVG), and as a Chrome trace; NULL:
 * not written. Missing files: HPS_INPUT; damaged ones, or no spans for a trace: HPS_DECK;
 * HPS_OUTPUT. Alone. */
enum hps_status hps_report_show(const char *directory, const char *json, const char *html,
                                const char *trace);

#endif
