/* outputs.h - the files that a command writes: none of them may be a file that the command reads,
 * or another output.
 *
 * A verb adds its outputs before it reads anything. All code that opens a file of the user's for
 * reading checks the open file here, so that a schema, a joined file, a deck, a profile, a policy,
 * a checkpoint or a dataset cannot be replaced by what is made of it. Files are compared by device
 * and inode, not by name. */
#ifndef HPS_BASE_OUTPUTS_H
#define HPS_BASE_OUTPUTS_H

#include <stdbool.h>

#include "base/status.h"

enum hps_output_how {
    HPS_OUTPUT_NEW,     /* a whole file, which replaces a regular file                        */
    HPS_OUTPUT_GROWS,   /* the same, but the dataset that is there is read, and gone on with  */
    HPS_OUTPUT_ANY      /* a device is written, too                                           */
};

/* Add an output; messages call it by its option. *path becomes the end of its symbolic links, which
 * need not exist: PATH.part is written beside it, and renamed to it. The new text lives as long as
 * the program. "", "-" and NULL are no file. A link that leads to itself, a folder, a device
 * (unless HPS_OUTPUT_ANY), something at PATH.part that is no regular file: HPS_OUTPUT; an output
 * that was named before: HPS_USAGE. Local. */
enum hps_status hps_outputs_add(const char *option, const char **path, enum hps_output_how how);

/* May the open file `fd`, which messages call `name`, be read? `dataset`: as one of our HDF5 files.
 * HPS_USAGE, said, where it is an output. Local. */
enum hps_status hps_outputs_read(int fd, const char *name, bool dataset);
/* The same for a text that will be opened later; one that is not there may be. Local. */
enum hps_status hps_outputs_will_read(const char *path);

/* Forget all outputs (tests). */
void hps_outputs_forget(void);

#endif
