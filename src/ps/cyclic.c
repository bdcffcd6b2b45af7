/* cyclic.c - see cyclic.h. */
#include "ps/cyclic.h"

long long hps_cyclic_nlocal(long long rows, int part, int k)
{
    long long whole = rows / HPS_CYCLIC_BLOCK, rest = rows % HPS_CYCLIC_BLOCK;
    long long mine = whole / k + (whole % k > part);

    if (part >= k) return 0;
    return mine * HPS_CYCLIC_BLOCK + (whole % k == part ? rest : 0);
}
