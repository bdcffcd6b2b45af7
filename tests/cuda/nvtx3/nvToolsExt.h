/* nvToolsExt.h - stands in for NVTX: ranges are left as often as they are entered. */
#ifndef HPS_TESTS_NVTX_H
#define HPS_TESTS_NVTX_H

int nvtxRangePushA(const char *name);
int nvtxRangePop(void);

#endif
