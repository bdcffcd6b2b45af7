/* tiers.h - rows that memory does not hold: how much of it there is, and room for their files. */
#ifndef HPS_APP_TIERS_H
#define HPS_APP_TIERS_H

#include "app/job.h"

/* What `storage.host_memory: auto` is: an equal part of what hosts or their memory groups leave to
 * their ranks, less a quarter for all that is no row; the least of all ranks. Collective over the
 * job's world. */
void hps_job_find_memory(struct hps_job *j);
/* Under the plan, can every rank write files in `storage.file`, and is there room for the rows that
 * ranks of its host have there? Else HPS_OUTPUT, said by the first rank that lacks it. The same on
 * all ranks. Collective over the job's world. */
enum hps_status hps_job_check_files(const struct hps_job *j);
/* Print the bytes of rows of a rank in each tier, on hps_out. */
void hps_job_print_tiers(const struct hps_job *j);

#endif
