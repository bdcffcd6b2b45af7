#include "plan/measure_rows.h"

#include "base/mem.h"

void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer,
                          long long rows, int parts, int M, struct hps_dev *dev)
{
    *r = (struct hps_measure_rows){ .layer = layer, .parts = parts, .M = M, .dev = dev };
    r->places = hps_places_new(1, &layer, rows, M, parts, !layer->kind->by_row, dev);
    r->batch = hps_mem_new((size_t)M, sizeof *r->batch);
    r->first = hps_mem_new((size_t)M + 1, sizeof *r->first);
    r->ask = hps_mem_new((size_t)M * (size_t)parts, sizeof *r->ask);
}

void hps_measure_rows_free(struct hps_measure_rows *r)
{
    if (!r->layer) return;
    hps_places_free(r->places);
    hps_places_room_free(&r->room, r->dev);
    hps_mem_free(r->batch);
    hps_mem_free(r->first);
    hps_mem_free(r->ask);
}

void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch, int most,
                           struct hps_bag *bag)
{
    for (int m = 0; m < r->M; m++) {
        r->batch[m] = batch[m];
        r->batch[m].B = batch[m].B < most ? batch[m].B : most;
    }
    hps_places_find(r->places, r->batch, &r->room, r->first, r->ask, bag);
    r->dev->ops->follow(r->dev, HPS_LANE_FEED, HPS_LANE_WORK);
    hps_places_show(r->places, &r->room, bag);
    for (int m = 0; m < r->M; m++)
        bag[m].lies = NULL;             /* they were gathered */
    r->n = r->first[r->M];
    r->at = hps_ints_show(&r->room.row, (size_t)r->n, r->dev);
    r->dev->ops->follow(r->dev, HPS_LANE_WORK, HPS_LANE_FEED);
}
