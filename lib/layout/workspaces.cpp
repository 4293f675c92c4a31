#include "layout/workspaces.hpp"

#include "base/contract.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/families/family.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::layout {

AttentionSizes attention_sizes(const spec::RunSpec& run) {
    const auto tensor = run.parallel.tensor;
    return {.batch = run.train.micro_batch,
            .seq = run.data.seq,
            .heads = run.model.heads / tensor,
            .kv_heads = local_kv_heads(run.model, tensor),
            .head_dim = run.model.head_dim,
            .any_order = run.precision.attention_backward == spec::AttentionBackward::fast};
}

std::unique_ptr<Workspaces> make_workspaces(const spec::RunSpec& run, bool trains, std::int64_t window) {
    switch (run.tiers.device) {
        case spec::DeviceKind::host:
            return std::make_unique<HostWorkspaces>(spec::element_bytes(run.precision.compute),
                                                    run.parallel.threads);
        case spec::DeviceKind::cuda:
            return std::make_unique<CudaWorkspaces>(attention_use(run, trains, window));
    }
    ZG_EXPECTS(!"a kind of device");
    return nullptr;
}

}  // namespace ziggurat::layout
