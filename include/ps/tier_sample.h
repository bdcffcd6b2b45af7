/* tier_sample.h - which rows of tables the steps of a run need, of a sample of its steps: for what
 * plan/tier.h says of rows that memory has no room for.
 *
 * Of some consecutive rows one is followed, drawn by chance, for which sampled steps are a stream
 * of a table that is as many times smaller (Waldspurger et al., SHARDS, 2015). The slots of a
 * training (ps/slots.h) then take this stream, with 1/2, 1/4, ... of the rows that it needs, in a
 * first epoch and in later ones; the rows of two steps are pinned at once, as in a training.
 * Local. */
#ifndef HPS_PS_TIER_SAMPLE_H
#define HPS_PS_TIER_SAMPLE_H

#include "net/net.h"
#include "plan/tier.h"

struct hps_tier_trace;

/* Of the ids of these layers (nlayer), which read the rows 0..rows-1 together. Layers are borrowed.
 * M micro-batches make a step. Local. */
struct hps_tier_trace *hps_tier_trace_new(int nlayer, const struct hps_layer *const *layer,
                                          long long rows, int M);
void hps_tier_trace_free(struct hps_tier_trace *trace); /* NULL is fine */
/* The next step of the run: its batches (M). False: it is long enough, the step was not added. */
bool hps_tier_trace_add(struct hps_tier_trace *trace, const struct hps_batch *batch);
/* What it says; rows is 0 where it has no step. O(rows followed x slots tried). */
struct hps_tier_sample hps_tier_trace_end(struct hps_tier_trace *trace);

#endif
