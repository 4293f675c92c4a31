/// NcclLibrary: the functions of NCCL, which is loaded on first use; included only by *_cuda.cu files.
#pragma once

#include <nccl.h>

namespace ziggurat::comm {

/// Pointers to the functions that collectives use, with the names of NCCL.
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

/// Returns the library of this process; the first call loads it.
///
/// Errors: Error{resource} if the library cannot be loaded
const NcclLibrary& nccl();

}  // namespace ziggurat::comm
