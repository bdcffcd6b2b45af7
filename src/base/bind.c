/* bind.c - a function's address is an object pointer to dlsym: copied, since C does not convert
 * it. */
#include "base/bind.h"

#include <dlfcn.h>
#include <string.h>

bool hps_bind(void *library, void *function, const char *name)
{
    void *at = dlsym(library, name);

    memcpy(function, &at, sizeof at);
    return at != NULL;
}
