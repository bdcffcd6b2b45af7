/* tier.c - the list of places where rows can be kept. */
#include "ps/tier.h"

#include <string.h>

static const struct hps_tier_ops *const all[] = { &hps_tier_device, &hps_tier_host,
                                                &hps_tier_file };

const struct hps_tier_ops *hps_tier_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
