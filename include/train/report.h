/* report.h - what was promised, what was got, on what: end-of-run table, report.json, perf.h5. */
#ifndef HPS_TRAIN_REPORT_H
#define HPS_TRAIN_REPORT_H

#include "hw/count.h"
#include "hw/pool.h"
#include "net/net.h"
#include "plan/engine.h"
#include "step/metric.h"

struct hps_run_loss {
    long long step;
    double loss;
};

/* One plan's part of this start. */
struct hps_plan_epoch {
    long long first, last, examples;          /* steps, 1 for the first of the run           */
    double seconds, usd, usd_idle;            /* with the change to the next plan            */
    double change_s;                          /* of which that change took; 0: there is none */
    double predicted_examples_s;              /* by the engine's model as the plan began     */
    struct hps_plan *plan;
    int *stage_of;                            /* (R)                                         */
};

/* What a rank had counted when the last plan began. */
struct hps_run_before {
    struct hps_count_sum part[HPS_COUNT_PARTS][HPS_REGIONS];
};

/* What decides in which order sums are rounded, and who made the plan, in words; NULL: unknown. */
struct hps_run_layout {
    const char *layout, *origin;
};

/* Facts of a run that rank 0 knows at its end. steps .. seconds add up over restarts. */
struct hps_run_facts {
    const char *name, *directory, *deck;      /* deck: text as run                          */
    long long steps, steps_total, examples;
    double seconds;                           /* of the training loop alone, no evaluation   */
    double usd, usd_idle;                     /* spent by the plan's ranks; on those left out */
    double seconds_now;                       /* of this start's part; 0: it trained nothing */
    double start_seconds;                     /* program start to first step                 */
    double step_median_s, step_p95_s;         /* of the last steps; NaN: unknown             */
    double train_loss;                        /* NaN: no step was run                        */
    bool has_test;
    struct hps_metric_result test;
    double bubble;                            /* share of time without work; NaN: one stage  */
    double net_bytes;                         /* sent by all ranks in the loop                */
    double tier_hits, tier_bytes;             /* share of rows needed that were in GPU memory, NaN:
                                                 all are; bytes moved between it and the host's */
    double gpu_joules;                        /* of the GPUs in this start's loop; NaN: unknown */
    double flops_example;                     /* forward + backward of one example            */
    const struct hps_pool *pool;
    const struct hps_profile *profile;
    const struct hps_plan *plan;
    const int *stage_of;                      /* (R), -1 left out                             */
    bool finished;
    const struct hps_net *net;                /* each layer's flops, bytes; NULL: no roofline */
    int nloss;                                /* the loss as the run went, for the plot       */
    const struct hps_run_loss *loss;          /* (nloss), NULL with 0                         */
    struct hps_run_layout now, was;           /* was: until this start, where it is another  */
    long long was_step;                       /* the step until which                        */
    int nera;
    const struct hps_plan_epoch *era;         /* (nera) plan after plan, `plan` is the last's  */
    const struct hps_run_before *before;      /* on every rank; NULL: there was one plan      */
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
 * Collective over world (MPI_COMM_NULL: alone); of the facts only `before` is read on other ranks
 * than 0.
 * HPS_OUTPUT. */
enum hps_status hps_report_write(const struct hps_run_facts *facts, MPI_Comm world);

/* The verb: tables again from a run directory's files; JSON ("-": standard output, and nothing else
 * there), HTML with plots (inline SVG), Chrome trace; NULL: not wanted. Missing files: HPS_INPUT;
 * damaged ones, no spans for a trace: HPS_DECK; HPS_OUTPUT. Alone. */
enum hps_status hps_report_show(const char *directory, const char *json, const char *html,
                                const char *trace);

#endif
