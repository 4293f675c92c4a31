#include "tests/emulated_cuda/loading.hpp"

#include <mutex>
#include <set>

namespace emulated_cuda {
namespace {

struct Loaded {
    std::mutex mutex;
    std::set<const void*> keys;
    bool collectives_may_run = false;
};

Loaded& loaded() {
    static auto* const all = new Loaded;  // never freed: streams may run until the process ends
    return *all;
}

}  // namespace

Failure load(const void* key, std::string (*name)(const void* key)) {
    auto& all = loaded();
    const std::lock_guard lock{all.mutex};
    if (all.keys.contains(key)) {
        return {};
    }
    if (all.collectives_may_run) {
        return {cudaErrorLaunchFailure, "loading " + name(key) +
                                            " waits until the GPU is idle, and an operation of NCCL there "
                                            "may wait for this rank"};
    }
    all.keys.insert(key);
    return {};
}

void set_collectives(bool may_run) {
    auto& all = loaded();
    const std::lock_guard lock{all.mutex};
    all.collectives_may_run = may_run;
}

}  // namespace emulated_cuda
