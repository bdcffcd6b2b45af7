/* info_impl.h - prints the content of a file, and collects it as JSON ("heterps-info-1"; of several
 * files "heterps-infos-1": {"format", "files": [...]}). */
#ifndef HPS_APP_INFO_INFO_IMPL_H
#define HPS_APP_INFO_INFO_IMPL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"

/* Print the content (hps_out, unless `quiet`) and add it to `into`, an object that begins with
 * format and file. Of another format or damaged: HPS_DECK with a message. Local. */
enum hps_status hps_info_dataset(const char *path, bool quiet, json_t *into);
enum hps_status hps_info_h5(const char *path, bool quiet, json_t *into);    /* other HDF5 files */
enum hps_status hps_info_json(const char *path, bool quiet, json_t *into);  /* JSON files */

#endif
