#include "plan/memory_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text/units.hpp"
#include "layout/state_kinds.hpp"
#include "plan/footprint.hpp"
#include "plan/library_memory.hpp"
#include "spec/budgets.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Lifetime;
using schedule::MemoryCategory;

/// First and last op that use a transient buffer.
struct BufferUse {
    int first = -1;
    int last = -1;
};

std::vector<BufferUse> uses(const schedule::Program& program) {
    std::vector<BufferUse> found(program.buffers.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const auto* operands : {&program.ops[i].reads, &program.ops[i].writes}) {
            for (const auto& operand : *operands) {
                auto& use = found[operand.buffer];
                use.first = use.first < 0 ? static_cast<int>(i) : use.first;
                use.last = static_cast<int>(i);
            }
        }
    }
    return found;
}

/// Returns the op with the maximum of transient bytes in `tier`; -1 if the tier has no transient
/// buffers.
int peak(const schedule::Program& program, const std::vector<BufferUse>& used, spec::Tier tier) {
    std::vector<std::int64_t> change(program.ops.size() + 1);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        if (buffer.tier == tier && buffer.lifetime == Lifetime::transient && used[b].first >= 0) {
            change[used[b].first] += buffer.bytes;
            change[used[b].last + 1] -= buffer.bytes;
        }
    }
    std::int64_t now = 0;
    std::int64_t max = 0;
    int at = -1;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        now += change[i];
        if (now > max) {
            max = now;
            at = static_cast<int>(i);
        }
    }
    return at;
}

/// Returns the text for `what` if the state is sharded over `span` ranks.
std::string cut(int span, const std::string& what) {
    return span > 1 ? fmt::format("1/{} of {}", span, what) : what;
}

std::string detail_of_parameters(const spec::RunSpec& spec) {
    const bool is_f32 = spec.precision.compute == spec::DType::f32;
    const bool is_master = layout::masters_of(spec) == layout::Masters::none;
    auto text = cut(spec.sharding.parameters, is_master ? "f32, also the master" : is_f32 ? "f32" : "bf16");
    if (spec.sharding.secondary > 0) {
        text += fmt::format("; again 1/{}", spec.sharding.secondary);
    }
    return text;
}

std::string detail_of_gradients(const spec::RunSpec& spec) {
    const auto& sharding = spec.sharding;
    const bool is_f32 = spec.precision.gradient == spec::DType::f32;
    const std::string type = is_f32 ? "f32" : "bf16";
    if (spec.tiers.reuse) {
        return "in the memory of the parameters";
    }
    const auto on_their_way = type + (is_f32 ? "; whole until summed" : "; whole in f32 until summed");
    switch (sharding.reduce) {
        case spec::ReducePlan::at_end:
            return sharding.gradients > 1 ? type + ", unsharded: reduce is at_end" : type;
        case spec::ReducePlan::each_microbatch:
            return cut(sharding.optimizer, on_their_way);
        case spec::ReducePlan::by_span:
            return cut(sharding.gradients, on_their_way);
    }
    return "";
}

std::string detail_of_recomputation(const spec::RunSpec& spec) {
    switch (spec.recompute.kind) {
        case spec::RecomputeKind::none:
            return "kept, no recomputation";
        case spec::RecomputeKind::selective:
            return "kept, selective recomputation";
        case spec::RecomputeKind::full:
            return spec.recompute.every == 1
                       ? std::string{"inputs of layers"}
                       : "inputs of every " + std::to_string(spec.recompute.every) + " layers";
    }
    return "";
}

std::string detail_of_activations(const spec::RunSpec& spec) {
    const auto kept =
        detail_of_recomputation(spec) + (spec.recompute.fates.empty() ? "" : ", and recompute.fates");
    return spec.recompute.split
               ? kept + ", cut over " + std::to_string(spec.parallel.tensor) + " tensor ranks"
               : kept;
}

const char* name_of(spec::DType type) {
    return type == spec::DType::f32 ? "f32" : "bf16";
}

/// Returns the kinds that a run keeps for its updates, grouped by type, with the number of moments:
/// `f32 master and 2 moments`, `2 f32 moments`.
std::string detail_of_optimizer(const spec::RunSpec& spec) {
    struct Kinds {
        std::vector<std::string> names;
        int moments = 0;
    };
    std::map<spec::DType, Kinds> by_type;
    for (const auto kind : layout::state_kinds) {
        if (!layout::is_optimizer_state(kind) || !layout::is_kept(kind, spec)) {
            continue;
        }
        auto& kinds = by_type[layout::type_of(kind, spec.precision)];
        const auto piece = layout::row_of(kind).piece;
        if (piece == layout::PieceKind::first_moment || piece == layout::PieceKind::second_moment) {
            ++kinds.moments;
        } else {
            kinds.names.emplace_back(to_string(kind));
        }
    }
    std::vector<std::string> parts;
    for (auto& [type, kinds] : by_type) {
        const auto* const moments = kinds.moments == 1 ? "moment" : "moments";
        if (kinds.names.empty()) {
            parts.push_back(fmt::format("{} {} {}", kinds.moments, name_of(type), moments));
            continue;
        }
        if (kinds.moments > 0) {
            kinds.names.push_back(fmt::format("{} {}", kinds.moments, moments));
        }
        parts.push_back(fmt::format("{} {}", name_of(type), fmt::join(kinds.names, " and ")));
    }
    return fmt::format("{}", fmt::join(parts, " and "));
}

