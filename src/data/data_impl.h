/* data_impl.h - what the sources of the room data share. */
#ifndef HPS_DATA_DATA_IMPL_H
#define HPS_DATA_DATA_IMPL_H

#include "data/data.h"

/* A dataset of n files that are not opened yet; hps_data_close frees it. */
struct hps_data *hps_data_new(const char *path, int nfile);
/* N and the tables of files from the N of each file. */
void hps_data_count(struct hps_data *data);
/* One file: opened, its shape checked. Not NULL in any case: hps_data_close frees it. Local. */
enum hps_status hps_data_look(struct hps_data **data, const char *path);

#endif
