/* record.h - the order in which servers served asynchronous workers, in a file of the run, and read
 * again for a replay: with the same order the same deck gives the same bits on the same layout.
 *
 * The file, record.h5 (heterps-record-1): of each server its events, and at each cut of the run, at
 * which checkpoints are written and caches of rows become empty, how many events there were. A run
 * that goes on from a checkpoint goes on with its record from that cut. */
#ifndef HPS_TRAIN_RECORD_H
#define HPS_TRAIN_RECORD_H

#include <mpi.h>

#include "base/status.h"
#include "comm/team.h"
#include "ps/clock.h"

/* What a replay must have in common with a record. Texts borrowed. */
struct hps_record_facts {
    const char *layout;         /* app/layout.h                                     */
    const char *course;         /* hps_ckpt_course                                  */
    const char *revision;       /* of the program                                   */
    int workers, servers;
    long long first;            /* the step from which the events begin             */
};

struct hps_record;
/* Begin the record of a run at step facts->first; or, where that is above 0 and the file has a cut
 * there and is of equal facts, go on with it. path, facts: borrowed. HPS_OUTPUT. Collective. */
enum hps_status hps_record_open(struct hps_record **record, const char *path,
                                const struct hps_record_facts *facts, const struct hps_team *team,
                                MPI_Comm world);
void hps_record_close(struct hps_record *record);       /* NULL is fine. Local */
/* Add what this rank, where it is a server, did since the last cut (n), and a cut at `step`. The
 * file is replaced when it is whole. Collective. HPS_OUTPUT. */
enum hps_status hps_record_add(struct hps_record *record, long long n,
                               const struct hps_clock_event *event, long long step, MPI_Comm world);

/* Read what this rank did in a run up to its last cut, to free; nothing where it is no server.
 * HPS_INPUT: there is no such record; HPS_DECK: it is damaged, or of other facts, which is said.
 * Collective. */
enum hps_status hps_record_load(struct hps_clock_order *order, const char *path,
                                const struct hps_record_facts *facts, const struct hps_team *team,
                                MPI_Comm world);
void hps_record_order_free(struct hps_clock_order *order);

#endif
