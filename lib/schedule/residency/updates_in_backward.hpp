/// Position of updates in backward; only optimizer_pass.cpp includes this file.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "layout/chunk_layout.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/residency/homes.hpp"

namespace ziggurat::schedule {

/// Updates of chunks, and the publications that they complete.
struct ListedOps {
    OpId after = -1;  ///< last op of forward and backward that must precede them
    std::vector<Op> ops;
};

/// Last ops of forward, backward and reduction that use the parameters or write the gradient of a unit.
///
/// If each unit is clipped by its own norm, so is its unit_clip.
///
/// Whole units, not the ranges of an update: so the data ranks, which update different elements, list their
/// collectives in the same order.
class LastUses {
  public:
    explicit LastUses(const Program& program);

    /// \pre an op uses the unit
    OpId of(UnitId unit) const { return last_.at(unit); }

  private:
    std::unordered_map<int, OpId> last_;
};

/// Homes of the moments of each update.
class UpdateHomes {
  public:
    UpdateHomes(const ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

    /// True if the update runs on the host, because its moments are at home away from the device.
    bool is_on_host(const std::vector<layout::UnitRange>& runs) const;
    /// True if all moments of the update are at home on NVMe.
    bool is_on_nvme(const std::vector<layout::UnitRange>& runs) const;

  private:
    /// Returns the tiers of the moments of a range.
    std::set<spec::Tier> tiers_of(const layout::UnitRange& run) const;

    const StateBuffers& state_;
    std::vector<std::vector<HomePart>> homes_;
};

/// Inserts the updates and publications into backward, as early as possible. `first` begins the step.
void list_in_backward(Program& program, Op first, std::vector<ListedOps> listed);

/// Returns the ranges of a chunk by update: all in one, or for updates in backward one for each unit.
///
/// The gradients of units are complete at different times. The updates of a unit are then in the order of its
/// elements, in which a save writes state that passes from NVMe.
std::vector<std::vector<layout::UnitRange>> ranges_of_updates(std::vector<layout::UnitRange> chunk,
                                                              bool is_by_unit);

}  // namespace ziggurat::schedule
