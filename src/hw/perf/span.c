/* span.c - a ring of pairs of events. */
#include "hw/span.h"

#include <assert.h>

#include "base/mem.h"

enum { CAPACITY = 256 };        /* pairs; then the oldest is dropped */

struct span {
    struct hps_event *from, *to;
    int what;
    double less_s;
};

struct hps_spans {
    struct hps_dev *dev;
    struct span span[CAPACITY];
    long long begun, ended, taken;
};

struct hps_spans *hps_spans_new(struct hps_dev *dev)
{
    if (dev->host) return NULL;
    struct hps_spans *s = hps_mem_new(1, sizeof *s);
    s->dev = dev;
    for (int i = 0; i < CAPACITY; i++) {
        s->span[i].from = dev->ops->event_new(dev);
        s->span[i].to = dev->ops->event_new(dev);
    }
    return s;
}

void hps_spans_free(struct hps_spans *s)
{
    if (!s) return;
    for (int i = 0; i < CAPACITY; i++) {
        s->dev->ops->event_free(s->dev, s->span[i].from);
        s->dev->ops->event_free(s->dev, s->span[i].to);
    }
    hps_mem_free(s);
}

void hps_spans_begin(struct hps_spans *s, int what)
{
    if (!s) return;
    assert(s->begun == s->ended);
    if (s->begun - s->taken == CAPACITY) s->taken++;
    struct span *x = &s->span[s->begun++ % CAPACITY];
    x->what = what;
    s->dev->ops->event_record(s->dev, x->from, HPS_STREAM_COMPUTE);
}

void hps_spans_end(struct hps_spans *s, double less_s)
{
    if (!s) return;
    struct span *x = &s->span[s->ended++ % CAPACITY];
    assert(s->begun == s->ended);
    x->less_s = less_s;
    s->dev->ops->event_record(s->dev, x->to, HPS_STREAM_COMPUTE);
}

bool hps_spans_take(struct hps_spans *s, bool blocking, int *what, double *seconds)
{
    if (!s || s->taken == s->ended) return false;
    struct span *x = &s->span[s->taken % CAPACITY];
    if (blocking)
        hps_dev_wait(s->dev, x->to);
    else if (!s->dev->ops->event_done(s->dev, x->to))
        return false;
    double took = s->dev->ops->event_elapsed_s(s->dev, x->from, x->to) - x->less_s;
    s->taken++;
    *what = x->what;
    *seconds = took > 0 ? took : 0;
    return true;
}
