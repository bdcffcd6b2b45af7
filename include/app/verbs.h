/* verbs.h - the verbs of the command line; src/app/main.c has the table. */
#ifndef HPS_APP_VERBS_H
#define HPS_APP_VERBS_H

#include "base/status.h"

/* Each verb: argv[0] is the verb's name, the rest are its options and operands. `world` is the
 * result of hps_begin (MPI_COMM_NULL where the verb runs alone). Collective over world; the
 * status is equal on all ranks and becomes the exit code. */

/* Print what was compiled in, for `heterps --version`. Local. */
enum hps_status hps_app_version(void);
/* Print the folder of decks (inputs/) and job scripts (jobs/), for `heterps --datadir`:
 * $HETERPS_DATADIR, else beside the program as installed or as built, else the configured one. Not
 * found: HPS_INPUT. Local. */
enum hps_status hps_app_datadir(void);
/* That folder, to free with hps_mem_free; NULL: not found. Local. */
char *hps_app_datadir_path(void);

enum hps_status hps_app_train(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_generate(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_eval(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_plan(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_info(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_import(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_report(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_jobs(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_deck(int argc, char **argv, MPI_Comm world);

#endif
