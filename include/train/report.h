/* report.h - what was promised, what was got, on what: end-of-run table, report.json, perf.h5. */
#ifndef HPS_TRAIN_REPORT_H
#define HPS_TRAIN_REPORT_H

#include "hw/count.h"
#include "hw/pool.h"
#include "net/net.h"
#include "plan/engine.h"
#include "step/metric.h"
#include "train/ckpt.h"

struct hps_run_loss {
    long long step;
    double loss;
};

/* One plan of this start: steps, time and money while it was in use. */
struct hps_plan_epoch {
    long long first, last, examples;    /* steps, 1 for the first of the run             */
    double seconds, usd, usd_idle;      /* with the change to the next plan              */
    double change_s;                    /* of which that change took; 0: there is none   */
    double predicted_examples_s;        /* by the engine's model as the plan began       */
    struct hps_plan *plan;
    int *stage_of;                      /* (R)                                           */
};

/* What a rank had counted when the last plan began. */
struct hps_run_before {
    struct hps_count_sum part[HPS_COUNT_PARTS][HPS_REGIONS];
};

/* The plans of this start, in order: setup.plan is that of the last epoch. */
struct hps_run_plans {
    int n;
    const struct hps_plan_epoch *epoch; /* (n)                                           */
    const struct hps_run_before *before;    /* on every rank; NULL: there was one plan   */
};

/* What decides in which order sums are rounded, and who made the plan, in words; NULL: unknown. */
struct hps_run_layout {
    const char *layout, *origin;
};
struct hps_run_layouts {
    struct hps_run_layout now, was;     /* was: until this start, where it is another    */
    long long was_step;                 /* the step until which                          */
};

/* What was trained, on what. */
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

/* What moved, and what it cost, in the training loop of this start. */
struct hps_run_traffic {
    double net_bytes;                   /* sent by all ranks                             */
    double tier_hits;                   /* share of needed rows that were in GPU memory; NaN: all */
    double tier_bytes;                  /* moved between GPU and host memory             */
    double gpu_joules;                  /* of the GPUs; NaN: unknown                     */
};

/* The loss as the run went, for the plot. */
struct hps_run_losses {
    int n;
    const struct hps_run_loss *loss;    /* (n), NULL with 0                              */
};

/* Facts of a run that rank 0 knows at its end. */
struct hps_run_facts {
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
};

/* Regions over the ranks that the plan uses: calls of all, min, avg, max seconds of one.
 * `share` = avg_s / seconds. gpu_s: seconds that GPUs were at its work, on average over the ranks
 * that have one and used it; NaN: none did. */
struct hps_report_region {
    long long calls;
    double min_s, avg_s, max_s, share, gpu_s;
};

/* Gather counters from all ranks, print the table (rank 0, stdout), write DIR/report.json and
 * DIR/perf.h5. Counters of earlier starts of the same run are not added: the table says which part
 * it shows; money is (an earlier report's usd). A start that trained nothing (the run was finished)
 * keeps the earlier report and perf.h5 of the same steps, and renews only the evaluation.
 * Collective over world (MPI_COMM_NULL: alone); of the facts only plans.before is read on other
 * ranks than 0.
 * HPS_OUTPUT. */
enum hps_status hps_report_write(const struct hps_run_facts *facts, MPI_Comm world);

/* The verb: tables again from a run directory's files; JSON ("-": standard output, and nothing else
 * there), HTML with plots (inline SVG), Chrome trace; NULL: not wanted. Missing files: HPS_INPUT;
 * damaged ones, no spans for a trace: HPS_DECK; HPS_OUTPUT. Alone. */
enum hps_status hps_report_show(const char *directory, const char *json, const char *html,
                                const char *trace);

#endif
