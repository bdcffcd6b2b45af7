/* folder.h - folders for what is written, and where this program lies. */
#ifndef HPS_BASE_FOLDER_H
#define HPS_BASE_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

/* mkdir -p: 0, or -1 with errno, ENOTDIR where something else has the name. Local. */
int hps_folder_make(const char *path);
/* Is it a folder, and not a link to one? Else false with errno. Local. */
bool hps_folder_is(const char *path);
/* The folder of a file that will be written; HPS_OUTPUT, said, where it cannot be made. Local. */
enum hps_status hps_folder_for(const char *file);
/* All names in it, one after the other; false with errno: it cannot be read to its end. Local. */
bool hps_folder_list(const char *path, void *with, void (*take)(void *with, const char *name));
/* What was named in it stays named, whatever happens to the machine. False with errno; a file
 * system that cannot promise it is taken as it is. Local. */
bool hps_folder_sync(const char *path);
bool hps_folder_sync_of(const char *file); /* the folder that this file is in */
/* The path of this program and its folder, to free; "heterps" and "." where the system does not
 * say. Local. */
char *hps_program(void);
char *hps_folder_program(void);

#endif
