/* env.h - what the environment says. */
#ifndef HPS_BASE_ENV_H
#define HPS_BASE_ENV_H

#include <stdbool.h>

/* Is the variable set, and to this value? Local. */
bool hps_env_is(const char *name, const char *value);
/* What the variable counts; 0 where it is not set, or to anything but a number from 1 on that an
 * int can hold. Local. */
int hps_env_count(const char *name);

#endif
