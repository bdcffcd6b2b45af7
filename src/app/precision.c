/* precision.c - to what the operands of large products are rounded in this run: decided once, from
 * the deck, the processors of all ranks and, where the run continues, from its checkpoint. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "app/job.h"
#include "base/mpi_check.h"
#include "base/world.h"

/* The ranks whose processor has no bf16. */
struct without {
    int n, first;               /* n 0: none                          */
    char cpu[HPS_NODE_TEXT];    /* processor or GPU of the first one  */
};

/* Collective. */
static struct without without_bf16(const struct hps_job *j)
{
    bool lacks = !j->dev.has_bf16 && !j->dev.emulate_bf16;
    struct without w = { .n = lacks, .first = lacks ? hps_rank() : INT_MAX };

    snprintf(w.cpu, sizeof w.cpu, "%s", j->dev.host ? j->node.cpu : j->node.gpu);
    if (j->world == MPI_COMM_NULL) return w;
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &w.n, 1, MPI_INT, MPI_SUM, j->world));
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &w.first, 1, MPI_INT, MPI_MIN, j->world));
    if (w.n > 0) HPS_MPI(MPI_Bcast(w.cpu, sizeof w.cpu, MPI_CHAR, w.first, j->world));
    return w;
}

static enum hps_status refuse(const struct without *w)
{
    HPS_SAY(HPS_ERROR, "train.precision bf16: %d of %d ranks have no bf16, the first is rank %d on "
            "%s; `auto` takes fp32 then, and run.emulate_bf16 rounds in the same way, slowly",
            w->n, hps_nrank(), w->first, w->cpu);
    return HPS_DECK;
}

/* `auto`: as the run began, where it still can; else bf16 where all ranks have it. */
static enum hps_precision choose(const struct hps_job *j, const struct without *w)
{
    bool bf16 = w->n == 0 && (!j->continues || j->began == HPS_BF16);

    if (w->n > 0)
        HPS_SAY(HPS_INFO, "precision fp32: %d of %d ranks have no bf16, the first is rank %d on %s",
                w->n, hps_nrank(), w->first, w->cpu);
    else
        HPS_SAY(HPS_INFO, "precision %s: %s", bf16 ? "bf16" : "fp32",
                bf16 ? "all ranks have it" : "the run began with it");
    return bf16 ? HPS_BF16 : HPS_FP32;
}

enum hps_status hps_job_precision(struct hps_job *j)
{
    const char *word = j->o.train.precision;

    j->dev.emulate_bf16 = j->o.run.emulate_bf16 && j->dev.host;
    j->dev.precision = strcmp(word, "tf32") == 0 ? HPS_TF32 : HPS_FP32;
    if (strcmp(word, "bf16") == 0 || strcmp(word, "auto") == 0) {
        struct without w = without_bf16(j);
        if (strcmp(word, "bf16") == 0 && w.n > 0) return refuse(&w);
        j->dev.precision = strcmp(word, "auto") == 0 ? choose(j, &w) : HPS_BF16;
    }
    if (j->continues && j->began != j->dev.precision)
        HPS_SAY(HPS_WARN, "the run began in %s, it continues in %s",
                hps_dev_precision_word(j->began), hps_dev_precision_word(j->dev.precision));
    return HPS_OK;
}
