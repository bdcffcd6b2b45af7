/* evaluate.h - evaluates a dataset by forward passes through the pipeline; the ranks with the loss
 * collect predictions. */
#ifndef HPS_TRAIN_EVALUATE_H
#define HPS_TRAIN_EVALUATE_H

#include "step/step.h"

/* Evaluate every example of `data` once, in order, in batches of the deck's size; `metric` is
 * cleared and filled. The status is equal on all ranks. HPS_AGAIN: a stop was requested more
 * than patience_s ago and more than a step is left. The bits of the training are not affected.
 * Collective over team->world. */
enum hps_status hps_evaluate(struct hps_step *step, const struct hps_data *data,
                             const struct hps_data_opt *opt, double patience_s,
                             struct hps_metric *metric);

/* Check that the losses of the net accept all labels in `data`. Else HPS_DECK with the loss, the
 * file and the example; a read error HPS_INPUT. Called before a training, which would otherwise
 * end with a test set that cannot be evaluated. Each rank reads its share of the columns of
 * losses. Collective. */
enum hps_status hps_evaluate_check_labels(const struct hps_net *net, const struct hps_data *data,
                                          MPI_Comm world);

#endif
