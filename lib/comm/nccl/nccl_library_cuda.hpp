/// NcclLibrary: the functions of NCCL, which is opened when a communicator needs it; only *_cuda.cu files
/// include it.
#pragma once

#include <nccl.h>

namespace ziggurat::comm {

/// What collectives call, by the library's own names.
struct NcclLibrary {
#define ZG_NCCL_FUNCTIONS(F)  \
    F(ncclAllGather)          \
    F(ncclAllReduce)          \
    F(ncclBroadcast)          \
    F(ncclCommAbort)          \
    F(ncclCommGetAsyncError)  \
    F(ncclCommInitRankConfig) \
    F(ncclGetErrorString)     \
    F(ncclGetLastError)       \
    F(ncclGetUniqueId)        \
    F(ncclGroupEnd)           \
    F(ncclGroupStart)         \
    F(ncclRecv)               \
    F(ncclReduceScatter)      \
    F(ncclSend)
#define ZG_DECLARE(name) decltype(&::name) name = nullptr;
    ZG_NCCL_FUNCTIONS(ZG_DECLARE)
#undef ZG_DECLARE
};

/// That of this process, opened by the first call.
///
/// Errors: Error{resource} without the library
const NcclLibrary& nccl();

}  // namespace ziggurat::comm
