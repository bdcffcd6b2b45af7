/* stopwatch.c - the host's clock, or two events. */
#include "hw/stopwatch.h"

void hps_stopwatch_init(struct hps_stopwatch *w, struct hps_dev *dev, double (*host_s)(void))
{
    *w = (struct hps_stopwatch){ .dev = dev, .host_s = host_s };
    if (dev->host) return;
    w->from = dev->ops->event_new(dev);
    w->to = dev->ops->event_new(dev);
}

void hps_stopwatch_done(struct hps_stopwatch *w)
{
    w->dev->ops->event_free(w->dev, w->from);
    w->dev->ops->event_free(w->dev, w->to);
}

void hps_stopwatch_begin(struct hps_stopwatch *w)
{
    if (!w->dev->host) {
        w->dev->ops->event_record(w->dev, w->from, HPS_STREAM_COMPUTE);
        return;
    }
    w->dev->ops->sync(w->dev);          /* work queued before does not count */
    w->from_s = w->host_s();
}

double hps_stopwatch_end(struct hps_stopwatch *w)
{
    const struct hps_dev_ops *ops = w->dev->ops;

    if (!w->dev->host) ops->event_record(w->dev, w->to, HPS_STREAM_COMPUTE);
    ops->sync(w->dev);
    return w->dev->host ? w->host_s() - w->from_s : ops->event_elapsed_s(w->dev, w->from, w->to);
}
