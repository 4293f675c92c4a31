#include "train/step/node_times.hpp"

#include <utility>

#include "comm/control.hpp"
#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::train {
namespace {

/// Properties of one op that a rank publishes once.
struct PublishedOp {
    std::uint64_t key;
    std::uint64_t engine;
};

std::int64_t bytes_of_rank(std::int64_t num_ops) {
    const auto bytes_of_times = (num_ops + 1) * static_cast<std::int64_t>(sizeof(PublishedOp));
    return (bytes_of_times + 63) / 64 * 64 + OpTimes::bytes_for(num_ops);
}

}  // namespace

std::vector<schedule::Engine> engines_of(const schedule::Program& program) {
    std::vector<schedule::Engine> engines;
    for (const auto& op : program.ops) {
        const auto engine = program.lanes.at(op.lane).engine;
        const bool is_control = link_of(engine) && !schedule::moves_state(op);
        engines.push_back(is_control ? schedule::Engine::step_end : engine);
    }
    return engines;
}

NodeTimes times_of_one(const schedule::Program& program) {
    auto memory =
        std::make_unique<device::Arena>(OpTimes::bytes_for(program.ops.size()), "the times of a step's ops");
    const OpTimes times{memory->data(), program.ops.size()};
    return {.ranks = {{program.rank, times, engines_of(program)}},
            .collectives = CollectiveMatch{{collective_keys(program)}},
            .own_memory = std::move(memory)};
}

NodeTimes share_times(const comm::Context& world, comm::NodeMemory& node, const schedule::Program& program) {
    std::int64_t max_ops = std::ssize(program.ops);
    comm::all_reduce_max(world, {&max_ops, 1});
    const auto bytes = bytes_of_rank(max_ops);
    auto* memory = node.make_block(bytes, "the times of a step's ops");
    if (memory == nullptr) {
        return times_of_one(program);
    }
    const auto& nodes = node.nodes();
    std::vector<int> world_ranks;
    for (int rank = 0; rank < world.size(); ++rank) {
        if (nodes.node_of[rank] == nodes.node) {
            world_ranks.push_back(rank);
        }
    }
    const auto reported_by = [&](std::size_t local) {
        return reinterpret_cast<PublishedOp*>(memory + static_cast<std::int64_t>(local) * bytes);
    };
    const std::size_t me = node.local_rank_of(world.rank());
    const auto my_keys = collective_keys(program);
    const auto my_engines = engines_of(program);
    reported_by(me)[0] = {program.ops.size(), 0};
    for (std::size_t op = 0; op < my_keys.size(); ++op) {
        reported_by(me)[op + 1] = {my_keys[op], static_cast<std::uint64_t>(my_engines[op])};
    }
    comm::barrier(world);  // all ranks have published their ops

    std::vector<RankTimes> ranks;
    std::vector<std::vector<std::uint64_t>> keys;
    for (std::size_t local = 0; local < world_ranks.size(); ++local) {
        const auto* bytes_of_times = reported_by(local);
        const std::size_t num_ops = bytes_of_times[0].key;
        keys.emplace_back();
        std::vector<schedule::Engine> engines;
        for (std::size_t op = 0; op < num_ops; ++op) {
            keys.back().push_back(bytes_of_times[op + 1].key);
            engines.push_back(static_cast<schedule::Engine>(bytes_of_times[op + 1].engine));
        }
        auto* end = memory + static_cast<std::int64_t>(local + 1) * bytes;
        const OpTimes times{end - OpTimes::bytes_for(max_ops), num_ops};
        ranks.push_back({world_ranks[local], times, std::move(engines)});
    }
    return {.ranks = std::move(ranks), .me = static_cast<int>(me), .collectives = CollectiveMatch{keys}};
}

}  // namespace ziggurat::train
