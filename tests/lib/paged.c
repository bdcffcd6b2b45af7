#include "tests/lib/paged.h"

#include "base/quit.h"

enum { SOME = 320 };

static double nread;

struct hps_slots *paged_slots(long long nrow)
{
    return nrow > SOME ? hps_slots_new((int)nrow, SOME) : NULL;
}

void paged_open(struct paged *p, struct hps_table *table, size_t nlayer)
{
    const struct hps_row_store_opt opt = { 1, &table, p->slots, ".", (uint64_t)table->part };

    if (hps_row_store_new(&p->store, &opt) != HPS_OK) HPS_DIE("no file of rows");
    p->paging = hps_paging_new(p->store, table->dev, table->shape->name);
    p->steps = hps_paging_steps_new(p->paging, true, nlayer);
}

void paged_close(struct paged *p)
{
    hps_paging_steps_free(p->steps);
    hps_paging_free(p->paging);
    hps_row_store_free(p->store);
}

void paged_look_ahead(const struct paged *p, struct hps_request *request)
{
    hps_request_poll(request, true);
    const struct hps_request_step *next = hps_request_next(request);
    if (p->steps && next) hps_paging_prepare(p->steps, next);
}

void paged_change(const struct paged *p, bool left)
{
    int row[SOME], n = p->steps ? (int)hps_paging_slots(p->paging) : 0;

    if (!p->steps) return;
    for (int i = 0; i < n && left; i++)
        row[i] = i;
    if (left) {
        hps_paging_lend(p->paging, (size_t)n, row);
        hps_paging_give_back(p->paging);
        if (hps_paging_bring_again(p->steps, false)) HPS_DIE("rows that left are there");
    }
    while (!hps_paging_bring_again(p->steps, true))
        continue;
    hps_paging_change(p->steps);
}

void paged_read(const struct paged *p, const struct hps_table *table, float *x)
{
    struct hps_tier_count c = hps_row_store_counted(p->store);

    nread += c.read;
    if (hps_paging_status(p->paging) || c.asked < c.hits || c.written < c.read ||
        hps_row_store_read(p->store, table, 0, table->nrow, x))
        HPS_DIE("%g rows asked, %g there, %g read, %g written", c.asked, c.hits, c.read, c.written);
}

double paged_nread(void)
{
    return nread;
}
