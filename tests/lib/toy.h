/* toy.h - a dataset's shape without a file, a net over it, and seeded micro-batches: what the tests
 * of the model floor share.
 *
 * The dataset: 100 examples, D = 3, slots a (10 ids), b (7), c (12, any number an example),
 * d (5, any number). */
#ifndef HPS_TESTS_TOY_H
#define HPS_TESTS_TOY_H

#include "net/slice.h"

struct toy {
    struct hps_slot slot[4];
    struct hps_data data;
    struct hps_deck *deck;
    struct hps_net *net;
    struct hps_dev dev;
    struct hps_train_opt train;
};

/* The net of a deck text; the status and the net are as hps_net_new leaves them. */
enum hps_status toy_try(struct toy *toy, const char *deck);
/* The same, must succeed; a CPU device with two threads; `train` bound from the deck. */
void toy_open(struct toy *toy, const char *deck);
void toy_close(struct toy *toy);

/* A micro-batch of B examples from global number `first` on, for all layers of the net: example
 * n has the same ids, features and label in every feed. Bags have 0 to 3 ids, repeats among them;
 * pulled rows are (TOY_ROWS, dim) of random numbers. */
enum { TOY_ROWS = 6 };
struct toy_feed {
    struct hps_feed feed;               /* of a slice that begins at layer 0 */
    struct hps_lookup *lookup;          /* (L) */
    const struct hps_lookup **lookups;  /* (L) NULL where there is no table */
    float **rows;                       /* (L) */
    struct hps_row_grad *rows_grad;     /* (L) added to */
    long long *example;
    float *label, *dense;
    int L;
};
void toy_feed_new(struct toy_feed *f, const struct toy *toy, long long first, int B, float weight);
void toy_feed_free(struct toy_feed *f);
/* The feed as the slice from layer `first` on sees it. */
struct hps_feed toy_feed_from(const struct toy_feed *f, int first);

/* Standard error as text while a verb speaks: between listen and heard. */
void toy_listen(void);
const char *toy_heard(void);            /* until the next listen */

#endif
