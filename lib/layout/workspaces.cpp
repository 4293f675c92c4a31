#include "layout/workspaces.hpp"

#include "base/contract.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::layout {

AttentionSizes attention_sizes(const spec::RunSpec& run) {
    auto parallel = run.parallel;
    parallel.context = exchanges_heads(parallel) ? parallel.context : 1;
    const auto heads = context_heads(run.model, parallel, true);
    const bool is_ring = context_blocks(run.parallel) > run.parallel.context;
    return {.batch = run.train.micro_batch,
            .seq = is_ring ? run.data.seq / context_blocks(run.parallel) : run.data.seq,
            .heads = heads.part_heads(),
            .kv_heads = heads.part_kv_heads(),
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
