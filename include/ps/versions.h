/* versions.h - how stale gradients are: the version of a row is the number of gradients that were
 * applied to it, the staleness of a gradient the version when it is applied less the one that was
 * pulled. Of a table at a server of asynchronous workers. */
#ifndef HPS_PS_VERSIONS_H
#define HPS_PS_VERSIONS_H

#include <stddef.h>
#include <stdint.h>

/* Gradients by staleness: 0, 1, 2, 3, then up to twice as much each: 4-7, 8-15, ... */
enum { HPS_STALENESS_BINS = 16 };
struct hps_staleness {
    long long n[HPS_STALENESS_BINS];
    long long max;
    double sum;
};
/* One gradient, of a row or a block. */
void hps_staleness_add(struct hps_staleness *s, long long staleness);
/* The least staleness of a bin. Pure. */
long long hps_staleness_from(int bin);

/* The versions of a table's rows (nrow). */
struct hps_versions {
    uint32_t *of;                       /* (nrow)                               */
};
/* What one worker has pulled, and how stale its gradients are. Zeroed memory is a valid start. */
struct hps_pulled {
    uint32_t *version;                  /* (n) of the rows that it pulled       */
    uint32_t *last;                     /* (nrow) where gradients are held back: the version that
                                           those to come are counted from; or NULL */
    int *staleness;                     /* (n) of their gradients, once applied */
    int max;                            /* the largest of them                  */
    int *order;                         /* (n) their numbers, once sorted       */
    size_t n, cap[4];
    uint32_t *before;                   /* scratch                              */
};
void hps_pulled_free(struct hps_pulled *pulled);
/* Gradients of a row are held back and come as one, which is as stale as the oldest: counted from
 * the pull before (of a worker with several ranks, that of any of them). For a table of nrow rows.
 */
void hps_pulled_hold(struct hps_pulled *pulled, size_t nrow);
/* The worker pulls these distinct rows (n). Of some of them (nheld; a row may be there twice) it
 * holds gradients, which will come with the next ones. */
struct hps_versions_held {
    size_t n;
    const int *row;
};
void hps_versions_pull(const struct hps_versions *versions, struct hps_pulled *pulled, size_t n,
                       const int *row, struct hps_versions_held held);
/* Its gradients of them come to be applied: set the staleness of each, and add it to `s`. */
void hps_versions_push(const struct hps_versions *versions, struct hps_pulled *pulled,
                       const int *row, struct hps_staleness *s);
/* Gradients of these distinct rows (n) were applied: count (n) of each; NULL: one. */
void hps_versions_apply(struct hps_versions *versions, size_t n, const int *row, const int *count);
/* Order the gradients by their staleness. */
void hps_pulled_sort(struct hps_pulled *pulled);

#endif
