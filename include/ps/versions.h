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
    int *staleness;                     /* (n) of their gradients, once applied */
    int max;                            /* the largest of them                  */
    int *order;                         /* (n) their numbers, once sorted       */
    size_t n, cap[3];
};
void hps_pulled_free(struct hps_pulled *pulled);
/* The worker pulls these distinct rows (n). */
void hps_versions_pull(const struct hps_versions *versions, struct hps_pulled *pulled, size_t n,
                       const int *row);
/* Its gradients of them come to be applied: set the staleness of each, and add it to `s`. */
void hps_versions_push(const struct hps_versions *versions, struct hps_pulled *pulled,
                       const int *row, struct hps_staleness *s);
/* Gradients of these distinct rows (n) were applied: count (n) of each; NULL: one. */
void hps_versions_apply(struct hps_versions *versions, size_t n, const int *row, const int *count);
/* Order the gradients by their staleness. */
void hps_pulled_sort(struct hps_pulled *pulled);

#endif
