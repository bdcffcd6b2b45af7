/* fd.h - all file descriptors of this process at once, whoever opened them. */
#ifndef HPS_BASE_FD_H
#define HPS_BASE_FD_H

#include <stdbool.h>
#include <sys/stat.h>

/* Close all of them but `keep` and the first three, which are /dev/null from then on: for a child
 * that must not hold open what its parent's readers wait for the end of. Local. */
void hps_fd_keep_only(int keep);

/* Whatever is open on this file becomes a copy of `with`: what is written there goes to `with`.
 * False: one could not be changed, errno tells why. Local. */
bool hps_fd_divert(const struct stat *file, int with);

#endif
