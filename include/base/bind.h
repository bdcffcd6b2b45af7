/* bind.h - functions of a library that is opened at run time. */
#ifndef HPS_BASE_BIND_H
#define HPS_BASE_BIND_H

#include <stdbool.h>

/* The address of `name` in what dlopen gave, into the pointer to a function at `function`; false,
 * and it is NULL: the library has none of that name. Local. */
bool hps_bind(void *library, void *function, const char *name);

#endif
