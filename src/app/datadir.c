/* datadir.c - where the files lie that come with the program. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs.h"
#include "base/mem.h"

/* The folder, in full, if the job scripts are in there; takes `path` over. */
static char *folder(char *path)
{
    char full[PATH_MAX], *library = hps_mem_print("%s/jobs/job.sh", path), *found = NULL;

    if (access(library, R_OK) == 0 && realpath(path, full)) found = hps_mem_text(full);
    hps_mem_free(library);
    hps_mem_free(path);
    return found;
}

char *hps_program(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = '\0';
    return hps_mem_text(n > 0 ? self : "heterps");
}

static char *find(void)
{
    const char *given = getenv("HETERPS_DATADIR");
    char *self = hps_program(), *slash = strrchr(self, '/'), *found;

    if (slash) *slash = '\0';
    found = given ? folder(hps_mem_text(given))
                  : folder(hps_mem_print("%s/../share/heterps", self));
    if (!given && !found) found = folder(hps_mem_print("%s/..", self));
    if (!given && !found) found = folder(hps_mem_text(HPS_DATADIR));
    hps_mem_free(self);
    return found;
}

enum hps_status hps_app_datadir(void)
{
    char *found = find();

    if (!found) {
        HPS_SAY(HPS_ERROR, "job scripts and decks are neither in $HETERPS_DATADIR nor beside the "
                "program nor in %s", HPS_DATADIR);
        return HPS_INPUT;
    }
    hps_out("%s\n", found);
    hps_mem_free(found);
    return hps_out_flush();
}
