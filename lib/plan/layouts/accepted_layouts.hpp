/// Layouts of a run that the rules of its deck accept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/layouts/layout_choice.hpp"
#include "spec/layout_space.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// The layouts of a space of which bounds can be computed, and the rules for each of them.
///
/// Programs exist only for layouts that rules accept. Bounds are computed from small programs, which many
/// layouts share: such a group is kept if the rules accept one of its layouts. A search asks accepts() for
/// each layout before it plans the layout itself.
class AcceptedLayouts {
  public:
    /// \param rules  if empty, all layouts are accepted
    /// Ownership: all three must outlive this object
    AcceptedLayouts(const spec::RunSpec& spec,
                    const spec::LayoutSpace& space,
                    const spec::LayoutRules& rules);

    /// Returns the layouts of the groups that are kept, in the order of all_layouts().
    const std::vector<LayoutChoice>& candidates() const noexcept { return candidates_; }

    /// Returns the number of layouts in the other groups.
    std::int64_t refused() const noexcept { return refused_; }

    /// Returns the refused layout with the fewest problems; nullopt if none was refused.
    const std::optional<LayoutChoice>& closest_refused() const noexcept { return closest_; }

    /// Returns true if the rules accept the layout.
    bool accepts(const LayoutChoice& choice);

  private:
    std::vector<std::string> problems_of(const LayoutChoice& choice);
    bool is_kept(const std::vector<LayoutChoice>& group);

    const spec::RunSpec& spec_;
    const spec::LayoutSpace& space_;
    const spec::LayoutRules& rules_;
    std::vector<LayoutChoice> candidates_;
    std::int64_t refused_ = 0;
    std::optional<LayoutChoice> closest_;
    std::size_t problems_of_closest_ = 0;
};

}  // namespace ziggurat::plan
