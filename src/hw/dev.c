/* dev.c - the list of device backends of this build. */
#include "hw/dev.h"

#include <string.h>

#include "base/wait.h"

enum { MIN_BF16_WIDTH = 16 };

static const struct hps_dev_ops *const all[] = {
    &hps_dev_cpu,
    &hps_dev_loaded,
};

const struct hps_dev_ops *hps_dev_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

const char *hps_dev_precision_word(enum hps_precision precision)
{
    static const char *const word[] = { "fp32", "tf32", "bf16" };

    return word[precision];
}

enum hps_precision hps_dev_product(const struct hps_dev *dev, int in, int out)
{
    bool small = in < MIN_BF16_WIDTH || out < MIN_BF16_WIDTH;

    return dev->precision == HPS_BF16 && small ? HPS_FP32 : dev->precision;
}

void hps_dev_wait(struct hps_dev *dev, struct hps_event *event)
{
    while (!dev->ops->event_done(dev, event) && hps_wait_progress())
        ;
    dev->ops->event_wait(dev, event);
}
