/* layer_hinge.c - the hinge loss: of one number an example against a label of 0 or 1, or of an
 * example's two towers against those of other examples of its micro-batch.
 *
 * With negatives, inputs are a user and an item of one width. The likeness of a user and its own
 * item has to pass that of the user and each of `negatives` other items by the margin; examples of
 * label 0 are nobody's pair, but their items are among the others. Which others is drawn by (seed,
 * step, layer, example) from the rows of the whole micro-batch, on whatever ranks these are. */
#include <limits.h>
#include <string.h>

#include "base/rng.h"
#include "hw/op_in_batch.h"
#include "net/loss.h"

struct hinge_opt {
    struct hps_loss_opt loss;
    double margin;
    int negatives;
    const char *likeness;
};

static const struct hps_field fields[] = {
    HPS_LOSS_WEIGHT,
    HPS_FIELD(hinge_opt, margin, HPS_REAL, "1", 0, 1e6, "", "how far apart is far enough"),
    HPS_FIELD(hinge_opt, negatives, HPS_INT, "0", 0, 1000000, "",
              "other items of the micro-batch, for each user; 0: one input, against the label"),
    HPS_CHOICE(hinge_opt, likeness, "cosine", "cosine|dot", "with negatives: of user and item"),
    { 0 }
};

static bool paired(const struct hps_layer *l)
{
    return ((const struct hinge_opt *)l->opt)->negatives > 0;
}

static bool cosine(const struct hps_layer *l)
{
    return strcmp(((const struct hinge_opt *)l->opt)->likeness, "cosine") == 0;
}

/* The width of a tower, which is saved for each of my rows. */
static size_t width_of(const struct hps_layer *l)
{
    return (l->nsaved - 2) / 4;
}

static enum hps_status shape_pairs(struct hps_layer *l, struct hps_net *net)
{
    if (l->ninput != 2)
        return hps_deck_wrong(l->item, "inputs", "loss '%s' with negatives needs two inputs, user "
                              "and item, not %d", l->name, l->ninput);
    const struct hps_layer *user = &net->layer[l->input[0]], *item = &net->layer[l->input[1]];
    if (user->width != item->width)
        return hps_deck_wrong(l->item, "inputs", "loss '%s' compares '%s' (%d wide) and '%s' (%d "
                              "wide)", l->name, user->name, user->width, item->name, item->width);
    l->wants_label = true;
    l->nsaved = 4 * (size_t)user->width + 2;      /* normalised towers, gradients, norms */
    l->nscratch_row = 2 * (size_t)user->width;        /* items of all rows, and their gradients */
    l->nexchange_row = (size_t)user->width;
    return hps_layer_set_width(l, 1);
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    l->score = HPS_SCORE_RANK;
    if (paired(l)) return shape_pairs(l, net);
    if (hps_item_has(l->item, "likeness"))
        return hps_deck_wrong(l->item, "likeness", "loss '%s' compares nothing: it has no "
                              "`negatives`", l->name);
    if (l->ninput != 1)
        return hps_deck_wrong(l->item, "inputs", "loss '%s' has %d inputs, but no `negatives`",
                              l->name, l->ninput);
    return hps_loss_shape_scalar(l, net);
}

/* The counts of an MPI message are int. */
static enum hps_status check_rows(const struct hps_layer *l, long long min, long long max)
{
    const struct hinge_opt *o = l->opt;

    if (o->negatives >= min)
        return hps_deck_wrong(l->item, "negatives", "loss '%s' wants %d other items, a micro-batch "
                              "has %lld examples", l->name, o->negatives, min);
    if (paired(l) && max > INT_MAX / (long long)width_of(l))
        return hps_deck_wrong(l->item, "inputs", "loss '%s' compares %lld items of %zu numbers in "
                              "a micro-batch, %d numbers are the most: raise data.microbatches",
                              l->name, max, width_of(l), INT_MAX);
    return HPS_OK;
}

static enum hps_status check_batch(const struct hps_layer *l, const struct hps_batch *batch)
{
    return hps_loss_labels(l, batch, 0, 1, true);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct hinge_opt *o = l->opt;

