/* part_file.c - written beside, then renamed. */
#include "base/part_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"

struct hps_part_file hps_part_file(const char *path)
{
    return (struct hps_part_file){ hps_mem_text(path), hps_mem_print("%s.part", path) };
}

void hps_part_file_done(struct hps_part_file *file, bool remove)
{
    if (remove) unlink(file->part);
    hps_mem_free(file->part);
    hps_mem_free(file->path);
    *file = (struct hps_part_file){ NULL, NULL };
}

enum hps_status hps_part_file_end(struct hps_part_file *file, enum hps_status s)
{
    if (!s && rename(file->part, file->path) != 0) {
        HPS_SAY(HPS_ERROR, "%s: cannot be written: %s", file->path, strerror(errno));
        s = HPS_OUTPUT;
    }
    hps_part_file_done(file, s != HPS_OK);
    return s;
}

bool hps_part_file_commit(const struct hps_part_file *file, bool *renamed)
{
    *renamed = rename(file->part, file->path) == 0;
    return *renamed && hps_folder_sync_of(file->path);
}
