/* slots.h - which rows of a table shard lie in memory that has not room for all of them: those that
 * steps need often; the rest lie elsewhere (design 6).
 *
 * The memory is a slab of slots. The rows of a step are brought in before it is computed, and are
 * pinned until they are released. How often steps needed a row is counted in a byte, all counts are
 * halved from time to time. The row that leaves is the least counted of a few neighbours at a
 * random place of the slab (sampled LFU), or the row that came in longest ago and has not been
 * compared yet, unless that one was needed more often: a row that is needed once does not stay
 * (admission; Einziger et al., TinyLFU, 2017). What a lookup gives does not depend on where the row
 * was. Local, host memory only. */
#ifndef HPS_PS_SLOTS_H
#define HPS_PS_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hps_slots;

/* Where a row lies: the number of its slot, or one of these. A place is the backing store's own
 * number for it, less than HPS_SLOTS_AWAY. */
#define HPS_SLOTS_NEVER UINT32_C(0x7fffffff)    /* in none, and nobody has said where */
#define HPS_SLOTS_AWAY UINT32_C(0x80000000)     /* in none: less this, its place      */

/* What has to move before a step's rows are in their slots: first those that leave, then those that
 * come. A slot may be in both lists. Borrowed, good until the next hps_slots_take. */
struct hps_slots_moves {
    size_t nout, nin;
    const int *out_row, *out_slot;  /* (nout) to the backing store; NEVER until set_place  */
    const int *in_row, *in_slot;    /* (nin) to their slots                                */
    const uint32_t *in_from;        /* (nin) NEVER, or AWAY and the place                  */
};

/* For nrow rows, with n slots (at least 1, at most nrow), all of them empty. Local. */
struct hps_slots *hps_slots_new(int nrow, int n);
void hps_slots_free(struct hps_slots *slots); /* NULL is fine */

/* A step is to come that needs the n distinct rows `row`: they have slots, and are pinned once
 * more. `learns`: they are counted. False: too many slots are pinned, or one of these too often
 * (255 times), nothing was changed. */
bool hps_slots_take(struct hps_slots *slots, size_t n, const int *row, bool learns,
                    struct hps_slots_moves *moves);
/* A step that took these slots (n) does not need them any more. */
void hps_slots_release(struct hps_slots *slots, size_t n, const int *slot);
/* slot[i] of row[i], for rows that are in a slot, repeats allowed. */
void hps_slots_find(const struct hps_slots *slots, size_t n, const int *row, int *slot);
/* Where a row lies; and, of one that is in no slot, that it lies there now. The row of a slot, -1:
 * none. Pure. */
uint32_t hps_slots_place(const struct hps_slots *slots, int row);
void hps_slots_set_place(struct hps_slots *slots, int row, uint32_t place);
int hps_slots_row(const struct hps_slots *slots, int slot);
int hps_slots_count(const struct hps_slots *slots); /* how many there are. Pure. */
/* All rows that are in a slot, as nout; they stay there. Before somebody reads the host's copy. */
struct hps_slots_moves hps_slots_all(struct hps_slots *slots);
/* The backing store's rows were written: none is in a slot any more, and none is pinned. And the
 * same with another number of slots. */
void hps_slots_forget(struct hps_slots *slots);
void hps_slots_resize(struct hps_slots *slots, int n);

/* Rows that steps that learn needed so far, and those of them that were in a slot already. */
double hps_slots_asked(const struct hps_slots *slots);
double hps_slots_hits(const struct hps_slots *slots);
/* Bytes of memory for a row, and for a slot, less what is in it. Pure. */
size_t hps_slots_row_bytes(void);
size_t hps_slots_slot_bytes(void);

#endif
