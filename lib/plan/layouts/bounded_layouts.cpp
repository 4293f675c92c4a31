#include "plan/layouts/bounded_layouts.hpp"

#include <cstddef>

#include "plan/for_each_on_threads.hpp"

namespace ziggurat::plan {

BoundedLayouts::BoundedLayouts(const spec::RunSpec& spec,
                               const Rates& rates,
                               const spec::LayoutSpace& space,
                               const std::vector<LayoutChoice>& choices,
                               std::int64_t max_device_bytes) {
    for (const auto& choice : choices) {
        all_.push_back({choice});
        by_tensor_.try_emplace(choice.tensor, spec, rates, space);
    }
    std::vector<std::pair<const int, LayoutBounds>*> degrees;
    for (auto& degree : by_tensor_) {
        degrees.push_back(&degree);
    }
    for_each_on_threads(degrees.size(), [&](std::size_t i) {
        auto& [tensor, bounds] = *degrees[i];
        for (auto& layout : all_) {
            if (layout.choice.tensor != tensor) {
                continue;
            }
            layout.device_bytes = bounds.device_bytes(layout.choice);
            if (layout.device_bytes <= max_device_bytes) {
                layout.step_seconds = bounds.step_seconds(layout.choice);
            }
        }
    });
}

double BoundedLayouts::pipeline_seconds(const LayoutChoice& choice) {
    return by_tensor_.at(choice.tensor).pipeline_seconds(choice);
}

}  // namespace ziggurat::plan
