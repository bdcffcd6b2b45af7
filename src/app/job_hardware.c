/* job_hardware.c - what a rank computes on: its GPU or its cores, as it is or as the deck emulates
 * it; and the pool of all ranks. */
#include "app/job.h"

#include "app/tiers.h"

#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/disk.h"
#include "hw/gpu.h"
#include "life/watch.h"

/* Seconds that probing the host may take beyond run.stall_seconds. */
enum { LOOK_S = 60 };

/* Open the rank's GPU, if its backend can be loaded; else the CPU. */
static enum hps_status open_device(struct hps_job *j)
{
    const struct hps_node *node = &j->node;

    if (node->gpu[0] &&
        hps_dev_find("cuda")->open(&j->dev, node->gpu_index, node->threads) == HPS_OK)
        return HPS_OK;
    return hps_dev_find("cpu")->open(&j->dev, 0, node->threads);
}

/* Report once the ranks that do not compute on their GPU, or share it. */
static void say_gpus(const struct hps_job *j)
{
    bool on = j->node.on_gpu;
    int n[3] = { j->node.gpu[0] != 0, on, on && j->node.gpu_ranks > 1 };

    if (j->world != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, n, 3, MPI_INT, MPI_SUM, j->world));
    if (n[0] > n[1])
        HPS_SAY(HPS_WARN, "no GPU for %d of the %d ranks that see one: CUDA or heterps-cuda.so is "
                "missing there; they compute on their cores", n[0] - n[1], n[0]);
    if (n[2] > 0) HPS_SAY(HPS_INFO, "%d ranks share their GPUs", n[2]);
    if (n[1] == 0 && j->o.storage.gpu_memory > 0)
        HPS_SAY(HPS_WARN, "storage.gpu_memory: no rank computes on a GPU");
}

/* Divide the cores and GPUs of a host among its ranks. */
static void share_host(struct hps_job *j)
{
    MPI_Comm host = hps_node_host(j->world);

    hps_node_share(&j->node, j->o.run.threads, host);
    hps_gpu_share(&j->node, j->o.run.ranks_per_gpu, host);
    if (host != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&host));
}

enum hps_status hps_job_device(struct hps_job *j)
{
    enum hps_status st = hps_agree(j->world, hps_node_probe(&j->node));
    if (st) return st;
    share_host(j);
    hps_job_find_memory(j);
    hps_wait_set_oversubscribed(j->node.sharing > j->node.cores);
    st = hps_agree(j->world, open_device(j));
    j->node.on_gpu = !j->dev.host;
    j->node.bf16 = j->dev.has_bf16;
    j->node.rows_on_host = j->node.on_gpu && j->o.storage.gpu_memory > 0;
    if (st) return st;
    hps_count_range(j->dev.ops->range);
    say_gpus(j);
    return hps_job_precision(j);
}

/* Is rank r in a list of ranks? */
static bool is_among(const char *list, int r)
{
    int first, last;

    while (hps_pool_range(&list, &first, &last) > 0)
        if (first <= r && r <= last) return true;
    return false;
}

/* What the deck emulates of this rank in a run alone. */
static void emulate_late(struct hps_job *j)
{
    for (int e = 0; e < j->o.pool.n; e++) {
        const struct hps_resource_opt *x = &j->o.pool.entry[e];
        if (!is_among(x->emulate_ranks, hps_rank())) continue;
        j->dev.late = is_among(x->emulate_late, hps_rank()) ? x->emulate_late_slow : 0;
        j->dev.stall_share = x->emulate_stall_share;
        j->dev.stall_slow = x->emulate_stall_slow;
    }
}

/* Ranks of one host share its disk as in a training. */
static void try_disk(struct hps_job *j)
{
    if (!j->o.storage.file[0]) return;
    hps_barrier_sleeping(j->world);
    j->node.reads_s = hps_disk_reads_s(j->o.storage.file);
}

enum hps_status hps_job_hardware(struct hps_job *j)
{
    hps_watch_phase("looking at the hardware", LOOK_S);
    enum hps_status st = hps_job_device(j);
    if (!st) st = hps_agree(j->world, hps_count_begin(&j->o.perf));
    if (!st) st = hps_agree(j->world, hps_bench_node(&j->dev, &j->node, j->train->file[0]->path));
    if (!st) try_disk(j);
    if (!st) st = hps_pool_gather(&j->pool, &j->node, &j->o.pool, true, j->world);
    if (!st) j->dev.slow = j->pool->type[j->pool->type_of[hps_rank()]].slow;
    if (!st) emulate_late(j);
    return st;
}
