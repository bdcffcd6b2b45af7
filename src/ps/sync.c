/* sync.c - the list of modes of synchronising. */
#include <string.h>

#include "ps/sync_impl.h"

extern const struct hps_sync_ops hps_sync_bsp;

static const struct hps_sync_ops *const all[] = { &hps_sync_bsp };

const struct hps_sync_ops *hps_sync_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
