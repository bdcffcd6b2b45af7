/* env.c - see env.h. */
#include "base/env.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool hps_env_is(const char *name, const char *value)
{
    const char *word = getenv(name);

    return word && strcmp(word, value) == 0;
}

int hps_env_count(const char *name)
{
    const char *word = getenv(name);
    char *end;

    if (!word) return 0;
    long n = strtol(word, &end, 10);
    return end == word || *end || n < 1 || n > INT_MAX ? 0 : (int)n;
}
