/* exact_beam.c - beam search for a path through a view, boundary by boundary: of the paths to a
 * boundary with the same units only the best is followed, and of all others only the best `width`.
 */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* A path to a boundary. */
struct label {
    double value;           /* charge, with the lowest cost to go                             */
    uint64_t hash;          /* of its units, and of its last group where that matters         */
    int parent, item;       /* the label before; the item that ends here                      */
};

/* The labels of one boundary so far. */
struct heap {
    struct label *label;
    size_t n, cap;
    double max; /* labels above this value are not followed */
};

struct hps_exact_beam {
    const struct hps_exact_model *m;
    uint64_t *key;          /* (2, G) of a unit, of the last group  */
    struct heap *heap;      /* (L + 1)                              */
    struct label *done;     /* of all boundaries that were passed   */
    size_t ndone, cap, width;
    long long *used;        /* (G)                                  */
    int *path;              /* (L) arcs                             */
    int *slot;              /* (nslot) label + 1 by hash            */
    size_t nslot;
    double over;            /* what a unit beyond the limit costs   */
    const long long *given; /* (G) units that are used before       */
};

struct hps_exact_beam *hps_exact_beam_new(const struct hps_exact_model *m)
{
    struct hps_exact_beam *b = hps_mem_new(1, sizeof *b);
    size_t L = (size_t)m->L, G = (size_t)m->G;

    b->m = m;
    b->key = hps_mem_new(2 * G, sizeof *b->key);
    for (size_t a = 0; a < 2 * G; a++)
        b->key[a] = hps_rng_key(a, "beam") | 1;
    b->heap = hps_mem_new(L + 1, sizeof *b->heap);
    b->used = hps_mem_new(G, sizeof *b->used);
    b->path = hps_mem_new(L, sizeof *b->path);
    return b;
}

void hps_exact_beam_free(struct hps_exact_beam *b)
{
    if (!b) return;
    for (int l = 0; l <= b->m->L; l++)
        hps_mem_free(b->heap[l].label);
    hps_mem_free(b->heap);
    hps_mem_free(b->key);
    hps_mem_free(b->done);
    hps_mem_free(b->used);
    hps_mem_free(b->path);
    hps_mem_free(b->slot);
    hps_mem_free(b);
}

static bool better(const struct label *a, const struct label *b)
{
    return a->value < b->value || (a->value == b->value && a->hash < b->hash);
}

static void sink(struct label *x, size_t a, size_t n)
{
    struct label top = x[a];

    for (size_t c; (c = 2 * a + 1) < n; a = c) {
        c += c + 1 < n && better(&x[c], &x[c + 1]);
        if (!better(&top, &x[c])) break;
        x[a] = x[c];
    }
    x[a] = top;
}

/* Heap sort of the labels, best first, in place. */
static void sort(struct label *x, size_t n)
{
    for (size_t a = n / 2; a-- > 0;)
        sink(x, a, n);
    for (size_t a = n; a-- > 1;) {
        struct label top = x[0];
        x[0] = x[a];
        x[a] = top;
        sink(x, 0, a);
    }
}

/* Where a label of this hash is, or would be. */
static int *find(struct hps_exact_beam *b, const struct heap *h, uint64_t hash)
{
    size_t at = (size_t)(hash >> 20) & (b->nslot - 1);

    while (b->slot[at] && h->label[b->slot[at] - 1].hash != hash)
        at = (at + 1) & (b->nslot - 1);
    return &b->slot[at];
}

static void clear_slots(struct hps_exact_beam *b, size_t n)
{
    size_t want = b->nslot ? b->nslot : 16;

    while (want < 2 * n)
        want *= 2;
    if (want > b->nslot) {
        hps_mem_free(b->slot);
        b->slot = hps_mem_new(want, sizeof *b->slot);
        b->nslot = want;
    }
    memset(b->slot, 0, b->nslot * sizeof *b->slot);
}

/* Drop all but the best `width` labels with different hashes. */
static void thin_out(struct hps_exact_beam *b, struct heap *h)
{
    size_t n = 0;

    sort(h->label, h->n);
    clear_slots(b, h->n < b->width ? h->n : b->width);
    for (size_t a = 0; a < h->n; a++) {
        struct label *x = &h->label[a];
        int *slot = find(b, h, x->hash);
        if (*slot) continue;
        if (n == b->width) break;
        h->label[n] = *x;
        *slot = (int)++n;
    }
    h->n = n;
    if (n == b->width) h->max = h->label[n - 1].value;
}

