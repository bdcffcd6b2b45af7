/* lock.h - a folder belongs to one run: locked while its process lives, free when the process or
 * its host dies.
 *
 * The file .lock names the process that holds it, which touches it every two seconds. On one host
 * the system's own lock decides. Between hosts a file system may not share locks, may not free
 * those of a dead host, or may have none: there another run watches for some seconds whether the
 * file is still touched. */
#ifndef HPS_LIFE_LOCK_H
#define HPS_LIFE_LOCK_H

#include "base/status.h"

struct hps_lock;

/* Take the lock; HPS_OUTPUT, said with job, host and process, where another run has it. A run that
 * loses it (another one took it for dead, or the folder is gone) ends with HPS_OUTPUT; a file
 * system that does not answer for a while is no such loss. Local, by one rank. */
enum hps_status hps_lock_take(struct hps_lock **lock, const char *folder);
void hps_lock_free(struct hps_lock *lock); /* NULL is fine. Local. */

#endif
