#include "schedule/residency/move_op.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

Engine engine_between(Tier from, Tier to) {
    if (from == Tier::nvme) {
        return Engine::nvme_read;
    }
    if (to == Tier::nvme) {
        return Engine::nvme_write;
    }
    if (from == to) {
        return from == Tier::device ? Engine::compute : Engine::host_optimizer;
    }
    return to == Tier::device ? Engine::host_to_device : Engine::device_to_host;
}

}  // namespace

Op empty_move(Program& program, Tier from, Tier to) {
    Op op;
    op.kind = from == Tier::nvme ? OpKind::read : to == Tier::nvme ? OpKind::write : OpKind::copy;
    op.lane = program.lane(engine_between(from, to));
    op.purpose = Purpose::state;
    return op;
}

Op move_op(Program& program, int from, int to) {
    const auto& source = program.buffers[from];
    const auto& target = program.buffers[to];
    auto op = empty_move(program, source.tier, target.tier);
    op.unit = source.unit;
    op.microbatch = source.microbatch;
    op.label = target.name;
    op.reads.push_back(whole(program, from, Role::input));
    op.writes.push_back(whole(program, to, Role::output));
    return op;
}

}  // namespace ziggurat::schedule
