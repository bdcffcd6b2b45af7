/* h5_walk.h - files of others are surveyed by another process first: on a damaged file the HDF5
 * library crashes, or never ends, and that must not happen to this process.
 *
 * The walker is a child that is forked at the start of the program and ends with it. For each file
 * it forks a child of its own, which surveys the file (hps_h5_survey) and reports what it found, or
 * dies; the walker sends its parent the result. It holds no descriptor of its parent's but the
 * socket between them, and no signal ends it but SIGKILL: it ends when its parent ends, however
 * that happens. */
#ifndef HPS_BASE_H5_WALK_H
#define HPS_BASE_H5_WALK_H

#include <stdbool.h>

enum { HPS_H5_WHY = 512 };  /* bytes of a reason */

/* Fork the walker: before MPI has begun and before this process has threads of its own. Where the
 * system cannot fork, hps_h5_walk_response says so once. Local. */
void hps_h5_walk_begin(void);
/* End it; also without a begin, and again. Local. */
void hps_h5_walk_end(void);

/* Request the survey of a file, and wait for the response; between the two calls this process may
 * do something else. False: the file must not be opened, and why. A file that was found good is not
 * surveyed again as long as the system says that it was not changed. Without a walker the response
 * is *walked = false: the caller surveys the file itself. Main thread. Local. */
void hps_h5_walk_request(const char *path);
bool hps_h5_walk_response(bool *walked, char why[HPS_H5_WHY]);
/* A file counts as not changed only where its last change is older than this (2 s), since a younger
 * change may hide behind the same time stamp. For tests. */
void hps_h5_walk_settle(int seconds);

#endif
