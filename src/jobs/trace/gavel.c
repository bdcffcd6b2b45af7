#include "jobs/trace/gavel_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"

/* The fastest last. */
const char *const hps_gavel_types[HPS_GAVEL_TYPES] = { "k80", "p100", "v100" };

bool hps_gavel_key(struct hps_gavel_key *key, const char *text)
{
    const char *end = strrchr(text, '\'');
    char *rest;

    if (strncmp(text, "('", 2) != 0 || end < text + 3 || strncmp(end, "', ", 3) != 0) return false;
    long units = strtol(end + 3, &rest, 10);
    *key = (struct hps_gavel_key){ text + 2, (int)(end - text) - 2, (int)units };
    return rest != end + 3 && strcmp(rest, ")") == 0 && units > 0 && units < 1000000;
}

enum hps_status hps_gavel_load(json_t **tree, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    json_error_t error;
    enum hps_status st = hps_json_read(&text, &length, path);

    *tree = NULL;
    if (st) return st;
    *tree = json_loadb(text, length, 0, &error);
    hps_mem_free(text);
    for (int i = 0; *tree && i < HPS_GAVEL_TYPES; i++)
        if (!json_is_object(json_object_get(*tree, hps_gavel_types[i]))) {
            json_decref(*tree);
            *tree = NULL;
        }
    if (*tree) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: is no JSON table of speeds on k80, p100 and v100", path);
    return HPS_DECK;
}
