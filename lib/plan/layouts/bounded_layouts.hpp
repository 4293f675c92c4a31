/// Layouts of a run with the bounds of their memory and time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/layouts/layout_bounds.hpp"

namespace ziggurat::plan {

struct BoundedLayout {
    LayoutChoice choice;
    std::int64_t device_bytes = 0;
    double step_seconds = 0;  ///< 0 if device_bytes is above the limit
};

/// Lower bounds of layouts, computed on the threads of this machine.
///
/// Programs of different tensor degrees have nothing in common, so each degree has its own LayoutBounds.
class BoundedLayouts {
  public:
    /// \param choices  layouts of `spec` in `space`
    /// \param max_device_bytes  layouts with a larger bound get no bound of the time
    /// Ownership: `spec` and `rates` must outlive this object
    BoundedLayouts(const spec::RunSpec& spec,
                   const Rates& rates,
                   const spec::LayoutSpace& space,
                   const std::vector<LayoutChoice>& choices,
                   std::int64_t max_device_bytes);

    /// Returns the layouts in the order of `choices`.
    const std::vector<BoundedLayout>& all() const noexcept { return all_; }

    /// Returns the closer bound of a layout in all() (LayoutBounds::pipeline_seconds).
    double pipeline_seconds(const LayoutChoice& choice);

  private:
    std::map<int, LayoutBounds> by_tensor_;
    std::vector<BoundedLayout> all_;
};

}  // namespace ziggurat::plan
