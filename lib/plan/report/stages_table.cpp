#include "plan/report/stages_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/text/units.hpp"
#include "plan/stage_kinds.hpp"
#include "spec/fates.hpp"
#include "spec/home_text.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

using schedule::MemoryCategory;
using Stages = std::span<const StageUsage>;

constexpr std::size_t max_columns = 4;

std::string cell(std::int64_t bytes) {
    return bytes == 0 ? "-" : format_bytes(bytes);
}

std::string line(const std::string& name,
                 const std::string& detail,
                 Stages stages,
                 const std::function<std::string(const StageUsage&)>& text_of) {
    auto text = fmt::format("  {:<16} {:<34}", name, detail);
    for (const auto& stage : stages) {
        text += fmt::format(" {:>12}", text_of(stage));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

const MemoryRow* row_of(const StageUsage& stage, MemoryCategory consumer) {
    const auto found = std::ranges::find(stage.table.rows, consumer, &MemoryRow::consumer);
    return found == stage.table.rows.end() ? nullptr : &*found;
}

std::int64_t bytes_of(const StageUsage& stage, MemoryCategory consumer, std::size_t tier) {
    const auto* row = row_of(stage, consumer);
    return row == nullptr ? 0 : row->bytes[tier];
}

/// Returns the explanation of the bytes, if it is the same for all of `stages`.
std::string detail_of(Stages stages, MemoryCategory consumer) {
    std::string detail;
    for (const auto& stage : stages) {
        const auto* row = row_of(stage, consumer);
        if (row != nullptr && !detail.empty() && row->detail != detail) {
            return "";
        }
        detail = row == nullptr ? detail : row->detail;
    }
    return detail;
}

/// Returns the consumers of all stages, in their order.
std::vector<MemoryCategory> consumers_of(Stages stages) {
    std::vector<MemoryCategory> found;
    for (const auto& stage : stages) {
        for (const auto& row : stage.table.rows) {
            found.push_back(row.consumer);
        }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

/// Returns the rows of one tier; empty if no stage uses it.
std::string block(Stages stages, std::size_t tier) {
    const auto is_used = [&](const StageUsage& stage) { return stage.table.total[tier] > 0; };
    if (std::ranges::none_of(stages, is_used)) {
        return "";
    }
    std::string text = fmt::format("  {}\n", spec::tier_names[tier]);
    for (const auto consumer : consumers_of(stages)) {
        const auto here = [&](const StageUsage& stage) { return bytes_of(stage, consumer, tier); };
        if (std::ranges::any_of(stages, [&](const StageUsage& stage) { return here(stage) != 0; })) {
            text += line(to_string(consumer), detail_of(stages, consumer), stages,
                         [&](const StageUsage& stage) { return cell(here(stage)); });
        }
    }
    const auto of_all = [&](const char* name, const char* detail, auto MemoryTable::*bytes) {
        return line(name, detail, stages,
                    [&](const StageUsage& stage) { return cell((stage.table.*bytes)[tier]); });
    };
    text += of_all("between", "alignment and holes", &MemoryTable::between) +
            of_all("total", "per rank", &MemoryTable::total) +
            of_all("budget", "per rank", &MemoryTable::budget);
    if (tier == static_cast<std::size_t>(spec::Tier::device) && stages.front().table.libraries > 0) {
        text += line("library memory", "per rank, not in the budget", stages,
                     [](const StageUsage& stage) { return cell(stage.table.libraries); });
    }
    const auto is_pinned = [](const StageUsage& stage) { return stage.table.pinned > 0; };
    if (tier == static_cast<std::size_t>(spec::Tier::host) && std::ranges::any_of(stages, is_pinned)) {
        text += line("pinned", "of the total, for copies of GPUs", stages,
                     [](const StageUsage& stage) { return cell(stage.table.pinned); });
    }
    return text;
}

}  // namespace

std::string stages_table(const spec::RunSpec& spec, Stages stages) {
    const auto layers = layers_by_stage(spec);
    const auto states = spec::states_of_stages(spec);
    auto text =
        fmt::format("MEMORY PLAN  {}, the fullest rank of each of {} stages, at the moment of most use\n",
                    spec.run.name, spec.parallel.stages);
    for (auto left = stages; !left.empty(); left = left.subspan(std::min(max_columns, left.size()))) {
        const auto here = left.first(std::min(max_columns, left.size()));
        const auto at = [](const StageUsage& stage) { return stage.stage; };
        text += line("", "", here, [](const StageUsage& stage) {
            return stage.last > stage.stage ? fmt::format("stages {}-{}", stage.stage, stage.last)
                                            : fmt::format("stage {}", stage.stage);
        });
        text +=
            line("", "", here, [](const StageUsage& stage) { return fmt::format("rank {}", stage.rank); });
        text += line("layers", "", here,
                     [&](const StageUsage& stage) { return fmt::format("{}", layers[at(stage)]); });
        text += line("recomputation", "", here, [&](const StageUsage& stage) {
            return spec::recomputation_text(states[at(stage)].recompute);
        });
        for (std::size_t tier = 0; tier < spec::tier_names.size(); ++tier) {
            text += block(here, tier);
        }
        text += "  " + std::string(16 + 35 + 13 * here.size(), '-') + "\n";
    }
    return text;
}

}  // namespace ziggurat::plan
