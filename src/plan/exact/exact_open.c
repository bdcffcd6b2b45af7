/* exact_open.c - the nodes that wait, and what children share. */
#include "plan/exact/exact_open_impl.h"

#include "base/mem.h"

struct hps_exact_list *hps_exact_list_new(const struct hps_exact_model *m, int n)
{
    struct hps_exact_list *list = hps_mem_new(1, sizeof *list);
    size_t ndual = (size_t)m->dual[m->G];

    list->n = n;
    list->id = hps_mem_new((size_t)n, sizeof *list->id);
    list->lambda = hps_mem_new(ndual + (size_t)m->L, sizeof *list->lambda);
    list->price = list->lambda + ndual;
    return list;
}

void hps_exact_list_leave(struct hps_exact_list *list)
{
    if (--list->users > 0) return;
    hps_mem_free(list->id);
    hps_mem_free(list->lambda);
    hps_mem_free(list);
}

static bool before(const struct hps_exact_node *a, const struct hps_exact_node *b)
{
    return a->bound < b->bound || (a->bound == b->bound && a->depth > b->depth);
}

void hps_exact_open_push(struct hps_exact_open *x, struct hps_exact_node node)
{
    size_t a = x->n++;

    hps_mem_grow(&x->heap, &x->cap, x->n, sizeof *x->heap);
    node.list->users++;
    for (; a > 0 && before(&node, &x->heap[(a - 1) / 2]); a = (a - 1) / 2)
        x->heap[a] = x->heap[(a - 1) / 2];
    x->heap[a] = node;
}

struct hps_exact_node hps_exact_open_pop(struct hps_exact_open *x)
{
    struct hps_exact_node top = x->heap[0], last = x->heap[--x->n];
    size_t a = 0, b;

    while ((b = 2 * a + 1) < x->n) {
        b += b + 1 < x->n && before(&x->heap[b + 1], &x->heap[b]);
        if (!before(&x->heap[b], &last)) break;
        x->heap[a] = x->heap[b];
        a = b;
    }
    x->heap[a] = last;
    return top;
}
