/* part_file.h - a file has its name only when it is whole: it is written as PATH.part and renamed,
 * so that a program that is killed leaves what had the name before. */
#ifndef HPS_BASE_PART_FILE_H
#define HPS_BASE_PART_FILE_H

#include <stdbool.h>

#include "base/status.h"

struct hps_part_file {
    char *path; /* the name that it will have */
    char *part; /* PATH.part, to be written   */
};

/* Nothing is opened yet. Local. */
struct hps_part_file hps_part_file(const char *path);
/* Free the names; `remove`: and remove the part, if it is still there. Local. */
void hps_part_file_done(struct hps_part_file *file, bool remove);

/* Rename the part where `s`, the status of what wrote it, is HPS_OK, else remove it; then done.
 * Returns `s`, or HPS_OUTPUT, said. Local. */
enum hps_status hps_part_file_end(struct hps_part_file *file, enum hps_status s);

/* Rename the part, which is on the disk already, so that the name survives a crash of the machine.
 * False with errno: *renamed says whether it has the name at least. Local. */
bool hps_part_file_commit(const struct hps_part_file *file, bool *renamed);

#endif
