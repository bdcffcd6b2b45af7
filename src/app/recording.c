/* recording.c - opens a run's record, and another's to follow. */
#include "app/recording.h"

#include "app/layout.h"
#include "base/build.h"
#include "base/mem.h"
#include "base/say.h"

static struct hps_record_facts facts_of(const struct hps_recording *r, const struct hps_job *j,
                                        const struct hps_cursor *c)
{
    return (struct hps_record_facts){ .layout = r->layout, .course = j->course,
                                      .revision = hps_build.revision,
                                      .workers = j->o.train.workers,
                                      .servers = j->team->nserver, .first = c->step };
}

static enum hps_status load(struct hps_recording *r, struct hps_loop *loop,
                            const struct hps_job *j, const struct hps_record_facts *facts,
                            const char *directory)
{
    char *path = hps_mem_print("%s/record.h5", directory);
    enum hps_status st = hps_record_load(&r->replay, path, facts, j->team, j->world);

    loop->replay = &r->replay;
    if (!st) HPS_SAY(HPS_INFO, "the order of updates is that of %s", path);
    hps_mem_free(path);
    return st;
}

enum hps_status hps_recording_open(struct hps_recording *r, struct hps_loop *loop,
                                   const struct hps_job *j, const struct hps_cursor *c,
                                   const char *pool, const char *replay)
{
    enum hps_status st = HPS_OK;
    char *plan = hps_plan_text(j->plan);

    r->layout = hps_layout_text(plan, pool);
    r->path = hps_rundir_file(&j->dir, "record.h5");
    hps_mem_free(plan);
    struct hps_record_facts facts = facts_of(r, j, c);
    if (replay && !j->step->async) {
        HPS_SAY(HPS_ERROR, "--replay: with train.synchronization %s there is no order to follow",
                j->o.train.synchronization);
        return HPS_DECK;
    }
    if (replay && j->o.sched.replan) {
        HPS_SAY(HPS_ERROR, "--replay: a record is of one plan: not with schedule.replan");
        return HPS_DECK;
    }
    if (replay) st = load(r, loop, j, &facts, replay);
    if (!st && j->o.train.record)
        st = hps_record_open(&r->record, r->path, &facts, j->team, j->world);
    loop->record = r->record;
    return st;
}

void hps_recording_close(struct hps_recording *r)
{
    hps_record_close(r->record);
    hps_record_order_free(&r->replay);
    hps_mem_free(r->path);
    hps_mem_free(r->layout);
}
