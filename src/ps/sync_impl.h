/* sync_impl.h - how a step of this rank keeps to the steps of the others: when it may begin, when
 * gradients reach the rows. A table of operations for each mode (train.synchronization), and one
 * list of them: another mode is one file and one line in the list. For src/ps only.
 *
 * The calls of a step are begin; where one learns, push_begin, push_end, norm2 where gradients are
 * clipped, and apply for each table. All ranks that work make them in the same order. */
#ifndef HPS_PS_SYNC_IMPL_H
#define HPS_PS_SYNC_IMPL_H

struct hps_ps;
struct hps_ps_table;
struct hps_rule;

struct hps_sync_ops {
    const char *name;           /* the word in the deck */
    /* The step whose requests were taken begins: its rows leave their owners. A mode that bounds
     * how far ranks are apart waits here, and nowhere else. */
    void (*begin)(struct hps_ps *ps);
    /* Gradients of this step leave for the owners of the rows; and have all come to me. Begin does
     * not wait for others. */
    void (*push_begin)(struct hps_ps *ps);
    void (*push_end)(struct hps_ps *ps);
    /* Sum of squares of the gradients that this rank will apply. Local. */
    double (*norm2)(struct hps_ps *ps);
    /* The rule on the rows of a table that this step read. Local. */
    void (*apply)(struct hps_ps *ps, const struct hps_ps_table *table, const struct hps_rule *rule);
    /* Rows and gradients make progress. Never blocks. */
    void (*poll)(struct hps_ps *ps);
};

/* The mode of that name; NULL: there is none. Pure. */
const struct hps_sync_ops *hps_sync_find(const char *name);

#endif
