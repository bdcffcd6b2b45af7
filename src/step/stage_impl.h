/* stage_impl.h - what the sources of a stage share. */
#ifndef HPS_STEP_STAGE_IMPL_H
#define HPS_STEP_STAGE_IMPL_H

#include "step/stage.h"

/* Make own, clipped and reduce, whose sum is as `sum` says. The slice's gradients are then own's.
 * Collective over team->stage. */
enum hps_status hps_stage_clip_new(struct hps_stage *mine, const struct hps_reduce_opt *sum);

/* Copy the running states of the slice to `running` (nrunning). Waits for the device. */
void hps_stage_read_running(const struct hps_stage *mine, double *running);

#endif
