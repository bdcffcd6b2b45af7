/* evaluate.h - one forward pass over a whole dataset, through the pipeline; the ranks of the loss
 * collect predictions. */
#ifndef HPS_TRAIN_EVALUATE_H
#define HPS_TRAIN_EVALUATE_H

#include "step/step.h"

/* Every example of `data` once, in order, in batches of the deck's size; `metric` is cleared and
 * filled. All ranks learn of a failure on any; HPS_AGAIN: stopping was requested more than
 * patience_s ago, with more than a step to go. Training then goes on with the same bits as without
 * it. Collective over team->world. */
enum hps_status hps_evaluate(struct hps_step *step, const struct hps_data *data,
                             const struct hps_data_opt *opt, double patience_s,
                             struct hps_metric *metric);

/* Can the losses of the net take all labels in `data`? Else HPS_DECK with the loss, the file and
 * the example; a read error HPS_INPUT. Called first, so that a long training does not end in a test
 * set that cannot be evaluated. Each rank reads its share of the columns that losses use.
 * Collective. */
enum hps_status hps_evaluate_labels(const struct hps_net *net, const struct hps_data *data,
                                    MPI_Comm world);

#endif
