/* verbs.h - the verbs of the command line; src/app/main.c has the table. */
#ifndef HPS_APP_VERBS_H
#define HPS_APP_VERBS_H

#include "base/status.h"

/* Each verb: argv[0] is the verb's own name, the rest its options and operands. `world` is what
 * hps_begin gave (MPI_COMM_NULL where the verb runs alone). Collective over world; the status is
 * the same on every rank and becomes the exit code. */

/* What was compiled in, for `heterps --version`. Local. */
enum hps_status hps_app_version(void);
/* Where decks (inputs/) and job scripts (jobs/) lie, for `heterps --datadir`: $HETERPS_DATADIR,
 * else beside the program as installed or as built, else where it was configured to be. Nowhere:
 * HPS_INPUT. Local. */
enum hps_status hps_app_datadir(void);

enum hps_status hps_app_train(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_generate(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_eval(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_plan(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_info(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_import(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_report(int argc, char **argv, MPI_Comm world);
enum hps_status hps_app_deck(int argc, char **argv, MPI_Comm world);

#endif
