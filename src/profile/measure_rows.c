/* measure_rows.c - see measure_rows.h. */
#include "profile/measure_rows.h"

#include "base/mem.h"

void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer, bool sums,
                          long long rows, int parts, int M, struct hps_dev *dev)
{
    size_t pairs = (size_t)M * (size_t)parts;

    *r = (struct hps_measure_rows){ .layer = layer, .parts = parts, .M = M, .dev = dev };
    r->batch = hps_mem_new((size_t)M, sizeof *r->batch);
    r->first = hps_mem_new((size_t)M + 1, sizeof *r->first);
    r->ask = hps_mem_new(pairs, sizeof *r->ask);
    if (!sums) {
        r->places = hps_unique_new(1, &layer, rows, M, parts, !layer->kind->by_row, dev);
        return;
    }
    r->partials = hps_pooled_new(1, &layer, rows, M, parts, dev);
    r->merge = hps_merge_new(hps_cyclic_nlocal(rows, 0, parts), (int)pairs);
    r->list = hps_mem_new(pairs, sizeof *r->list);
    r->length = hps_mem_new(pairs, sizeof *r->length);
    r->told_at = hps_mem_new(pairs, sizeof *r->told_at);
}

void hps_measure_rows_free(struct hps_measure_rows *r)
{
    if (!r->layer) return;
    hps_unique_free(r->places);
    hps_pooled_free(r->partials);
    hps_merge_free(r->merge);
    hps_mem_free(r->list);
    hps_merged_free(&r->merged, r->dev);
    hps_int_mirror_free(&r->told, r->dev);
    hps_mem_free(r->length);
    hps_mem_free(r->told_at);
    hps_unique_room_free(&r->room, r->dev);
    hps_mem_free(r->batch);
    hps_mem_free(r->first);
    hps_mem_free(r->ask);
}

static void find_rows(struct hps_measure_rows *r, struct hps_lookup *lookup)
{
    hps_unique_find(r->places, r->batch, &r->room, r->first, r->ask, lookup);
    r->dev->ops->stream_wait(r->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    hps_unique_show(r->places, &r->room, lookup);
    for (int m = 0; m < r->M; m++)
        if (lookup[m].form == HPS_ROWS_IN_TABLE)
            lookup[m].form = HPS_ROWS_IN_ORDER; /* they were gathered */
    r->n = r->nplace = r->first[r->M];
    r->at = hps_int_mirror_show(&r->room.row, (size_t)r->n, r->dev);
    r->dev->ops->stream_wait(r->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
}

static void find_sums(struct hps_measure_rows *r, struct hps_lookup *lookup)
{
    hps_pooled_find(r->partials, r->batch, &r->room, r->first, r->ask, lookup, r->length,
                    r->told_at, &r->told);
    for (int i = 0; i < r->M * r->parts; i++)
        r->list[i] = hps_pooled_list(r->ask[i], r->told.host + r->told_at[i]);
    hps_merge_lists(r->merge, r->list, r->dev->nthread, &r->merged);
    r->nplace = r->first[r->M];
    r->n = r->merged.n;
    r->at = r->merged.row.host;
}

void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch, int most,
                           struct hps_lookup *lookup)
{
    for (int m = 0; m < r->M; m++) {
        r->batch[m] = batch[m];
        r->batch[m].B = batch[m].B < most ? batch[m].B : most;
    }
    if (r->places)
        find_rows(r, lookup);
    else
        find_sums(r, lookup);
}

void hps_measure_rows_pull(const struct hps_measure_rows *r, struct hps_table *table, float *value)
{
    if (r->places) hps_table_gather(table, (size_t)r->n, r->at, value);
    for (int i = 0; !r->places && i < r->M * r->parts; i++) {
        const struct hps_merge_list *l = &r->list[i];
        if (l->n > 0) hps_table_sums(table, (size_t)l->n, l->begin, l->row, value);
        value += (size_t)l->n * (size_t)table->dim;
    }
}

struct hps_row_sums hps_measure_rows_sums(const struct hps_measure_rows *r, const float *grad)
{
    if (r->places) return (struct hps_row_sums){ .row = grad };
    return (struct hps_row_sums){ grad, r->merged.start.host, r->merged.from.host };
}
