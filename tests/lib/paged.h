/* paged.h - for tests of exchanges: a shard of which memory has some rows, the others are in a file
 * of the folder that the test runs in. */
#ifndef HPS_TESTS_PAGED_H
#define HPS_TESTS_PAGED_H

#include "ps/paging.h"

/* Zero: memory has all rows. */
struct paged {
    struct hps_slots *slots;            /* owned by the test */
    struct hps_row_store *store;
    struct hps_paging *paging;
    struct hps_paging_steps *steps;
};

/* Slots for some more rows than a step needs, fewer than two of most do; NULL: for so few rows none
 * are made. */
struct hps_slots *paged_slots(long long nrow);
/* The table has these slots; nlayer: of the requests. What fails ends the test. */
void paged_open(struct paged *p, struct hps_table *table, size_t nlayer);
void paged_close(struct paged *p);
/* The next step's rows begin to be read, where its requests have come; not where p is zero. */
void paged_look_ahead(const struct paged *p, struct hps_request *request);
/* Rows of the step will be changed; `left`: others took all slots before. */
void paged_change(const struct paged *p, bool left);
/* All rows of the table, x (nrow, stride). */
void paged_read(const struct paged *p, const struct hps_table *table, float *x);
/* Rows that came from files, before stores were read. */
double paged_nread(void);

#endif
