/* dev.c - the list of device backends of this build. */
#include "hw/dev.h"

#include <string.h>

#include "base/wait.h"

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

enum hps_precision hps_dev_precision(const char *word)
{
    if (strcmp(word, "tf32") == 0) return HPS_TF32;
    return strcmp(word, "bf16") == 0 ? HPS_BF16 : HPS_FP32;
}

void hps_dev_wait(struct hps_dev *dev, struct hps_event *event)
{
    while (!dev->ops->event_done(dev, event) && hps_wait_progress())
        ;
    dev->ops->event_wait(dev, event);
}
