/* made_run.h - a run that never was: hardware, profile, plan, facts, for tests of the report. */
#ifndef HPS_TESTS_MADE_RUN_H
#define HPS_TESTS_MADE_RUN_H

#include "train/report/report_impl.h"

/* R ranks: rank 0 is "cpu" at 0.04 USD an hour, the others "fast" at 0.2, four times as fast. One
 * rank: one stage. More: ids and nums on rank 0, h1 and loss on rank 1, all others left out. 60 of
 * 60 steps of 256 examples in 4 micro-batches, 15360 examples in 2 epochs, in 3 seconds. */
struct made_run {
    struct hps_pool pool;
    struct hps_type type[2];
    struct hps_node node[16];
    int type_of[16], stage_of[16];
    struct hps_link link[4];
    struct hps_profile *profile;
    struct hps_plan *plan;
    struct hps_net net;
    struct hps_layer layer[4];
    double slot_ids[1];
    struct hps_table_shape table;
    struct hps_tier_count tier;
    struct hps_run_loss loss[3];
    struct hps_report_input facts;
};
void made_run_init(struct made_run *run, int R, const char *directory);
/* As if messages of every kind were encoded, many of them. */
void made_encode_all(struct made_run *m);
/* As if memory had some of the table's rows. */
void made_tier(struct made_run *m);
void made_run_done(struct made_run *run);

/* Counters by hand: rank r has called region g r + g + 1 times in (r + 1) * (g + 1) / 100 seconds;
 * event "instructions" 1000 * (r + 1), on the last rank "cycles" 5 instead. */
struct hps_report_counts *made_counts(int R);

#endif
