#include "comm/nccl/nccl_library_cuda.hpp"

#include "base/shared_library.hpp"

namespace ziggurat::comm {
namespace {

NcclLibrary open() {
    NcclLibrary opened;
#ifdef __CUDACC__
    const SharedLibrary library{"libnccl.so.2",
                                "Install NCCL 2.18 or newer, name its folder in LD_LIBRARY_PATH, or set "
                                "parallel.transport: staged."};
#define ZG_FIND(name) library.find(#name, opened.name);
#else  // emulated GPUs link an emulated NCCL
#define ZG_FIND(name) opened.name = &::name;
#endif
    ZG_NCCL_FUNCTIONS(ZG_FIND)
#undef ZG_FIND
    return opened;
}

}  // namespace

const NcclLibrary& nccl() {
    static const NcclLibrary opened = open();
    return opened;
}

}  // namespace ziggurat::comm
