/* data_impl.h - what the sources of the room data share. */
#ifndef HPS_DATA_DATA_IMPL_H
#define HPS_DATA_DATA_IMPL_H

#include "data/data.h"

/* Allocate a dataset of n files that are not open yet; free it with hps_data_close. */
struct hps_data *hps_data_new(const char *path, int nfile);
/* Compute N and the prefix sums over the files from the N of each. */
void hps_data_count(struct hps_data *data);
/* Open one file and check its shape. *data is not NULL in any case: free it with hps_data_close.
 * Local. */
enum hps_status hps_data_open_one(struct hps_data **data, const char *path);

#endif
