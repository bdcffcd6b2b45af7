/* sync_bsp.c - bulk synchronous parallel: rows of a step are those that the step before left on
 * their owners, and each owner applies the sum of all gradients of a step once. What bounds the
 * ranks are the rows and gradients themselves: each waits for those that it needs.
 *
 * Tables are gone through in the order of the net on all ranks: collectives of GPUs must be queued
 * in one order. What is done for a table is counted for the first of my stages that reads it. */
#include "hw/count.h"
#include "ps/ps_impl.h"

/* The exchange of table i; time is counted for its stage from now on. */
static struct hps_exchange *work_on(struct hps_ps *p, int i)
{
    hps_region_part(hps_team_part(p->team, p->table[i].stage));
    return p->table[i].exchange;
}

static void begin(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_pull_begin(work_on(p, i), p->group[p->table[i].group].step);
}

static void push_begin(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_push_begin(work_on(p, i));
}

static void push_end(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_push_end(work_on(p, i));
}

static double norm2(struct hps_ps *p)
{
    double sum = 0;

    for (int i = 0; i < p->ntable; i++)
        sum += hps_exchange_norm2(p->table[i].exchange);
    return sum;
}

static void apply(struct hps_ps *p, const struct hps_ps_table *table, const struct hps_rule *rule)
{
    (void)p;
    hps_exchange_apply(table->exchange, rule);
}

static void poll(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_poll(p->table[i].exchange);
}

extern const struct hps_sync_ops hps_sync_bsp;
const struct hps_sync_ops hps_sync_bsp = { .name = "bsp",
                                           .begin = begin,
                                           .push_begin = push_begin,
                                           .push_end = push_end,
                                           .norm2 = norm2,
                                           .apply = apply,
                                           .poll = poll };
