/* evaluate.h - the whole of a dataset forward through the pipeline: predictions where the loss is.
 */
#ifndef HPS_TRAIN_EVALUATE_H
#define HPS_TRAIN_EVALUATE_H

#include "step/step.h"

/* Every example of `data` once, in order, in batches of the deck's size; `metric` is cleared and
 * filled. A trouble of any rank is told to all; HPS_AGAIN: there was a wish to stop for more than
 * patience_s, and more than a step to go. Training goes on as if nothing had been. Collective over
 * team->world. */
enum hps_status hps_evaluate(struct hps_step *step, const struct hps_data *data,
                             const struct hps_data_opt *opt, double patience_s,
                             struct hps_metric *metric);

/* Are there labels in `data` that a loss of the net cannot take? HPS_DECK with its name, the file
 * and the example; a read error HPS_INPUT. Only the columns that losses look at are read, each rank
 * its share: so that a long training does not end in a test set that cannot be evaluated.
 * Collective. */
enum hps_status hps_evaluate_labels(const struct hps_net *net, const struct hps_data *data,
                                    MPI_Comm world);

#endif
