/* options.h - the options of a deck, bound section by section by tables of fields. */
#ifndef HPS_APP_OPTIONS_H
#define HPS_APP_OPTIONS_H

#include "app/generate.h"
#include "base/deck.h"
#include "data/data.h"
#include "hw/count.h"
#include "hw/pool.h"
#include "life/rundir.h"
#include "net/opt.h"
#include "plan/sched.h"
#include "ps/ps.h"
#include "train/ckpt.h"

struct hps_options {
    struct hps_deck *deck; /* owns all text; its `model` is bound by net/net */
    struct hps_run_opt run;
    struct hps_data_opt data;
    struct hps_train_opt train;
    struct hps_pool_opt pool;
    struct hps_sched_opt sched;
    struct hps_storage_opt storage, measured;   /* measured: as profiles are, all in memory */
    struct hps_ckpt_opt ckpt;
    struct hps_count_opt perf;
    struct hps_shape_opt generate;
};

/* Load and bind a deck; rank 0 prints errors. Collective over world (MPI_COMM_NULL: alone). */
enum hps_status hps_options_load(struct hps_options *o, const char *path, int nset,
                                 char *const *set, MPI_Comm world);
void hps_options_done(struct hps_options *o);
/* Print the reference, every section and key: inputs/reference.yaml, or the manual page
 * heterps-deck(5). Rank 0, stdout. */
void hps_options_print(enum hps_deck_form form);

#endif
