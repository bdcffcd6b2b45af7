/* shim_graph.c - graphs of the stand-in: what was queued while a stream was captured, done again at
 * each launch, in turn. */
#include <stdlib.h>

#include "shim.h"

struct hps_shim_exec {
    struct hps_shim_graph *graph;
};

static void leave_graph(void *graph)
{
    struct hps_shim_graph *g = graph;

    if (--g->users > 0) return;
    for (struct hps_shim_op *op = g->first, *next; op; op = next) {
        next = op->next;
        if (op->done) op->done(op->with);
        free(op);
    }
    free(g);
}

static void run_graph(void *graph)
{
    const struct hps_shim_graph *g = graph;

    for (struct hps_shim_op *op = g->first; op; op = op->next)
        op->run(op->with);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    HPS_SHIM_ALONE;
    (void)mode;
    if (!s || s->captured) hps_shim_die("a stream that cannot be captured");
    s->captured = calloc(1, sizeof *s->captured);
    if (!s->captured) return cudaErrorMemoryAllocation;
    s->captured->users = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    HPS_SHIM_ALONE;
    if (!s->captured) hps_shim_die("a stream is not captured");
    *graph = s->captured;
    s->captured = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    HPS_SHIM_ALONE;
    (void)flags;
    *exec = calloc(1, sizeof **exec);
    if (!*exec) return cudaErrorMemoryAllocation;
    (*exec)->graph = graph;
    graph->users++;
    return cudaSuccess;
}

/* As on a card: only where as many operations come. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    HPS_SHIM_ALONE;
    info->result = exec->graph->n != graph->n;
    if (info->result) return 910;
    leave_graph(exec->graph);
    exec->graph = graph;
    graph->users++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    HPS_SHIM_ALONE;
    if (s->captured) hps_shim_die("a graph is launched into a stream that is captured");
    exec->graph->users++;
    hps_shim_count.graphs++;
    hps_shim_queue(s, run_graph, exec->graph, leave_graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    HPS_SHIM_ALONE;
    leave_graph(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    HPS_SHIM_ALONE;
    leave_graph(exec->graph);
    free(exec);
    return cudaSuccess;
}
