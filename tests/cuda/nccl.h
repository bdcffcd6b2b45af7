/* nccl.h - stands in for NCCL's own where no GPU is: ranks of one machine sum and exchange the
 * "device" memory of shim.c through files. What the sources use is here, and no more.
 *
 * It punishes what NCCL does, or leaves to chance: memory that is not a card's, unequal counts,
 * members that do different things, messages outside of a group. HPS_NCCL_FAIL=CALL[:N]: the N-th
 * call of that name fails (ncclAllReduce:3); `async:N`: an error is heard of behind the N-th sum;
 * `hang:N`: this rank's part of the N-th sum never comes. */
#ifndef HPS_TESTS_NCCL_H
#define HPS_TESTS_NCCL_H

#include "cuda_runtime.h"

typedef struct hps_shim_comm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef enum {
    ncclSuccess = 0, ncclUnhandledCudaError, ncclSystemError, ncclInternalError,
    ncclInvalidArgument, ncclInvalidUsage, ncclRemoteError, ncclInProgress
} ncclResult_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;
typedef enum { ncclFloat32 = 7 } ncclDataType_t;

ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

#endif
