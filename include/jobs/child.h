/* child.h - this program as a child: what another floor knows, asked of a process of its own. */
#ifndef HPS_JOBS_CHILD_H
#define HPS_JOBS_CHILD_H

/* Run `heterps ARGUMENT...` (n), alone, without a launcher's environment, and wait for it.
 * Its standard output is lost. Returns its exit code, 128 + N where signal N ended it, 70 where it
 * could not be started. *error: NULL for 0, else its first error, or its last words, in one line,
 * to free with hps_mem_free. Local. */
int hps_child_run(int n, const char *const *argument, char **error);

#endif
