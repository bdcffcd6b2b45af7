/* datadir.c - finds the folder of decks and job scripts. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/verbs.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"

/* The absolute folder, if it has the job scripts; else NULL. Frees `path`. */
static char *folder(char *path)
{
    char full[PATH_MAX], *library = hps_mem_print("%s/jobs/job.sh", path), *found = NULL;

    if (access(library, R_OK) == 0 && realpath(path, full)) found = hps_mem_text(full);
    hps_mem_free(library);
    hps_mem_free(path);
    return found;
}

char *hps_app_datadir_path(void)
{
    const char *given = getenv("HETERPS_DATADIR");
    char *beside = hps_folder_program(), *found;

    found = given ? folder(hps_mem_text(given))
                  : folder(hps_mem_print("%s/../share/heterps", beside));
    if (!given && !found) found = folder(hps_mem_print("%s/..", beside));
    if (!given && !found) found = folder(hps_mem_text(HPS_DATADIR));
    hps_mem_free(beside);
    return found;
}

enum hps_status hps_app_datadir(void)
{
    char *found = hps_app_datadir_path();

    if (!found) {
        HPS_SAY(HPS_ERROR, "job scripts and decks are neither in $HETERPS_DATADIR nor beside the "
                "program nor in %s", HPS_DATADIR);
        return HPS_INPUT;
    }
    hps_out("%s\n", found);
    hps_mem_free(found);
    return hps_out_flush();
}
