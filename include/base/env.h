/* env.h - what the environment says. */
#ifndef HPS_BASE_ENV_H
#define HPS_BASE_ENV_H

#include <stdbool.h>

/* Is the variable set, and to this value? Local. */
bool hps_env_is(const char *name, const char *value);

#endif
