/* status_file.h - writes a run's status.json: atomically, or, on a full disk, in place. */
#ifndef HPS_LIFE_STATUS_FILE_H
#define HPS_LIFE_STATUS_FILE_H

#include <stdbool.h>

/* Write this text (JSON, which may be followed by blanks) to `path`: as `part` in the same
 * folder, which is renamed; where that fails, over the old content. Statuses are padded to one
 * size, so that this needs no space, and readers see either the old or the new one. False: both
 * fail, errno is that of the first. Local. */
bool hps_status_write(const char *path, const char *part, const char *text);

#endif