/* The charge for so many units of a group: prices rise as the units run out. */
static double charged(const struct hps_exact_beam *b, const struct hps_exact_view *v, int g,
                      long long used)
{
    const struct hps_exact_model *m = b->m;
    const double *price = v->dual.lambda + m->dual[g];
    long long left = m->sum[g] - used;
    double beyond = left < 0 ? b->over * (double)-left : 0;

    if (!hps_exact_dual_table(m, g)) return price[0] * (double)used + beyond;
    return price[m->sum[g] - 1] - (left > 0 ? price[left - 1] : 0) + beyond;
}

/* The charge of an item after `used` units of its group. */
static double charge(const struct hps_exact_beam *b, const struct hps_exact_view *v,
                     const struct hps_exact_item *e, long long used)
{
    const struct hps_exact_model *m = v->m;

    if (m->begin[e->g + 1] - m->begin[e->g] > 1)
        return e->c + (used + (long long)e->k > m->sum[e->g] ? b->over * e->k : 0);
    return e->w + charged(b, v, e->g, used + (long long)e->k) - charged(b, v, e->g, used);
}

static void count_used(struct hps_exact_beam *b, const struct hps_exact_view *v, size_t a)
{
    memcpy(b->used, b->given, (size_t)b->m->G * sizeof *b->used);
    for (; b->done[a].item >= 0; a = (size_t)b->done[a].parent) {
        const struct hps_exact_item *e = &v->item[b->done[a].item];
        b->used[e->g] += (long long)e->k;
    }
}

static void arrive(struct hps_exact_beam *b, struct heap *h, struct label x)
{
    if (x.value >= h->max) return;
    if (h->n == 4 * b->width) thin_out(b, h);
    hps_mem_grow(&h->label, &h->cap, h->n + 1, sizeof *h->label);
    h->label[h->n++] = x;
}

/* Extend the a-th label, at boundary l, by every item. */
static void extend(struct hps_exact_beam *b, const struct hps_exact_view *v, size_t a, int l)
{
    const struct hps_exact_model *m = b->m;
    struct label from = b->done[a];
    int last = from.item < 0 ? -1 : v->item[from.item].g;

    count_used(b, v, a);
    from.value -= last < 0 ? v->bwd[0].v1 : hps_exact_adjacent(v, &v->bwd[l], last);
    if (last >= 0 && !m->again[last]) from.hash -= b->key[m->G + last];
    for (int c = v->first[l]; c < v->first[l + 1]; c++) {
        const struct hps_exact_item *e = &v->item[c];
        if (e->g == last && !m->again[last]) continue;
        double value = from.value + charge(b, v, e, b->used[e->g]) +
                       hps_exact_adjacent(v, &v->bwd[e->j + 1], e->g);
        if (isinf(value)) continue;
        uint64_t hash = from.hash + (uint64_t)e->k * b->key[e->g];
        if (!m->again[e->g]) hash += b->key[m->G + e->g];
        arrive(b, &b->heap[e->j + 1], (struct label){ value, hash, (int)a, c });
    }
}

/* The arcs of a label's path; their number. */
static int trace(struct hps_exact_beam *b, const struct hps_exact_view *v, size_t a)
{
    int S = 0, s;

    for (size_t x = a; b->done[x].item >= 0; x = (size_t)b->done[x].parent)
        S++;
    s = S;
    for (size_t x = a; b->done[x].item >= 0; x = (size_t)b->done[x].parent)
        b->path[--s] = v->item[b->done[x].item].id;
    return S;
}

/* Every label, to the last boundary. Where that one's labels begin. */
static size_t sweep(struct hps_exact_beam *b, const struct hps_exact_view *v)
{
    const struct hps_exact_model *m = b->m;
    size_t first = 0;

    b->ndone = 0;
    for (int l = 0; l <= m->L; l++) {
        b->heap[l].n = 0;
        b->heap[l].max = INFINITY;
    }
    arrive(b, &b->heap[0], (struct label){ v->bwd[0].v1, 0, -1, -1 });
    for (int l = 0; l <= m->L; l++) {
        struct heap *h = &b->heap[l];
        thin_out(b, h);
        first = b->ndone;
        hps_mem_grow(&b->done, &b->cap, first + h->n, sizeof *b->done);
        if (h->n > 0) memcpy(b->done + first, h->label, h->n * sizeof *b->done);
        b->ndone += h->n;
        for (size_t a = first; a < b->ndone && l < m->L; a++)
            extend(b, v, a, l);
    }
    return first;
}

int hps_exact_beam_least(struct hps_exact_beam *b, const struct hps_exact_view *v,
                         const long long *given, double over, int width, int *arc)
{
    b->width = (size_t)width;
    b->over = over;
    b->given = given;
    size_t a = sweep(b, v);
    if (a == b->ndone) return 0;
    int S = trace(b, v, a);
    memcpy(arc, b->path, (size_t)S * sizeof *arc);
    return S;
}
