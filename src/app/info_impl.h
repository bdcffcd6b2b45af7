/* info_impl.h - what a file holds, said for people and gathered for programs ("heterps-info-1"; of
 * several files "heterps-infos-1": {"format", "files": [...]}). */
#ifndef HPS_APP_INFO_IMPL_H
#define HPS_APP_INFO_IMPL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"

/* Each tells what it finds on hps_out (not when `quiet`) and adds it to `into`, an object that
 * begins with format and file. Foreign or damaged: HPS_DECK with a message. Local. */
enum hps_status hps_info_dataset(const char *path, bool quiet, json_t *into);
enum hps_status hps_info_h5(const char *path, bool quiet, json_t *into);    /* any of our .h5 */
enum hps_status hps_info_json(const char *path, bool quiet, json_t *into);  /* any of our .json */

#endif
