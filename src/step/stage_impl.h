/* stage_impl.h - what the sources of a stage share. */
#ifndef HPS_STEP_STAGE_IMPL_H
#define HPS_STEP_STAGE_IMPL_H

#include "step/stage.h"

/* Copy the running states of the slice to `running` (nrunning). Waits for the device. */
void hps_stage_read_running(const struct hps_stage *mine, double *running);

#endif
