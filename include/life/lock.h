/* lock.h - a folder is one run's: held while its process lives, given up when it or its host dies.
 *
 * The file .lock says who holds it, and is touched every two seconds. On one host the system's own
 * lock decides. Between hosts, where a file system may not share locks, or not free those of a host
 * that is gone, and where it has no locks at all, it is looked whether the file is still touched:
 * some seconds. */
#ifndef HPS_LIFE_LOCK_H
#define HPS_LIFE_LOCK_H

#include "base/status.h"

struct hps_lock;

/* Take it; HPS_OUTPUT, said with job, host and process, where another run has it. A run that loses
 * it (another one took it for dead, or the folder is gone) ends with HPS_OUTPUT; one whose file
 * system does not answer for a while does not. Local, by one rank. */
enum hps_status hps_lock_take(struct hps_lock **lock, const char *folder);
void hps_lock_free(struct hps_lock *lock); /* NULL is fine. Local. */

#endif
