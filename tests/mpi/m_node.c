/* m_node: ranks of a host that may run on the same core share it; threads are never 0; `wanted`
 * overrides. */
#include <string.h>

#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "hw/node.h"

static void must(bool held, const char *what)
{
    if (!held)
        HPS_DIE("%s", what);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_node node;
    int rank = hps_rank(), n = hps_nrank();
    MPI_Comm host = hps_node_host(world);

    hps_node_probe(&node);
    hps_node_share(&node, 0, host);
    must(node.sharing >= 1 && node.sharing <= n, "so many ranks share my cores");
    must(node.threads >= 1 && node.threads <= node.cores, "threads for my cores");

    memset(node.mask, 0, sizeof node.mask);     /* four cores each, two by two the same four */
    node.mask[rank / 2] = 0x0f;
    node.cores = 4;
    hps_node_share(&node, 0, host);
    int pair = rank / 2 * 2 + 1 < n ? 2 : 1;
    must(node.sharing == pair && node.threads == 4 / pair, "two ranks share four cores");

    memset(node.mask, 0, sizeof node.mask);     /* all share one, and have one of their own */
    node.mask[0] = (unsigned char)(1 | 2 << rank);
    node.cores = 2;
    hps_node_share(&node, 0, host);
    must(node.sharing == n && node.threads == (n == 1 ? 2 : 1), "all share the first core");
    hps_node_share(&node, 7, host);
    must(node.threads == 7, "the deck's threads");
    HPS_MPI(MPI_Comm_free(&host));
    return hps_end(HPS_OK);
}
