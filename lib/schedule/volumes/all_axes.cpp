#include "schedule/volumes/all_axes.hpp"

#include "schedule/volumes/context_volumes.hpp"
#include "schedule/volumes/pipeline_volumes.hpp"
#include "schedule/volumes/split_volumes.hpp"
#include "schedule/volumes/tensor_volumes.hpp"
#include "schedule/volumes/tile_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::schedule {

std::map<Purpose, double> bytes_by_formula(const spec::RunSpec& run, const ModelLayout& model) {
    const auto spec = spec::of_stage(run, model.stage);
    std::map<Purpose, double> bytes;
    for (const auto& [purpose, whole_units] : bytes_of(volumes_by_formula(spec, model), spec.precision)) {
        bytes[purpose] = static_cast<double>(whole_units);
    }
    for (const auto& [purpose, tiles] : bytes_of(tile_volumes_of_axis(spec, model), spec.precision)) {
        bytes[purpose] += static_cast<double>(tiles) / static_cast<double>(model.spans.data);
    }
    bytes[Purpose::gradients] += gradient_sum_bytes_by_formula(spec, model);
    bytes[Purpose::tensor] =
        static_cast<double>(tensor_bytes_by_formula(spec, model) + split_bytes_by_formula(spec, model));
    bytes[Purpose::context] = static_cast<double>(context_bytes_by_formula(spec, model).total());
    bytes[Purpose::pipeline] = static_cast<double>(pipeline_bytes_by_formula(spec, model));
    return bytes;
}

}  // namespace ziggurat::schedule
