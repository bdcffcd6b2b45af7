/* step_agree.c - one nonblocking sum over the world a step. */
#include "step/step_agree.h"

#include <assert.h>
#include <string.h>

#include "base/mpi_check.h"
#include "base/wait.h"

enum { STOP, SAVE, READY, LOSS, PAUSE, STEPS, MEAN_LOSS, SLOWEST, FASTEST, DECK, INPUT, FAIL,
       OUTPUT, NWORD };
_Static_assert((int)NWORD == HPS_STEP_AGREE_WORDS, "room for all of them");

/* Troubles are counted by status, so that one sum carries them: worst last. */
static const enum hps_status status_of[] = {
    [DECK] = HPS_DECK, [INPUT] = HPS_INPUT, [FAIL] = HPS_FAIL, [OUTPUT] = HPS_OUTPUT
};

void hps_step_agree_init(struct hps_step_agree *p, MPI_Comm world)
{
    memset(p, 0, sizeof *p);
    p->request = MPI_REQUEST_NULL;
    HPS_MPI(MPI_Comm_dup(world, &p->world));
}

void hps_step_agree_done(struct hps_step_agree *p)
{
    HPS_MPI(MPI_Comm_free(&p->world));
}

void hps_step_agree_begin(struct hps_step_agree *p, const struct hps_heartbeat *b)
{
    memset(p->mine, 0, sizeof p->mine);
    p->mine[STOP] = b->stop;
    p->mine[SAVE] = b->save;
    p->mine[READY] = b->ready;
    p->mine[LOSS] = b->loss;
    p->mine[PAUSE] = b->pause;
    p->mine[STEPS] = (double)b->steps;
    p->mine[MEAN_LOSS] = b->mean_loss;
    p->mine[SLOWEST] = (double)b->slowest;
    p->mine[FASTEST] = (double)b->fastest;
    bool counted = !b->status;
    for (int i = DECK; i <= OUTPUT; i++)
        if (b->status == status_of[i]) p->mine[i] = counted = true;
    assert(counted);               /* the others would go on without this rank */
    (void)counted;
    HPS_MPI(MPI_Iallreduce(p->mine, p->sum, NWORD, MPI_DOUBLE, MPI_SUM, p->world, &p->request));
}

bool hps_step_agree_arrived(struct hps_step_agree *p)
{
    return hps_wait_arrived(1, &p->request, false);
}

struct hps_heartbeat hps_step_agree_end(struct hps_step_agree *p, bool sleeping)
{
    if (sleeping)
        hps_wait_sleeping(&p->request);
    else
        hps_wait_all(1, &p->request);
    struct hps_heartbeat b = { .stop = (int)p->sum[STOP],
                               .save = (int)p->sum[SAVE],
                               .ready = (int)p->sum[READY],
                               .loss = p->sum[LOSS],
                               .pause = (int)p->sum[PAUSE],
                               .steps = (long long)p->sum[STEPS],
                               .mean_loss = p->sum[MEAN_LOSS],
                               .slowest = (long long)p->sum[SLOWEST],
                               .fastest = (long long)p->sum[FASTEST] };
    for (int i = DECK; i <= OUTPUT; i++)
        if (p->sum[i] > 0) b.status = status_of[i];
    return b;
}
