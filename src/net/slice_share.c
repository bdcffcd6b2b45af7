/* slice_share.c - ranks of a host update a share of the weights each, with its optimiser states. */
#include <string.h>

#include "net/slice_impl.h"

bool hps_slice_has_shares(const struct hps_slice *s)
{
    for (int i = 0; i <= s->last - s->first; i++)
        if (hps_slice_rule(s, i, hps_update_of(0, 1)).kind == HPS_RULE_LAMB) return false;
    return true;
}

void hps_slice_update_part(struct hps_slice *s, int i, const struct hps_rule *rule, size_t from,
                           size_t end)
{
    size_t first = s->offset[i], last = s->offset[i + 1];
    size_t at = from > first ? from : first, to = end < last ? end : last;

    if (at < to)
        s->dev->ops->dense->update(s->dev, rule, to - at, s->param + at, s->grad + at,
                                   s->state + s->state_at[i] + (at - first), last - first);
}

void hps_slice_update_share(struct hps_slice *s, size_t first, size_t end,
                            struct hps_update update)
{
    for (int i = 0; i <= s->last - s->first; i++) {
        struct hps_rule rule = hps_slice_rule(s, i, update);
        hps_slice_update_part(s, i, &rule, first, end);
    }
}

/* ---- states ---- */

/* Plane p of the states of the i-th layer; NULL: it has fewer. */
static float *plane_of(const struct hps_slice *s, int i, int p)
{
    size_t n = s->offset[i + 1] - s->offset[i], end = s->state_at[i] + (size_t)(p + 1) * n;

    return n > 0 && end <= s->state_at[i + 1] ? s->state + end - n : NULL;
}

int hps_slice_nplane(const struct hps_slice *s)
{
    int most = 0;

    for (int i = 0; i <= s->last - s->first; i++)
        while (plane_of(s, i, most))
            most++;
    return most;
}

void hps_slice_states_out(const struct hps_slice *s, int p, float *plane)
{
    for (int i = 0; i <= s->last - s->first; i++) {
        const float *from = plane_of(s, i, p);
        size_t at = s->offset[i], n = s->offset[i + 1] - at;
        if (from) memcpy(plane + at, from, n * sizeof *from);
    }
}

void hps_slice_states_in(struct hps_slice *s, int p, const float *plane)
{
    for (int i = 0; i <= s->last - s->first; i++) {
        float *to = plane_of(s, i, p);
        size_t at = s->offset[i], n = s->offset[i + 1] - at;
        if (to) memcpy(to, plane + at, n * sizeof *to);
    }
}
