/* loss.h - what the kinds of losses share: the key `weight`, a look at labels, the way back.
 *
 * A net is trained on the sum of its losses, each times its `weight`, as means over the examples of
 * a step. A loss may stand anywhere; the last layer is one, and its scores are judged. */
#ifndef HPS_NET_LOSS_H
#define HPS_NET_LOSS_H

#include "hw/op_loss.h"
#include "net/net.h"

/* Keys of every loss; the keys of a kind follow in a struct that begins with this one. */
struct hps_loss_opt {
    struct hps_layer_opt head;
    double weight;
};
#define HPS_LOSS_WEIGHT                                                                            \
    HPS_FIELD(hps_loss_opt, weight, HPS_REAL, "1", 0, 1e6, "", "of this loss in the sum of losses")
extern const struct hps_field hps_loss_fields[];       /* of a loss without keys of its own */

/* A loss of one number an example against its label. HPS_DECK at the layer. */
enum hps_status hps_loss_of_one(struct hps_layer *l, struct hps_net *net);

/* Labels between `least` and `most`, whole numbers where `whole`: HPS_DECK names layer and example
 * of the first that is not. Local. */
enum hps_status hps_loss_labels(const struct hps_layer *l, const struct hps_batch *batch,
                                double least, double most, bool whole);

/* What the device is asked for: the loss of the only input; a forward that trains leaves the
 * input's gradient (B, its width) at `dx`. Pure. */
struct hps_loss hps_loss_of(const struct hps_pass *p, float *dx);
/* The backward of a loss that left it in p->memory.saved. */
void hps_loss_backward(const struct hps_layer *l, struct hps_pass *p);

#endif