/// Returns "3 sequences of up to 1024 tokens".
std::string detail_of_cache(const spec::RunSpec& spec) {
    const auto passes = spec::cached_passes(spec);
    return fmt::format("{} {} of up to {} tokens", passes.sequences,
                       passes.sequences == 1 ? "sequence" : "sequences", passes.positions);
}

std::string detail_of(MemoryCategory consumer, const spec::RunSpec& spec) {
    switch (consumer) {
        case MemoryCategory::parameters:
            return detail_of_parameters(spec);
        case MemoryCategory::leases:
            return "whole units while they are used";
        case MemoryCategory::gradients:
            return detail_of_gradients(spec);
        case MemoryCategory::optimizer:
            return cut(spec.sharding.optimizer, detail_of_optimizer(spec));
        case MemoryCategory::activations:
            return detail_of_activations(spec);
        case MemoryCategory::working_buffers:
            return "other values and gradients";
        case MemoryCategory::snapshot:
            return cut(spec.parallel.data, "saved state, copied");
        case MemoryCategory::undo:
            return cut(spec.sharding.optimizer, "optimizer state of the last step");
        case MemoryCategory::stashes:
            return "older versions of parameters";
        case MemoryCategory::kv_cache:
            return detail_of_cache(spec);
        case MemoryCategory::none:
        case MemoryCategory::logits:
        case MemoryCategory::workspaces:
        case MemoryCategory::batch:
        case MemoryCategory::transfers:
        case MemoryCategory::validation:
            break;
    }
    return "";
}

std::string cell(std::int64_t bytes) {
    return bytes == 0 ? "-" : format_bytes(bytes);
}

std::string line(const std::string& name,
                 const std::string& detail,
                 const std::array<std::string, 3>& cells) {
    auto text =
        fmt::format("  {:<16} {:<34} {:>12} {:>12} {:>12}", name, detail, cells[0], cells[1], cells[2]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

std::array<std::string, 3> cells(const spec::ByTier<std::int64_t>& bytes) {
    return {cell(bytes[0]), cell(bytes[1]), cell(bytes[2])};
}

}  // namespace

std::int64_t staging_bytes(const spec::RunSpec& spec, const schedule::Program& program) {
    const bool is_staged = spec.tiers.device == spec::DeviceKind::cuda &&
                           spec.parallel.transport == spec::Transport::staged && spec.parallel.ranks > 1;
    schedule::Buffer shared;
    shared.tier = spec::Tier::device;
    shared.is_shared = true;
    return is_staged ? program.arena_bytes[schedule::arena_of(shared)] : 0;
}

MemoryTable memory_usage(const spec::RunSpec& spec,
                         const schedule::Program& program,
                         const RankBytes& of_all) {
    MemoryTable table;
    const auto used = uses(program);
    std::map<MemoryCategory, spec::ByTier<std::int64_t>> bytes;
    const auto staging = staging_bytes(spec, program);
    if (staging > 0) {
        bytes[MemoryCategory::transfers][tier_index(spec::Tier::host)] += staging;
    }
    for (const auto tier : all_tiers) {
        const auto t = tier_index(tier);
        const int at = peak(program, used, tier);
        std::int64_t sum = 0;
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            const auto& buffer = program.buffers[b];
            const bool is_live = buffer.lifetime != Lifetime::transient ||
                                 (at >= 0 && used[b].first >= 0 && used[b].first <= at && at <= used[b].last);
            if (buffer.tier == tier && is_live && buffer.reuses < 0) {
                bytes[buffer.consumer][t] += buffer.bytes;
                sum += buffer.bytes;
            }
        }
        const auto own = program.tier_bytes(tier) + (tier == spec::Tier::host ? staging : 0);
        table.total[t] = std::max(own, of_all.tiers[t]);
        table.between[t] = program.tier_bytes(tier) - sum;
        if (table.total[t] > own) {
            bytes[MemoryCategory::validation][t] += table.total[t] - own;
        }
        table.peak_op[t] = at < 0 ? "" : program.ops[at].label;
    }
    table.budget = spec::budgets_of_rank(spec);
    table.libraries = std::max(library_memory(spec, std::array{&program}).total(), of_all.libraries);
    table.pinned = spec.tiers.device == spec::DeviceKind::cuda
                       ? std::min(spec::pinned_bytes_of_rank(spec), table.total[tier_index(spec::Tier::host)])
                       : 0;
    for (const auto& [consumer, in_tiers] : bytes) {
        table.rows.push_back({consumer, detail_of(consumer, spec), in_tiers});
    }
    return table;
}

std::string memory_table(const spec::RunSpec& spec, int rank, const MemoryTable& table) {
    auto text = fmt::format("MEMORY PLAN  {}, rank {} of {}, at the moment of most use\n", spec.run.name,
                            rank, spec.parallel.ranks);
    text += line("", "", {"device", "host", "nvme"});
    for (const auto& row : table.rows) {
        text += line(to_string(row.consumer), row.detail, cells(row.bytes));
    }
    text += line("between", "alignment and holes", cells(table.between));
    text += "  " + std::string(16 + 35 + 3 * 13, '-') + "\n";
    text += line("total", "per rank", cells(table.total));
    text += line("budget", "per rank", cells(table.budget));
    if (table.libraries > 0) {
        text += line("library memory", "per rank, not in the budget", cells({table.libraries, 0, 0}));
    }
    if (table.pinned > 0) {
        text += line("pinned", "of the total, for copies of GPUs", cells({0, table.pinned, 0}));
    }
    return text;
}

}  // namespace ziggurat::plan
