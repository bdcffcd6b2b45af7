/* stage_share.c - ranks of a host update a share of the dense weights each. */
#include "base/mem.h"
#include "step/stage.h"

void hps_stage_update_share(struct hps_stage *r, struct hps_update update)
{
    size_t first, end;

    for (int i = 0; hps_reduce_share(r->reduce, i, &first, &end); i++)
        hps_slice_update_share(r->slice, first, end, update);
    hps_reduce_gather_begin(r->reduce, r->slice->param);
}

void hps_stage_gather(struct hps_stage *r)
{
    hps_reduce_gather_end(r->reduce, r->slice->param);
}

void hps_stage_gather_states(struct hps_stage *r)
{
    if (!r->reduce || !hps_reduce_by_share(r->reduce)) return;
    float *plane = hps_mem_new(r->slice->nparam, sizeof *plane);
    for (int p = 0; p < hps_slice_nplane(r->slice); p++) {
        hps_slice_states_out(r->slice, p, plane);
        hps_reduce_gather_begin(r->reduce, plane);
        hps_reduce_gather_end(r->reduce, plane);
        hps_slice_states_in(r->slice, p, plane);
    }
    hps_mem_free(plane);
}