    (void)net;
    return paired(l) ? 6.0 * (double)width_of(l) * (o->negatives + 2) : 4;
}

/* The arrays of the saved memory and of the shared scratch. */
struct parts {
    float *user, *item, *duser, *ditem, *user_norm, *item_norm;     /* (B, width) or (B) */
    float *all, *dall;                                              /* (rows, width)     */
};

static struct parts parts_of(const struct hps_layer *l, const struct hps_pass *p)
{
    size_t n = (size_t)p->B * width_of(l), B = (size_t)p->B;
    struct parts k = { .user = p->memory.saved, .all = p->memory.all };

    k.item = k.user + n;
    k.duser = k.item + n;
    k.ditem = k.duser + n;
    k.user_norm = k.ditem + n;
    k.item_norm = k.user_norm + B;
    k.dall = k.all + (size_t)p->collective->rows * width_of(l);
    return k;
}

static void take(const struct hps_layer *l, struct hps_pass *p, int i, float *to, float *norm)
{
    struct hps_tensor x = p->x[i];

    if (p->B > 0 && cosine(l))
        p->dev->ops->layers->in_batch->l2_normalise(p->dev, p->B, x, to, norm);
    else if (p->B > 0)
        p->dev->ops->dense->copy(p->dev, p->B, x, hps_tensor_of(to, x.width));
}

/* The gradients of items of other ranks are sent back here: the backward has no collective. */
static void forward_pairs(const struct hps_layer *l, struct hps_pass *p)
{
    const struct hinge_opt *o = l->opt;
    const struct hps_op_in_batch *op = p->dev->ops->layers->in_batch;
    struct parts k = parts_of(l, p);
    int width = (int)width_of(l);

    take(l, p, 0, k.user, k.user_norm);
    take(l, p, 1, k.item, k.item_norm);
    p->collective->allgather(p->collective, width, k.item, k.all);
    struct hps_in_batch rows = {
        .B = p->B, .rows = p->collective->rows, .first = p->collective->first, .width = width,
        .u = k.user, .all = k.all, .label = p->raw.label, .example = p->raw.example,
        .negatives = o->negatives, .key = hps_rng_sub(p->key, hps_rng_key(0, l->name)),
        .margin = (float)o->margin,
    };
    op->hinge(p->dev, &rows, p->loss.weight, p->loss.score, p->loss.sum,
              p->training ? k.duser : NULL, p->training ? k.dall : NULL);
    if (!p->training) return;
    p->collective->reduce_scatter(p->collective, width, k.dall, k.ditem);
    if (p->B > 0 && cosine(l)) {
        op->l2_normalise_back(p->dev, p->B, width, k.user, k.user_norm, k.duser);
        op->l2_normalise_back(p->dev, p->B, width, k.item, k.item_norm, k.ditem);
    }
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct hinge_opt *o = l->opt;
    struct hps_loss loss = hps_loss_of(p, p->memory.saved);

    if (paired(l))
        forward_pairs(l, p);
    else if (p->B > 0)
        p->dev->ops->layers->loss->hinge(p->dev, &loss, (float)o->margin);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    if (p->B == 0) return;
    if (!paired(l)) {
        hps_loss_backward(l, p);
        return;
    }
    struct parts k = parts_of(l, p);
    const float *from[] = { k.duser, k.ditem };
    for (int i = 0; i < 2; i++)
        if (p->dx[i].data)
            p->dev->ops->dense->copy(p->dev, p->B, hps_tensor_of(from[i], (int)width_of(l)),
                                     p->dx[i]);
}

extern const struct hps_layer_type hps_layer_hinge;
const struct hps_layer_type hps_layer_hinge = {
    .name = "hinge",
    .help = "loss of one number an example against a label of 0 or 1, or of user and item against "
            "other items of the micro-batch",
    .fields = fields,
    .opt_size = sizeof(struct hinge_opt),
    .min_inputs = 1,
    .max_inputs = 2,
    .loss = true,
    .reads_example = true,
    .collective = true,
    .shape = shape,
    .check_rows = check_rows,
    .check_batch = check_batch,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
