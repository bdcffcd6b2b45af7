/* fd.h - all file descriptors of this process at once, also those of libraries. */
#ifndef HPS_BASE_FD_H
#define HPS_BASE_FD_H

#include <stdbool.h>
#include <sys/stat.h>

/* Close all of them except `keep` and the first three, which are /dev/null from then on: a child
 * must not hold a pipe open whose reader waits for its end. Local. */
void hps_fd_keep_only(int keep);

/* Every descriptor that is open on this file becomes a copy of `target`: what is written to it goes
 * to `target`. False: one could not be changed, errno tells why. Local. */
bool hps_fd_divert(const struct stat *file, int target);

#endif
