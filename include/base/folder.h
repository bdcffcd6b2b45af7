/* folder.h - folders of outputs, and the folder of this program. */
#ifndef HPS_BASE_FOLDER_H
#define HPS_BASE_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

/* mkdir -p: 0, or -1 with errno, ENOTDIR where something else has the name. Local. */
int hps_folder_make(const char *path);
/* Is it a folder, and not a link to one? Else false with errno. Local. */
bool hps_folder_is(const char *path);
/* Make the folder of a file that will be written; HPS_OUTPUT, said, where that fails. Local. */
enum hps_status hps_folder_for(const char *file);
/* Call `each` for every name in the folder; false with errno: it cannot be read to its end. Local.
 */
bool hps_folder_list(const char *path, void *context,
                     void (*each)(void *context, const char *name));
/* The names in the folder are on the disk, and survive a crash of the machine. False with errno; a
 * file system that cannot sync folders is no failure. Local. */
bool hps_folder_sync(const char *path);
bool hps_folder_sync_of(const char *file); /* the folder that this file is in */
/* The path of this program and its folder, to free; "heterps" and "." where the system does not
 * say. Local. */
char *hps_program(void);
char *hps_folder_program(void);

#endif
