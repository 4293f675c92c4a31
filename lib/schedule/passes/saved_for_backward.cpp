#include "schedule/passes/saved_for_backward.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "spec/fates.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

bool is_forward(const Op& op) {
    return op.direction == Direction::forward || op.direction == Direction::none;
}

/// Returns the tier that a rule of recompute.fates gives to a buffer; nullopt if no rule does.
std::optional<Tier> tier_by_fate(const Buffer& buffer) {
    return buffer.fate ? spec::tier_of(*buffer.fate) : std::nullopt;
}

}  // namespace

std::vector<Kept> saved_for_backward(const Program& program) {
    std::vector<Kept> of_buffer(program.buffers.size());
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                auto& kept = of_buffer[operand.buffer];
                kept.buffer = operand.buffer;
                if (kept.first_backward < 0 && is_forward(op)) {
                    kept.last_forward = i;
                    if (kept.produced < 0 || operands == &op.writes) {
                        kept.produced = op.kind == OpKind::receive ? OpId{} : i;
                    }
                } else if (kept.first_backward < 0) {
                    kept.first_backward = i;
                }
            }
        }
    }
    std::erase_if(of_buffer, [&](const Kept& kept) {
        return kept.last_forward < 0 || kept.first_backward < 0 ||
               program.buffers[kept.buffer].consumer != MemoryCategory::activations ||
               program.buffers[kept.buffer].lifetime == Lifetime::in_flight;
    });
    std::sort(of_buffer.begin(), of_buffer.end(), [](const Kept& a, const Kept& b) {
        return std::pair{a.last_forward, a.buffer} < std::pair{b.last_forward, b.buffer};
    });
    return of_buffer;
}

bool are_any_away(const spec::RunSpec& spec) {
    return spec.tiers.activations.device < 1 || spec::swaps_any(spec.recompute.fates);
}

std::map<int, Tier> homes_of(const Program& program, const std::vector<Kept>& kept, const spec::Home& home) {
    const auto described = [&](const Kept& one) -> const Buffer& { return program.buffers[one.buffer]; };
    std::map<int, std::int64_t> bytes_of, before;  // by micro-batch
    for (const auto& one : kept) {
        bytes_of[described(one).microbatch] += tier_by_fate(described(one)) ? 0 : described(one).bytes;
    }
    std::map<int, Tier> homes;
    for (const auto& one : kept) {
        const auto& buffer = described(one);
        if (const auto tier = tier_by_fate(buffer)) {
            homes[one.buffer] = *tier;
            continue;
        }
        auto& begin = before[buffer.microbatch];
        const auto middle = static_cast<double>(2 * begin + buffer.bytes) / 2.0;
        const auto share = middle / static_cast<double>(bytes_of[buffer.microbatch]);
        homes[one.buffer] = share < home.nvme               ? Tier::nvme
                            : share < home.nvme + home.host ? Tier::host
                                                            : Tier::device;
        begin += buffer.bytes;
    }
    return homes;
}

}  // namespace ziggurat::schedule
