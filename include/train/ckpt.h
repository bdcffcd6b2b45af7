/* ckpt.h - checkpoints: the state of a run in a file, by layer name and global row, to be loaded on
 * any number of ranks under any plan.
 *
 * Each save (save.h) makes one HDF5 file, step_NNNNNNNNN.h5, which all ranks write as .part without
 * filters, with checksums; it is synced and renamed when it is complete. All float32:
 *     /layers/NAME/param (1, n)             dense weights
 *     /layers/NAME/state (nstate, n)        their optimiser states, where the rule has any
 *     /layers/NAME/running (1, n)           running averages of a layer, where it has any
 *     /layers/NAME/residual/H (1, n)        gradients that host H has not sent yet, where it sends
 *                                           the largest alone (comm/topk_sum.h)
 *     /tables/NAME/rows (rows, width)       each row: its weights, then its states
 * Each dataset has an attribute `checksum`; the root has format, step, examples, seconds, usd,
 * usd_idle, train_loss, precision, shape and course (with which a deck must agree), planning, deck,
 * plan, pool, revision. */
#ifndef HPS_TRAIN_CKPT_H
#define HPS_TRAIN_CKPT_H

#include "life/rundir.h"
#include "step/step.h"

struct hps_ckpt_opt {
    const char *directory; /* inside the run's directory, unless absolute             */
    long long interval_steps;
    double interval_seconds;
    int keep;
};
extern const struct hps_field hps_ckpt_fields[];

/* The progress of a run, summed over its starts. */
struct hps_cursor {
    long long step, examples; /* done so far                                             */
    long long next;           /* the clock to go on with; behind `step` where workers that do
                                 not wait for each other trained batches before their turn: */
    long long ndone;          /* so many, which are ...                                  */
    long long *done;          /* ... these, ascending; borrowed, but from hps_ckpt_peek  */
    long long *number;        /* (workers) the next clock of each; NULL: `next`; as done */
    long long updates;        /* of the weights                                          */
    long long workers;        /* of the last steps                                       */
    enum hps_precision precision; /* of the last steps                                    */
    double seconds, usd, usd_idle, train_loss;
};

#define HPS_CKPT_DONE "/cursor/done"     /* datasets of both */
#define HPS_CKPT_NUMBER "/cursor/number"

/* Texts that are stored beside the state; borrowed. */
struct hps_ckpt_text {
    const char *shape;    /* hps_ckpt_shape                                          */
    const char *course;   /* hps_ckpt_course                                         */
    const char *planning; /* all that the plan depended on: equal texts, equal plans  */
    const char *deck, *plan, *pool;
};

/* What a checkpoint and a deck must have in common for loading: seed, data, optimiser, layers,
 * tables, a line each. `order`: hps_data_order_text. To free. Pure. */
char *hps_ckpt_shape(const struct hps_net *net, const struct hps_steps *steps,
                     const struct hps_train_opt *train, uint64_t seed, const char *order);

/* What must not change when a run continues from its own newest checkpoint: the deck's lines
 * (base/deck_lines.h) of data, train and model, without harmless keys: paths of the data, number of
 * steps, intervals of evaluation and log. To free. Pure. */
char *hps_ckpt_course(const struct hps_deck *deck, const struct hps_train_opt *train,
                      const struct hps_steps *steps);

/* The approximate bytes of a file. A disk slower than HPS_CKPT_BYTES_S looks like a stall to the
 * watchdog. Pure. */
enum { HPS_CKPT_BYTES_S = 20000000 };
double hps_ckpt_bytes(const struct hps_net *net, const struct hps_train_opt *train);
/* Make the folder; HPS_OUTPUT, said. unwritable: say why errno forbids to write there. Local. */
enum hps_status hps_ckpt_make_folder(const char *folder);
enum hps_status hps_ckpt_unwritable(const char *folder);
/* Check before the first step that the disk has space for a checkpoint, since a run that fails at
 * its end has lost all, and remove those that are not whole. HPS_OUTPUT. Collective. */
enum hps_status hps_ckpt_ready(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                               double bytes, MPI_Comm world);
/* Remove all checkpoints but the newest opt->keep up to that step; `only_this`: all but that
 * step's. Local, by rank 0. */
void hps_ckpt_remove_old(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                         long long step, bool only_this);

/* The steps with a file, newest first; *n = 0: none. HPS_INPUT where the folder exists and
 * cannot be read, since a new run would ignore its files. Rank 0 reads the folder and
 * broadcasts. Free *steps. Collective over world. */
enum hps_status hps_ckpt_list(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                              long long **steps, int *n, MPI_Comm world);
/* The folder of the checkpoints, and the file of a step, to free. Pure. */
char *hps_ckpt_folder(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir);
char *hps_ckpt_path(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir, long long step);

/* Read cursor and planning text (to free; NULL with a failure) of a file before anything is built.
 * Missing or unreadable: HPS_INPUT. Damaged, of another shape, or of another course (NULL: any; the
 * first line that differs is printed): HPS_DECK; `damaged` [out] distinguishes the first case.
 * Collective over world. */
enum hps_status hps_ckpt_peek(const char *path, const char *shape, const char *course,
                              struct hps_cursor *cursor,
                              char **planning, bool *damaged, MPI_Comm world);
/* What hps_ckpt_peek allocated in it. */
void hps_cursor_done(struct hps_cursor *cursor);
/* Load the state into a step, made for any plan; checksums are verified. Collective over world. */
enum hps_status hps_ckpt_load(const char *path, struct hps_step *step, MPI_Comm world);

#endif
