/* cuda_rows.c - operations on bags and rows of tables, update rules. */
#include <assert.h>

#include "hw/cuda/cuda_impl.h"

void hps_cuda_bag_forward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor y)
{
    assert(lookup->form == HPS_ROWS_BY_INDEX);
    struct hps_kern_pool pooling = { dim, pool == HPS_POOL_MEAN, combine == HPS_COMBINE_CONCAT };
    HPS_CUDA(hps_kern_bag(hps_cuda_stream(dev), hps_kern_bags_of(lookup), pooling, y));
}

/* The sort by row is stable, so that each row's sum has the order of the CPU's. */
void hps_cuda_bag_backward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                           enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                           bool add)
{
    void *stream = hps_cuda_stream(dev);
    size_t n = lookup->nid, temp = 0;
    float *grad = lookup->grad->row;

    assert(lookup->form == HPS_ROWS_BY_INDEX);
    if (!add) dev->ops->zero(dev, grad, lookup->grad->nrow * (size_t)dim * sizeof *grad);
    if (n == 0) return;
    struct hps_kern_pool pooling = { dim, pool == HPS_POOL_MEAN, combine == HPS_COMBINE_CONCAT };
    struct hps_kern_sort sort = { .n = n, .key = lookup->of.index };
    HPS_CUDA(hps_kern_sort(stream, &sort, NULL, &temp));
    size_t pieces = hps_kern_partial_floats(n, dim) * sizeof(float);
    int *of = hps_cuda_scratch(dev, 4 * n * sizeof *of + pieces + temp), *was = of + n;
    sort.value = was;
    sort.key_out = was + n;
    sort.value_out = was + 2 * n;
    float *partial = (float *)(void *)(was + 3 * n);
    HPS_CUDA(hps_kern_bag_numbers(stream, hps_kern_bags_of(lookup), of, was));
    HPS_CUDA(hps_kern_sort(stream, &sort, (char *)partial + pieces, &temp));
    struct hps_kern_sorted ids = { sort.key_out, sort.value_out, of, partial };
    HPS_CUDA(hps_kern_bag_back(stream, hps_kern_bags_of(lookup), pooling, ids, dy, grad));
}

void hps_cuda_rows_gather(struct hps_dev *dev, const float *table, struct hps_row_list rows,
                          float *out)
{
    HPS_CUDA(hps_kern_gather(hps_cuda_stream(dev), table, rows, out));
}

void hps_cuda_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                         struct hps_row_list rows, const struct hps_row_sums *grad)
{
    HPS_CUDA(hps_kern_rows_apply(hps_cuda_stream(dev), *rule, table, rows, *grad));
}

void hps_cuda_rows_move(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                        const float *from, const int *to_at, float *to)
{
    HPS_CUDA(hps_kern_rows_move(hps_cuda_stream(dev), stride, n, from_at, from, to_at, to));
}

void hps_cuda_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                       float *to)
{
    HPS_CUDA(hps_kern_rows_sum(hps_cuda_stream(dev), dim, n, *sums, to));
}

void hps_cuda_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                     float *grad, float *state, size_t plane)
{
    double *scratch = hps_cuda_scratch(dev, (hps_kern_sum_blocks(n) + 2) * sizeof *scratch);

    assert(rule->nrow == 0);
    HPS_CUDA(hps_kern_update(hps_cuda_stream(dev), *rule, n, param, grad, state, plane,
                             scratch));
}
