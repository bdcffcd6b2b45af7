/* loss.h - what losses share: the key `weight`, the check of labels, the backward.
 *
 * A network is trained on the sum of its losses, each times its `weight` and averaged over the
 * examples of a step. A loss may be any layer; the last layer is one, and its scores are evaluated.
 */
#ifndef HPS_NET_LOSS_H
#define HPS_NET_LOSS_H

#include "hw/op_loss.h"
#include "net/net.h"

/* Keys of every loss; the keys of a type follow in a struct that begins with this one. */
struct hps_loss_opt {
    struct hps_layer_opt head;
    double weight;
};
#define HPS_LOSS_WEIGHT                                                                            \
    HPS_FIELD(hps_loss_opt, weight, HPS_REAL, "1", 0, 1e6, "", "of this loss in the sum of losses")
extern const struct hps_field hps_loss_fields[];       /* of a loss without keys of its own */

/* The `shape` of losses of one number an example against its label. HPS_DECK if the input is
 * wider. */
enum hps_status hps_loss_shape_scalar(struct hps_layer *l, struct hps_net *net);

/* HPS_DECK, naming layer and example, for the first label of the batch that is not within min to
 * max or, where `whole`, no whole number. Local. */
enum hps_status hps_loss_labels(const struct hps_layer *l, const struct hps_batch *batch,
                                double min, double max, bool whole);

/* The arguments of a device's loss operation for the only input of the layer. Where the pass
 * trains, the operation writes the gradient of the input to dx (B, width). Pure. */
struct hps_loss hps_loss_of(const struct hps_pass *p, float *dx);
/* The forward of a loss by an operation that has no more arguments: the gradient of the input is
 * written to p->memory.saved. */
void hps_loss_forward(struct hps_pass *p,
                      void (*operation)(struct hps_dev *dev, const struct hps_loss *loss));
/* The backward of a loss whose forward wrote that gradient to p->memory.saved. */
void hps_loss_backward(const struct hps_layer *l, struct hps_pass *p);

#endif
