/* env.c - see env.h. */
#include "base/env.h"

#include <stdlib.h>
#include <string.h>

bool hps_env_is(const char *name, const char *value)
{
    const char *word = getenv(name);

    return word && strcmp(word, value) == 0;
}
