/* cuda_attend.c - attention: the scoring network over all ids, in chunks, between kernels over the
 * bags. */
#include "hw/cuda/cuda_impl.h"
#include "hw/op_attention.h"

#define IDS ((size_t)1 << 17)   /* of a chunk */

struct attend {
    const struct hps_attention *net;
    struct hps_kern_bags bag;
    int dim;
    struct hps_tensor c;
    size_t chunk;               /* ids                                            */
    int *of, *nth;              /* (nid) the example of each id; not used         */
    float *score, *weight;      /* (nid)                                          */
    float *dscore, *drow, *dcand;       /* backward: (nid), twice (nid, dim)      */
    float *level[HPS_ATTENTION_HIDDEN + 2];        /* (chunk, width) values          */
    float *slope[HPS_ATTENTION_HIDDEN + 2];        /* and their gradients            */
};

static int width_of(const struct attend *j, int level)
{
    if (level == 0) return 4 * j->dim;
    return level <= j->net->nhidden ? j->net->hidden[level - 1] : 1;
}

static struct hps_tensor tensor_of(const struct attend *j, float *const *at, int level)
{
    int width = width_of(j, level);
    return hps_tensor_of(at[level], width);
}

static enum hps_act act_of(const struct attend *j, int level)
{
    return level < j->net->nhidden ? j->net->act : HPS_ACT_NONE;
}

static float *cut(float **at, size_t n)
{
    float *p = *at;
    if (n) *at += n;            /* without ids it may be no pointer into memory */
    return p;
}

/* Take the scratch of an operation, and fill in the example of each id. */
static void lay_out(struct attend *j, struct hps_dev *dev, bool back)
{
    size_t n = j->bag.nid, wide = 0, dim = (size_t)j->dim;
    int levels = j->net->nhidden + 2;

    j->chunk = n < IDS ? n : IDS;
    for (int l = 0; l < levels; l++)
        wide += (size_t)width_of(j, l);
    size_t floats = 4 * n + j->chunk * wide * (back ? 2 : 1) + (back ? n * (1 + 2 * dim) : 0);
    float *at = hps_cuda_reserve(dev, &hps_cuda_of(dev)->attend, floats * sizeof *at);
    j->of = (int *)(void *)cut(&at, n);
    j->nth = (int *)(void *)cut(&at, n);
    j->score = cut(&at, n);
    j->weight = cut(&at, n);
    for (int l = 0; l < levels; l++) {
        j->level[l] = cut(&at, j->chunk * (size_t)width_of(j, l));
        j->slope[l] = back ? cut(&at, j->chunk * (size_t)width_of(j, l)) : NULL;
    }
    j->dscore = back ? cut(&at, n) : NULL;
    j->drow = back ? cut(&at, n * dim) : NULL;
    j->dcand = back ? cut(&at, n * dim) : NULL;
    HPS_CUDA(hps_kern_bag_numbers(hps_cuda_stream(dev), j->bag, j->of, j->nth));
}

static struct hps_kern_attend kern_of(const struct attend *j)
{
    return (struct hps_kern_attend){ j->bag, j->dim, j->of, j->c };
}

/* The network's values for n ids from `first` on; those of the last layer are the scores. */
static void run_net(struct attend *j, struct hps_dev *dev, const float *param, size_t first,
                    size_t n)
{
    enum hps_precision precision = hps_dev_product(dev, 1, 1);  /* small ones */
    int last = j->net->nhidden + 1;

    HPS_CUDA(hps_kern_features(hps_cuda_stream(dev), kern_of(j), first, n, j->level[0]));
    for (int l = 0; l < last; l++) {
        struct hps_tensor x = tensor_of(j, j->level, l), y = tensor_of(j, j->level, l + 1);
        const float *b = param + (size_t)x.width * (size_t)y.width;
        if (l + 1 == last) y.data = j->score + first;
        hps_cuda_fc_forward(dev, &(struct hps_fc){ .act = act_of(j, l), .precision = precision,
                                                    .B = (int)n, .x = x, .w = param, .b = b,
                                                    .y = y });
        param = b + y.width;
    }
}

