/* evaluate.h - the whole of a dataset forward through the pipeline: predictions where the loss is.
 */
#ifndef HPS_TRAIN_EVALUATE_H
#define HPS_TRAIN_EVALUATE_H

#include "train/step.h"

/* Every example of `data` once, in order, in batches of the deck's size; `metric` is cleared and
 * filled. A trouble of any rank is told to all. Training goes on as if nothing had been. Collective
 * over team->world. */
enum hps_status hps_evaluate(struct hps_step *step, const struct hps_data *data,
                             const struct hps_data_opt *opt, struct hps_metric *metric);

#endif
