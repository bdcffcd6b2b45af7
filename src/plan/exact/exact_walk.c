/* exact_walk.c - enumerates all paths below the best plan, depth first, by what the units that are
 * left are worth. */
#include "plan/exact/exact_cover_impl.h"

#include <math.h>

/* Where a depth-first walk stands. */
struct walk {
    struct hps_exact_cover *x;
    struct hps_exact_view *v;
    struct hps_exact_leaf *leaf;
    double base;
    long long steps;
    int S;
};

/* Are the units left of a group counted? Stages of a group of several types could be on any of
 * them. */
static bool counted(const struct hps_exact_cover *x, int g)
{
    return hps_exact_dual_table(x->m, g) && x->m->begin[g + 1] - x->m->begin[g] == 1;
}

/* The cost of the sets from boundary b on, with the units that are left. */
static double rest_of(const struct hps_exact_cover *x, int b)
{
    const double *here = x->behind + (size_t)b * x->n;
    double sum = 0;

    for (int g = 0; g < x->m->G; g++) {
        if (counted(x, g))
            sum += here[x->row[g] + x->left[g]];
        else
            for (int t = x->m->begin[g]; t < hps_exact_cover_end(x, g); t++)
                sum += here[x->row[g] + hps_exact_cover_capacity(x, g, t)];
    }
    return sum;
}

/* The same when this item comes first and uses some of them. */
static double rest_behind(const struct hps_exact_cover *x, const struct hps_exact_item *e,
                          double rest)
{
    const double *here = x->behind + (size_t)(e->j + 1) * x->n + x->row[e->g];
    int left = x->left[e->g];

    return counted(x, e->g) ? rest - here[left] + hps_exact_cover_behind(x, e)[left - (int)e->k]
                            : rest;
}

static bool visit(struct walk *w, int b, int before, double paid)
{
    struct hps_exact_cover *x = w->x;
    struct hps_exact_view *v = w->v;
    double rest = 0;

    if (b == x->m->L) {
        hps_exact_leaf_try(w->leaf, w->S, v->tried.arc);
        return true;
    }
    for (int a = v->first[b], end = -1; a < v->first[b + 1]; a++) {
        const struct hps_exact_item *e = &v->item[a];
        if (--w->steps < 0) return false;
        if ((e->g == before && !x->m->again[e->g]) || e->k > x->left[e->g]) continue;
        if (e->j != end) rest = rest_of(x, (end = e->j) + 1);
        if (w->base + paid + e->c + rest_behind(x, e, rest) >=
            w->leaf->best * (1 - HPS_EXACT_SAME))
            continue;
        x->left[e->g] -= (int)e->k;
        v->tried.arc[w->S++] = e->id;
        bool whole = visit(w, e->j + 1, e->g, paid + e->c);
        w->S--;
        x->left[e->g] += (int)e->k;
        if (!whole) return false;
    }
    return true;
}

bool hps_exact_cover_close(struct hps_exact_cover *x, struct hps_exact_view *v,
                           struct hps_exact_leaf *leaf, long long steps)
{
    const struct hps_exact_model *m = x->m;
    struct walk w = { x, v, leaf, 0, steps, 0 };

    hps_exact_cover_at(x, v, x->price);
    w.base = hps_exact_model_served(m, v->t1, v->t2) + x->sum[m->L];
    for (int g = 0; g < m->G; g++)
        x->left[g] = m->sum[g] < 1000000000 ? (int)m->sum[g] : 1000000000;
    x->left[m->servers.type] -= v->served;
    v->tried.S = 0;
    return visit(&w, 0, -1, 0);
}
