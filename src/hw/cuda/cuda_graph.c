/* cuda_graph.c - kernels that are queued between graph_begin and graph_end, launched as one graph.
 *
 * They are captured each time, so that pointers, sizes and parameters are current. The graph made
 * before is updated, which is cheap as long as the same kernels come in the same order, or else
 * instantiated anew. The first time nothing is captured, since a kernel may have to be loaded. */
#include "base/env.h"
#include "base/mem.h"
#include "base/quit.h"
#include "hw/cuda/cuda_impl.h"

enum { LATE = 8 };              /* blocks to be freed after a graph, at most */

struct hps_cuda_graphs {
    cudaGraphExec_t exec[HPS_NGRAPH];
    bool seen[HPS_NGRAPH], capturing;
    void *late[LATE];
    int nlate;
};

struct hps_cuda_graphs *hps_cuda_graphs_new(void)
{
    if (!hps_env_is("HETERPS_CUDA_GRAPHS", "1")) return NULL;
    if (hps_env_is("HETERPS_CUDA_SYNC", "1")) return NULL;
    return hps_mem_new(1, sizeof(struct hps_cuda_graphs));
}

void hps_cuda_graphs_free(struct hps_cuda_graphs *g)
{
    if (!g) return;
    for (int i = 0; i < HPS_NGRAPH; i++)
        if (g->exec[i]) HPS_CUDA(cudaGraphExecDestroy(g->exec[i]));
    hps_mem_free(g);
}

bool hps_cuda_capturing(const struct hps_cuda *cuda)
{
    return cuda->graphs && cuda->graphs->capturing;
}

void hps_cuda_free_later(struct hps_cuda *cuda, void *block)
{
    struct hps_cuda_graphs *g = cuda->graphs;

    if (g->nlate == LATE) HPS_DIE("an operation's scratch grows too often in one graph");
    g->late[g->nlate++] = block;
}

void hps_cuda_graph_begin(struct hps_dev *dev, int number)
{
    struct hps_cuda_graphs *g = hps_cuda_of(dev)->graphs;

    if (!g || number >= HPS_NGRAPH) return;
    g->capturing = g->seen[number];
    g->seen[number] = true;
    if (g->capturing)
        HPS_CUDA(cudaStreamBeginCapture(hps_cuda_stream(dev), cudaStreamCaptureModeRelaxed));
}

#if CUDART_VERSION >= 12000
static bool update(cudaGraphExec_t exec, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info;
    return cudaGraphExecUpdate(exec, graph, &info) == cudaSuccess;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    return cudaGraphInstantiate(exec, graph, 0);
}
#else
static bool update(cudaGraphExec_t exec, cudaGraph_t graph)
{
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t node;
    return cudaGraphExecUpdate(exec, graph, &node, &result) == cudaSuccess;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    return cudaGraphInstantiate(exec, graph, NULL, NULL, 0);
}
#endif

/* Update the graph under that number, or instantiate it. */
static void renew(struct hps_cuda_graphs *g, int number, cudaGraph_t graph)
{
    if (g->exec[number] && update(g->exec[number], graph)) return;
    (void)cudaGetLastError();                   /* a failed update is no error */
    if (g->exec[number]) HPS_CUDA(cudaGraphExecDestroy(g->exec[number]));
    HPS_CUDA(instantiate(&g->exec[number], graph));
}

void hps_cuda_graph_end(struct hps_dev *dev, int number)
{
    struct hps_cuda_graphs *g = hps_cuda_of(dev)->graphs;
    cudaGraph_t graph;

    if (!g || !g->capturing) return;
    g->capturing = false;
    HPS_CUDA(cudaStreamEndCapture(hps_cuda_stream(dev), &graph));
    renew(g, number, graph);
    HPS_CUDA(cudaGraphLaunch(g->exec[number], hps_cuda_stream(dev)));
    HPS_CUDA(cudaGraphDestroy(graph));
    while (g->nlate > 0)
        dev->ops->free(dev, g->late[--g->nlate]);       /* waits for the kernels that use it */
}
