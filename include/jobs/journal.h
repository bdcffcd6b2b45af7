/* journal.h - the journal of a pool: what happened, one JSON object a line, in the order in which
 * it did (heterps-journal-1, heterps-formats(5)).
 *
 * A record is on the disk before what it announces is done, so that a controller that is killed
 * finds out from it what may have been done, and a whole line is a whole record. What a crash left
 * behind the last whole record is no record. */
#ifndef HPS_JOBS_JOURNAL_H
#define HPS_JOBS_JOURNAL_H

#include <jansson.h>

#include "base/status.h"

/* What to do with a record: an object with a number "t" >= 0 and a word "event". */
struct hps_journal_visitor {
    enum hps_status (*visit)(void *context, const json_t *record);
    void *context;
};

/* Each record of a journal, in order, until one is refused. HPS_INPUT: missing or unreadable;
 * HPS_DECK: not a journal; the visitor's status. A damaged record is said, and is the end.
 * Local. */
enum hps_status hps_journal_read(const char *path, const struct hps_journal_visitor *visitor);

struct hps_journal;

/* Reads what there is, and is ready for more behind the last whole record: what is damaged goes to
 * PATH.damaged. Makes the file where there is none. HPS_OUTPUT, else as hps_journal_read. Local, by
 * who holds the lock of the folder. */
enum hps_status hps_journal_open(struct hps_journal **journal, const char *path,
                                 const struct hps_journal_visitor *visitor);
/* A record of now, at t seconds from the pool's start, with what else is in `fields` (an object, or
 * NULL; freed): on the disk when this returns. HPS_OUTPUT, said. */
enum hps_status hps_journal_add(struct hps_journal *journal, double t, const char *event,
                                json_t *fields);
void hps_journal_close(struct hps_journal *journal); /* NULL is fine */

#endif
