/* pooled.c - the partial pooled sums of a step: one of each bag at each owner, and hot rows apart.
 */
#include "ps/request/pooled_impl.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"

/* A key has the number of a hot row where others have the number of a row at its owner. */
static void widen_local_bits(struct hps_csr *k)
{
    if (k->local_bits < HPS_HOT_ROWS_BITS) {
        k->key_bits += HPS_HOT_ROWS_BITS - k->local_bits;
        k->local_bits = HPS_HOT_ROWS_BITS;
    }
}

struct hps_pooled *hps_pooled_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, struct hps_dev *dev)
{
    struct hps_pooled *p = hps_mem_new(1, sizeof *p);
    size_t all = (size_t)M * ((size_t)parts + 1), bags;

    p->dev = dev;
    hps_csr_init(&p->csr, nlayer, layer, rows, M, parts);
    widen_local_bits(&p->csr);
    bags = hps_csr_lookups(&p->csr);
    p->hot = hps_mem_new((size_t)M, sizeof *p->hot);
    for (int m = 0; m < M; m++)
        hps_hot_rows_init(&p->hot[m], parts);
    p->seen = hps_mem_new((size_t)dev->nthread * HPS_HOT_ROWS_SEEN, sizeof *p->seen);
    p->nsum = hps_mem_new((size_t)M, sizeof *p->nsum);
    p->receivers = parts + 1;
    p->message = hps_mem_new(all, sizeof *p->message);
    p->each = hps_parallel_apart(all, sizeof *p->next);
    p->lists = hps_mem_new(bags, sizeof *p->lists);
    p->front = hps_mem_new((size_t)M + 1, sizeof *p->front);
    return p;
}

void hps_pooled_free(struct hps_pooled *p)
{
    if (!p) return;
    for (int m = 0; m < p->csr.M; m++)
        hps_hot_rows_done(&p->hot[m]);
    hps_csr_done(&p->csr);
    hps_mem_free(p->hot);
    hps_mem_free(p->seen);
    hps_mem_free(p->nsum);
    hps_mem_free(p->message);
    hps_mem_free(p->next);
    hps_mem_free(p->aside);
    hps_mem_free(p->lists);
    hps_mem_free(p->front);
    hps_mem_free(p->hot_index);
    hps_mem_free(p);
}

static void count_sums(struct hps_pooled *p)
{
    const struct hps_csr *k = &p->csr;
    size_t n;

    for (int m = 0; m < k->M; m++)
        p->front[m + 1] = p->front[m] + (size_t)p->hot[m].n;
    n = (size_t)k->parts * (k->nbag + (size_t)k->M) + 2 * p->front[k->M];
    if (n + k->nid > INT_MAX)
        HPS_DIE("%zu ids and %zu partial sums of bags on this rank in one step; it can work with "
                "%d", k->nid, n, INT_MAX);
    memset(p->nsum, 0, (size_t)k->M * sizeof *p->nsum);
    for (const struct hps_csr_slot *s = k->slot; s < k->slot + k->nslot; s++)
        p->nsum[s->q / k->nlayer] += s->B;
}

static void find_hot(void *pooled, int m)
{
    struct hps_pooled *p = pooled;

    hps_hot_rows_find(&p->hot[m], &p->csr, m, p->seen + hps_parallel_me() * HPS_HOT_ROWS_SEEN);
}

/* Unique indices by micro-batch and owner: those of its sums, then those of its hot rows. */
static void assign_indices(struct hps_pooled *p, int *first, int *nrecv)
{
    const struct hps_csr *k = &p->csr;

    p->first = first;
    first[0] = 0;
    hps_mem_grow(&p->hot_index, &p->hot_index_cap, p->front[k->M] + 1, sizeof *p->hot_index);
    for (int m = 0; m < k->M; m++) {
        int *index = p->hot_index + p->front[m];
        first[m + 1] = first[m] + k->parts * p->nsum[m] + p->hot[m].n;
        for (int q = 0, i = 0; q < k->parts; q++) {
            int at = hps_pooled_first_index(p, m, q) + p->nsum[m];
            for (; i < p->hot[m].first[q + 1]; i++)
                index[i] = at++;
            *nrecv++ = p->nsum[m] + hps_pooled_rows(p, m, q);
        }
    }
}

void hps_pooled_find(struct hps_pooled *p, const struct hps_batch *batch,
                     const struct hps_pooled_step *step, const struct hps_pooled_request *request)
{
    struct hps_parallel each = { p->csr.M, p->dev->nthread };

    p->lookup = step->lookup;
    hps_csr_list(&p->csr, batch, p->dev->nthread, step->lookup);
    hps_parallel_for(&each, find_hot, p);
    count_sums(p);
    assign_indices(p, step->first, step->nrecv);
    hps_pooled_distribute(p, request, &step->memory->hot);
    if (batch) hps_pooled_bags(p, step->memory);
}

struct hps_merge_list hps_pooled_list(int n, const int *received)
{
    static const int none[] = { 0 };

    return n > 0 ? (struct hps_merge_list){ n, received, received + n + 1 }
                 : (struct hps_merge_list){ 0, none, NULL };
}