static size_t step_of(const struct attend *j, size_t first)
{
    size_t left = j->bag.nid - first;
    return left < j->chunk ? left : j->chunk;
}

/* The scores and weights of all ids. */
static void weigh(struct attend *j, struct hps_dev *dev, const float *param)
{
    for (size_t i = 0; i < j->bag.nid; i += step_of(j, i))
        run_net(j, dev, param, i, step_of(j, i));
    HPS_CUDA(hps_kern_attend_weights(hps_cuda_stream(dev), j->bag, j->dim, j->net->softmax,
                                     j->score, j->weight));
}

static struct attend attend_of(const struct hps_attended *a)
{
    return (struct attend){
        .net = a->net, .bag = hps_kern_bags_of(a->lookup), .dim = a->net->dim, .c = a->c
    };
}

static void attend_forward(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor y)
{
    struct attend j = attend_of(a);

    lay_out(&j, dev, false);
    weigh(&j, dev, a->param);
    HPS_CUDA(hps_kern_attend_pool(hps_cuda_stream(dev), j.bag, j.dim, j.weight, y));
}

/* Backward of the network for n ids from `first` on, last layer first. */
static void back_net(struct attend *j, struct hps_dev *dev, const float *param, float *grad,
                     size_t first, size_t n)
{
    size_t at[HPS_ATTENTION_HIDDEN + 2] = { 0 };
    int last = j->net->nhidden + 1;

    for (int l = 0; l < last; l++)
        at[l + 1] = at[l] + (size_t)(width_of(j, l) + 1) * (size_t)width_of(j, l + 1);
    for (int l = last - 1; l >= 0; l--) {
        struct hps_tensor x = tensor_of(j, j->level, l), y = tensor_of(j, j->level, l + 1);
        struct hps_tensor dx = tensor_of(j, j->slope, l), dy = tensor_of(j, j->slope, l + 1);
        if (l + 1 == last) dy.data = j->dscore + first;
        struct hps_fc fc = { .act = act_of(j, l), .precision = hps_dev_product(dev, 1, 1),
                             .B = (int)n, .x = x, .w = param + at[l], .y = y };
        hps_cuda_fc_backward(dev, &fc, dy, dx, grad + at[l],
                             grad + at[l] + (size_t)x.width * (size_t)y.width);
    }
    HPS_CUDA(hps_kern_features_back(hps_cuda_stream(dev), kern_of(j), first, n, j->slope[0],
                                    j->drow, j->dcand));
}

static void attend_backward(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor dy,
                            float *grad, struct hps_tensor dc)
{
    struct attend j = attend_of(a);
    size_t nid = j.bag.nid;
    struct hps_lookup each = { .nslot = 1,
                               .B = (int)nid,
                               .nid = nid,
                               .single = true,
                               .of.index = a->lookup->of.index,
                               .grad = a->lookup->grad };
    void *stream = hps_cuda_stream(dev);

    lay_out(&j, dev, true);
    weigh(&j, dev, a->param);
    HPS_CUDA(hps_kern_attend_pool_back(stream, kern_of(&j), j.net->softmax, j.weight, dy, j.dscore,
                                       j.drow));
    for (size_t i = 0; i < nid; i += step_of(&j, i)) {
        run_net(&j, dev, a->param, i, step_of(&j, i));
        back_net(&j, dev, a->param, grad, i, step_of(&j, i));
    }
    if (dc.data) HPS_CUDA(hps_kern_candidates(stream, j.bag, j.dim, j.dcand, dc));
    hps_cuda_bag_backward(dev, &each, j.dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                          hps_tensor_of(j.drow, j.dim), true);
}

const struct hps_op_attention hps_cuda_attention = { attend_forward, attend_backward };
