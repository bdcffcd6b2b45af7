/* aggregate.c - sums of held gradients, in the order in which their rows came. */
#include "ps/aggregate.h"

#include <stdbool.h>

#include "base/mem.h"

struct hps_aggregate *hps_aggregate_new(size_t nrow, int dim)
{
    struct hps_aggregate *a = hps_mem_new(1, sizeof *a);

    a->dim = dim;
    a->place = hps_mem_new(nrow, sizeof *a->place);
    return a;
}

void hps_aggregate_free(struct hps_aggregate *a)
{
    if (!a) return;
    hps_mem_free(a->row);
    hps_mem_free(a->count);
    hps_mem_free(a->sum);
    hps_mem_free(a->place);
    hps_mem_free(a);
}

/* The place of a row; a new one has no gradients yet. */
static size_t place_of(struct hps_aggregate *a, int row)
{
    if (a->place[row] == 0) {
        a->row[a->n] = row;
        a->count[a->n] = 0;
        a->place[row] = (int)++a->n;
    }
    return (size_t)a->place[row] - 1;
}

void hps_aggregate_add(struct hps_aggregate *a, size_t n, const int *row, const float *grad,
                       float scale)
{
    size_t dim = (size_t)a->dim;

    hps_mem_grow(&a->row, &a->cap[0], a->n + n, sizeof *a->row);
    hps_mem_grow(&a->count, &a->cap[1], a->n + n, sizeof *a->count);
    hps_mem_grow(&a->sum, &a->cap[2], (a->n + n) * dim, sizeof *a->sum);
    for (size_t i = 0; i < n; i++) {
        size_t at = place_of(a, row[i]);
        float *sum = a->sum + at * dim;
        bool first = a->count[at]++ == 0;
        for (size_t k = 0; k < dim; k++)
            sum[k] = (first ? 0 : sum[k]) + scale * grad[i * dim + k];
    }
}

void hps_aggregate_clear(struct hps_aggregate *a)
{
    for (size_t i = 0; i < a->n; i++)
        a->place[a->row[i]] = 0;
    a->n = 0;
}
