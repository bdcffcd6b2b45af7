/* tier.h - which rows of a table shard lie in the fast memory of a device that has not room for
 * all of them: the hot ones; the rest stay in the host's (design 6).
 *
 * The fast memory is a slab of slots. The rows of a step are brought in before it is computed;
 * those that leave for them are found by a clock whose hand takes one from a slot's count until it
 * finds none (generalised CLOCK; Smith 1978): a row that was used often stays for as many rounds.
 * What a lookup gives does not depend on where the row was. Local, host memory only. */
#ifndef HPS_PS_SLOTS_H
#define HPS_PS_SLOTS_H

#include <stddef.h>

struct hps_slots;

/* What has to move before a step's rows are in their slots: first those that leave, then those that
 * come. A slot may be in both lists. Borrowed, good until the next hps_slots_take. */
struct hps_slots_moves {
    size_t nout, nin;
    const int *out_row, *out_slot; /* (nout) back to the host */
    const int *in_row, *in_slot;   /* (nin) to the device     */
};

/* For nrow rows, with n slots (at least 1, at most nrow), all of them empty. Local. */
struct hps_slots *hps_slots_new(int nrow, int n);
void hps_slots_free(struct hps_slots *slots); /* NULL is fine */

/* A step is to come that needs the n distinct rows `row`: n <= slots. */
struct hps_slots_moves hps_slots_take(struct hps_slots *slots, size_t n, const int *row);
/* slot[i] of row[i], for rows of the step taken last, repeats allowed. */
void hps_slots_find(const struct hps_slots *slots, size_t n, const int *row, int *slot);
int hps_slots_count(const struct hps_slots *slots); /* how many there are. Pure. */
/* All rows that are in a slot, as nout; they stay there. Before somebody reads the host's copy. */
struct hps_slots_moves hps_slots_all(struct hps_slots *slots);
/* The host's rows were written: none is in a slot any more. And the same with another number of
 * slots. */
void hps_slots_forget(struct hps_slots *slots);
void hps_slots_resize(struct hps_slots *slots, int n);

/* Rows that steps needed so far, and those of them that were in a slot already. */
double hps_slots_asked(const struct hps_slots *slots);
double hps_slots_hits(const struct hps_slots *slots);

#endif
