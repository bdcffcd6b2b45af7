/* staging.c - rows of a step to their slots. */
#include "ps/staging.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "net/int_mirror.h"

/* Numbers of a step under way stay while those of the next are made. */
enum { KEPT = 2 };

struct turn {
    struct hps_request_step step;
    struct hps_int_mirror row, merged, out_row, out_slot, in_row, in_slot;
};

struct hps_staging {
    struct hps_slots *slots;
    int ntable;
    struct hps_table **table;   /* (ntable) */
    struct hps_dev *dev;
    struct turn turn[KEPT];
    long long taken;
    double bytes;
};

struct hps_staging *hps_staging_new(struct hps_slots *slots, int ntable,
                                    struct hps_table *const *table, struct hps_dev *dev)
{
    struct hps_staging *w = hps_mem_new(1, sizeof *w);

    w->slots = slots;
    w->ntable = ntable;
    w->dev = dev;
    w->table = hps_mem_new((size_t)ntable, sizeof(struct hps_table *));
    for (int t = 0; t < ntable; t++)
        w->table[t] = table[t];
    return w;
}

void hps_staging_free(struct hps_staging *w)
{
    if (!w) return;
    for (struct turn *t = w->turn; t < w->turn + KEPT; t++) {
        hps_int_mirror_free(&t->row, w->dev);
        hps_int_mirror_free(&t->merged, w->dev);
        hps_int_mirror_free(&t->out_row, w->dev);
        hps_int_mirror_free(&t->out_slot, w->dev);
        hps_int_mirror_free(&t->in_row, w->dev);
        hps_int_mirror_free(&t->in_slot, w->dev);
    }
    hps_mem_free(w->table);
    hps_mem_free(w);
}

/* A copy of n numbers as the device sees it. */
static const int *shown(struct hps_staging *w, struct hps_int_mirror *a, size_t n, const int *from)
{
    hps_int_mirror_grow(a, (size_t)hps_slots_count(w->slots)); /* at once as many as it can be */
    memcpy(a->host, from, n * sizeof *from);
    return hps_int_mirror_to_device(a, n, w->dev);
}

/* Slots of n rows, likewise. */
static const int *found(struct hps_staging *w, struct hps_int_mirror *a, size_t n, const int *row)
{
    hps_int_mirror_grow(a, n + 1);
    hps_slots_find(w->slots, n, row, a->host);
    return hps_int_mirror_to_device(a, n, w->dev);
}

/* Those that leave go first: a slot may be another's at once. */
static void move(struct hps_staging *w, struct turn *t, const struct hps_slots_moves *m)
{
    const int *out_row = shown(w, &t->out_row, m->nout, m->out_row);
    const int *out_slot = shown(w, &t->out_slot, m->nout, m->out_slot);
    const int *in_row = shown(w, &t->in_row, m->nin, m->in_row);
    const int *in_slot = shown(w, &t->in_slot, m->nin, m->in_slot);

    w->dev->ops->stream_wait(w->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    for (int i = 0; i < w->ntable; i++) {
        struct hps_table *table = w->table[i];
        if (m->nout > 0) table->tier->evict(table, m->nout, out_row, out_slot);
        if (m->nin > 0) table->tier->fetch(table, m->nin, in_row, in_slot);
        w->bytes += (double)(m->nout + m->nin) * (double)table->stride * sizeof(float);
    }
}

/* More slots, for n rows and some: everything goes home first. */
static void grow(struct hps_staging *w, struct turn *t, size_t n)
{
    struct hps_slots_moves all = hps_slots_all(w->slots);
    int slots = (int)fmin((double)n * 1.25, (double)w->table[0]->nrow);

    HPS_SAY_ALL(HPS_WARN, "storage.gpu_memory: a step needs %zu rows of table '%s', there was room "
                "for %d: it is made for %d", n, w->table[0]->shape->name,
                hps_slots_count(w->slots), slots);
    move(w, t, &all);
    for (int i = 0; i < w->ntable; i++)
        w->table[i]->tier->resize(w->table[i], slots);
    hps_slots_resize(w->slots, slots);
    w->dev->ops->sync(w->dev);  /* the lists are read before they are written again */
}

/* The step's rows get slots. They are pinned no longer than that: the device goes through moves and
 * steps in one order. */
static void take(struct hps_staging *w, struct turn *t, size_t n, const int *row)
{
    struct hps_slots_moves m;

    if (n > (size_t)hps_slots_count(w->slots)) grow(w, t, n);
    bool taken = hps_slots_take(w->slots, n, row, true, &m);
    assert(taken);
    (void)taken;
    move(w, t, &m);
    t->step.merged = found(w, &t->merged, n, row);
    hps_slots_release(w->slots, n, t->merged.host);
}

const struct hps_request_step *hps_staging_step(struct hps_staging *w,
                                                const struct hps_request_step *step)
{
    struct turn *t = &w->turn[w->taken++ % KEPT];
    size_t n = (size_t)step->nmerge;

    /* COMPUTE has read the lists of this turn */
    w->dev->ops->stream_wait(w->dev, HPS_STREAM_FEED, HPS_STREAM_COMPUTE);
    t->step = *step;
    take(w, t, n, step->merged_host);
    t->step.row = step->row_host == step->merged_host
                      ? t->step.merged
                      : found(w, &t->row, step->nsend_all, step->row_host);
    w->dev->ops->stream_wait(w->dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    return &t->step;
}

double hps_staging_bytes(const struct hps_staging *w)
{
    return w->bytes;
}
