/* lock.h - locks a folder for one run: as long as its process lives, free when the process or its
 * host dies.
 *
 * The file .lock names the process that holds it, which touches the file every two seconds. On
 * one host the system's file lock decides. Between hosts a file system may not share locks, may
 * not free those of a dead host, or may have none: there another run watches for some seconds
 * whether the file is still touched. */
#ifndef HPS_LIFE_LOCK_H
#define HPS_LIFE_LOCK_H

#include "base/status.h"

struct hps_lock;

/* Take the lock; where another run has it HPS_OUTPUT, with a message of its job, host and
 * process. A run that loses the lock (another one assumed it dead, or the folder is gone) ends
 * with HPS_OUTPUT; a file system that does not answer for a while is no loss. Local, by one
 * rank. */
enum hps_status hps_lock_take(struct hps_lock **lock, const char *folder);
void hps_lock_free(struct hps_lock *lock); /* NULL is fine. Local. */

#endif
