/* h5_walk.h - what others wrote is looked through in another process first: on a damaged file the
 * HDF5 library crashes, or never ends, and that must not be this process.
 *
 * The walker is a child that is made at the start of the program and ends with it. For each file it
 * makes a child of its own, which looks through the file (hps_h5_survey) and says what it found, or
 * dies; the walker tells its parent which. It holds no descriptor of its parent's but the socket
 * between them, and no signal ends it but SIGKILL: it goes when its parent goes, however that
 * ends. */
#ifndef HPS_BASE_H5_WALK_H
#define HPS_BASE_H5_WALK_H

#include <stdbool.h>

enum { HPS_H5_WHY = 512 };  /* bytes of a reason */

/* Make the walker: before MPI has begun and before this process has threads of its own. Where the
 * system makes no process for it, hps_h5_walk says so once. Local. */
void hps_h5_walk_begin(void);
/* End it; also without a begin, and again. Local. */
void hps_h5_walk_end(void);

/* Begin to look through a file, and wait until that is done. False: the file is not to be opened,
 * and why. Between the two calls this process may do something else. A file that was found good is
 * not looked through again as long as the system says that it was not changed. Without a walker
 * `hear` answers *walked = false: the file is to be looked through here. Main thread. Local. */
void hps_h5_walk_ask(const char *path);
bool hps_h5_walk_hear(bool *walked, char why[HPS_H5_WHY]);
/* A change that is younger may hide behind one time of a file: only a file whose last change is
 * older than this (2 s) counts as not changed. For tests. */
void hps_h5_walk_settle(int seconds);

#endif
