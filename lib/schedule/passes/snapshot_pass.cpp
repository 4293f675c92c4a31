#include "schedule/passes/snapshot_pass.hpp"

#include <utility>

#include "schedule/passes/saved_runs.hpp"

namespace ziggurat::schedule {

void snapshot_pass(Program& program, const ModelLayout& model) {
    Buffer snapshot;
    snapshot.name = "snapshot";
    snapshot.tier = spec::Tier::host;
    snapshot.lifetime = Lifetime::persistent;
    snapshot.consumer = MemoryCategory::snapshot;
    for (const auto& saved : saved_runs(model, program)) {
        snapshot.bytes += saved.is_copied ? saved.run.bytes : 0;
    }
    program.trainer_buffers.snapshot = program.add_buffer(std::move(snapshot));
}

}  // namespace ziggurat::schedule
