/* tier.h - how many rows of a table a step finds in memory, makes, reads from a file and writes to
 * it, where memory has slots for some of the rows (ps/slots.h), and what that takes; pure.
 *
 * A sample of a run's own steps says it (ps/tier_sample.h), for any number of slots and any length
 * of the run. Of R rows a step needs `asked` distinct ones, and D(n) are distinct in n steps:
 *     D(n) = R (1 - exp(-y(n)))
 * y is known at 1 and at sample/2^i steps, and is a power of n between these and behind: there with
 * the last exponent, of 1 at most. Of ids that are drawn evenly y grows as n; by Zipf's law with a
 * smaller exponent, Heaps' law, until the rows come to an end.
 * A row is made once, when a step needs it first; an epoch after the first one (`pass` steps) needs
 * no new rows. All others that a step needs were needed before in the epoch, and g(x) is the share
 * of these that are in slots, where there are x slots for each row that was needed so far. It is 1
 * from x = 1 on, is measured at x = 2^-i, and is linear in log x between; it hardly depends on the
 * length of the run: even draws have g = x, whatever was drawn before, and Zipf's law looks alike
 * at all scales. In later epochs, where slots have learned more, it is g'(x), and h(x) of the rows
 * that the epoch needs for the first time; x of all rows. So in n steps, with S slots, and
 * d(t) = D(t) - D(t - 1), t the step of the epoch,
 *     made = D(min(n, pass))
 *     hits = sum over steps of g(S / D(t)) (asked - d(t)) in the first epoch, behind it
 *                              g'(S / D(pass)) (asked - d(t)) + h(S / D(pass)) d(t)
 *     read = n asked - made - hits
 *     written = max(made + read - S, 0)         since steps have changed the rows that leave */
#ifndef HPS_PLAN_TIER_H
#define HPS_PLAN_TIER_H

#include <stdbool.h>

/* i of sample/2^i, of 2^-i. */
enum { HPS_TIER_POINTS = 7, HPS_TIER_SHARES = 7 };

/* Bytes of memory for each row that is in memory or in a file: where it is, how often it was needed
 * and two bits of the file's map, which has one for each of some 1.75 places a row; for each slot
 * beside its row. */
static const double HPS_TIER_ROW_BYTES = 5.25;
enum { HPS_TIER_SLOT_BYTES = 11 };

/* What a sample of steps says of the rows of one request. */
struct hps_tier_sample {
    double rows;                        /* R; 0: nothing is known                         */
    double asked;                       /* distinct rows of a step of all workers, mean   */
    double steps;                       /* sampled                                        */
    double distinct[HPS_TIER_POINTS];   /* rows in the first max(1, floor(steps/2^i))     */
    double hits[HPS_TIER_SHARES];       /* g(2^-i); hits[0] is 1                          */
    double later_hits[HPS_TIER_SHARES]; /* g'(2^-i); the same                             */
    double first_hits[HPS_TIER_SHARES]; /* h(2^-i)                                        */
};

/* Rows of a step, means over a run. */
struct hps_tier_rows {
    double asked, hits, made, read, written;
};

/* Distinct rows in n steps. Pure. */
double hps_tier_distinct(const struct hps_tier_sample *x, double n);
/* g, g' or h (share, of a sample) at so many slots for each row. Pure. */
double hps_tier_hit_share(const double share[HPS_TIER_SHARES], double slots);
/* Of all owners together, which have that many slots; a run of n steps, epochs of `pass`. Pure. */
struct hps_tier_rows hps_tier_rows(const struct hps_tier_sample *x, double slots, double n,
                                   double pass);

/* Rows of one request on one unit. */
struct hps_tier_part {
    double rows, row_bytes;             /* of a row of all its tables                     */
    bool all;                           /* [out] all are in memory                        */
    double slots;                       /* [out] rows that are                            */
};
/* Divide so many bytes of memory among the rows of n requests: small ones get all that they need,
 * since steps need most of their rows; the large ones share what is left, with the index of their
 * rows. False: there is none left for slots. Pure. */
bool hps_tier_divide(int n, struct hps_tier_part *part, double bytes);

#endif
