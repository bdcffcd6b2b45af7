/* status_file.h - a run's status.json is replaced whole, and on a full disk written over. */
#ifndef HPS_LIFE_STATUS_FILE_H
#define HPS_LIFE_STATUS_FILE_H

#include <stdbool.h>

/* Give the file at `path` this text (JSON, which may be followed by blanks). It is written as
 * `part`, in the same folder, and renamed; where that fails, over what is there: all statuses are
 * filled up to one size, so that this needs no new room, and who reads meanwhile sees one or the
 * other. False: neither can be done, errno is that of the first. Local. */
bool hps_status_write(const char *path, const char *part, const char *text);

#endif
