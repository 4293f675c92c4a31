#include "plan/layouts/accepted_layouts.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ziggurat::plan {
namespace {

/// Layouts of a group that are checked before a problem that they all have counts for the whole group.
constexpr std::size_t checked_of_group = 16;

/// Settings that decide which small programs the bounds of a layout are computed from.
using GroupKey = std::tuple<int, int, bool, bool, bool, bool, bool, spec::RecomputeKind>;

GroupKey group_of(const LayoutChoice& choice) {
    return {choice.tensor,
            choice.context,
            choice.stages > 1,
            choice.chunks > 1,
            choice.spans.parameters > 1,
            choice.spans.gradients > 1,
            choice.spans.optimizer > 1,
            choice.recompute};
}

/// Keeps the messages that are also in `others`.
void keep_common(std::vector<std::string>& messages, const std::vector<std::string>& others) {
    std::erase_if(messages, [&](const std::string& message) {
        return std::ranges::find(others, message) == others.end();
    });
}

}  // namespace

AcceptedLayouts::AcceptedLayouts(const spec::RunSpec& spec,
                                 const spec::LayoutSpace& space,
                                 const spec::LayoutRules& rules)
    : spec_{spec}, space_{space}, rules_{rules} {
    const auto all = all_layouts(spec, space);
    if (!rules_) {
        candidates_ = all;
        return;
    }
    std::map<GroupKey, std::vector<LayoutChoice>> groups;
    for (const auto& choice : all) {
        groups[group_of(choice)].push_back(choice);
    }
    std::map<GroupKey, bool> kept;
    for (const auto& [key, group] : groups) {
        kept[key] = is_kept(group);
    }
    for (const auto& choice : all) {
        if (kept.at(group_of(choice))) {
            candidates_.push_back(choice);
        }
    }
    refused_ = std::ssize(all) - std::ssize(candidates_);
}

bool AcceptedLayouts::accepts(const LayoutChoice& choice) {
    return !rules_ || problems_of(choice).empty();
}

std::vector<std::string> AcceptedLayouts::problems_of(const LayoutChoice& choice) {
    auto problems = rules_(with_layout(spec_, choice, space_), space_);
    if (!problems.empty() && (!closest_ || problems.size() < problems_of_closest_)) {
        closest_ = choice;
        problems_of_closest_ = problems.size();
    }
    return problems;
}

/// Returns true if the rules accept a layout of the group.
///
/// The first ones that are checked are spread over the group. A message that is the same for all of them does
/// not depend on the settings in which they differ.
bool AcceptedLayouts::is_kept(const std::vector<LayoutChoice>& group) {
    const auto step = std::max<std::size_t>(1, group.size() / checked_of_group);
    std::vector<std::string> common;
    std::size_t checked = 0;
    for (std::size_t first = 0; first < step; ++first) {
        for (std::size_t i = first; i < group.size(); i += step) {
            const auto problems = problems_of(group[i]);
            if (problems.empty()) {
                return true;
            }
            if (checked++ == 0) {
                common = problems;
            } else {
                keep_common(common, problems);
            }
        }
        if (checked >= checked_of_group && !common.empty()) {
            return false;
        }
    }
    return false;
}

}  // namespace ziggurat::plan
