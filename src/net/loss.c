/* loss.c - what losses share. */
#include "net/loss.h"

#include <math.h>

#include "base/say.h"

const struct hps_field hps_loss_fields[] = {
    HPS_LOSS_WEIGHT,
    { 0 }
};

enum hps_status hps_loss_shape_scalar(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    if (x->width != 1)
        return hps_deck_wrong(l->item, "inputs",
                              "loss '%s' needs an input of width 1, '%s' is %d wide", l->name,
                              x->name, x->width);
    l->wants_label = true;
    l->nsaved = 1;
    return hps_layer_set_width(l, 1);
}

enum hps_status hps_loss_labels(const struct hps_layer *l, const struct hps_batch *batch,
                                double min, double max, bool whole)
{
    for (int b = 0; b < batch->B; b++) {
        double x = (double)batch->label[b];
        if (x >= min && x <= max && (!whole || x == floor(x))) continue;
        long long row;
        const char *path = hps_data_locate(batch->data, batch->example[b], &row);
        HPS_SAY_ALL(HPS_ERROR, "%s: the label of example %lld is %g: loss '%s' takes %s from %g "
                    "to %g", path, row, x, l->name, whole ? "whole numbers" : "numbers", min,
                    max);
        return HPS_DECK;
    }
    return HPS_OK;
}

struct hps_loss hps_loss_of(const struct hps_pass *p, float *dx)
{
    return (struct hps_loss){ p->B, p->x[0], p->raw.label, p->loss.weight, p->loss.score,
                              p->loss.sum,
                              hps_tensor_of(p->training ? dx : NULL, p->x[0].width) };
}

void hps_loss_forward(struct hps_pass *p,
                      void (*operation)(struct hps_dev *dev, const struct hps_loss *loss))
{
    struct hps_loss loss = hps_loss_of(p, p->memory.saved);

    operation(p->dev, &loss);
}

void hps_loss_backward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    if (p->dx[0].data)
        p->dev->ops->dense->copy(p->dev, p->B, hps_tensor_of(p->memory.saved, p->x[0].width),
                                 p->dx[0]);
}
