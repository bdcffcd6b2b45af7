/* exact_open_impl.h - the open nodes of plan/exact/exact_tree.c, best bound first; what was worth
 * its time. */
#ifndef HPS_PLAN_EXACT_EXACT_OPEN_IMPL_H
#define HPS_PLAN_EXACT_EXACT_OPEN_IMPL_H

#include "plan/exact/exact_impl.h"

/* What both children of a node share. */
struct hps_exact_list {
    int users, n;
    int *id;                    /* (n) arcs that are left                                   */
    double *lambda;             /* (dual[G]) prices of units                                */
    bool covered;               /* are those of layers known?                               */
    double *price, pace;        /* (L) they, and how fast they moved (exact_cover_impl.h) */
};

/* Without users, n arcs not set; the first push of a node with it makes one. */
struct hps_exact_list *hps_exact_list_new(const struct hps_exact_model *m, int n);
/* One user less; without any it is freed. */
void hps_exact_list_leave(struct hps_exact_list *list);

struct hps_exact_node {
    double bound, t1, t2;
    struct hps_exact_list *list;
    struct hps_exact_branch branch; /* the rule that its parent was divided by          */
    int depth;
    double share, above;        /* of the layer on the group, and the bound by the prices of layers,
                                   when it was divided; INFINITY: these were not known      */
};

struct hps_exact_open {
    struct hps_exact_node *heap;
    size_t n, cap;
};

/* Takes one use of the node's list. */
void hps_exact_open_push(struct hps_exact_open *x, struct hps_exact_node node);
/* The node of the lowest bound; among equal ones the deepest, which is closest to a plan or to
 * being closed. n > 0. */
struct hps_exact_node hps_exact_open_pop(struct hps_exact_open *x);

/* Skips a costly bound where it did not help: nodes to skip next time, and still to skip. */
struct hps_exact_trust {
    int wait, pause;
};

static inline bool hps_exact_trusted(struct hps_exact_trust *x)
{
    return x->pause-- <= 0;
}

static inline void hps_exact_trust(struct hps_exact_trust *x, bool good)
{
    x->wait = good ? 0 : x->wait < 1000 ? 2 * x->wait + 1 : 1000;
    x->pause = x->wait;
}

#endif
