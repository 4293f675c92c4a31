#include "schedule/volumes/pipeline_volumes.hpp"

namespace ziggurat::schedule {

std::int64_t pipeline_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.stages == 1) {
        return 0;
    }
    const auto tensor = model.tensor();
    const bool is_divided = tensor > 1 && (spec.parallel.sequence || model.has_grid());
    const auto elements = model.tokens * spec.model.hidden / (is_divided ? tensor : 1);
    const bool is_cut = tensor > 1 && !is_divided;
    const auto all = elements * model.element_bytes;
    const auto sent = is_cut ? all / tensor : all;
    const auto gathered = is_cut ? all - all / tensor : 0;
    std::int64_t bytes = 0;
    for (int chunk = 0; chunk < spec.parallel.chunks_per_stage; ++chunk) {
        const auto& units = model.chunk_units[chunk];
        const int position = model.virtual_stage(chunk);
        const auto is_elsewhere = [&](int v) { return model.stage_of(v) != model.stage; };
        if (position + 1 < model.virtual_stages && is_elsewhere(position + 1)) {
            bytes += sent + (model.runs_backward(units.back()) ? gathered : 0);
        }
        if (position > 0 && is_elsewhere(position - 1)) {
            bytes += gathered + (model.runs_backward(units.front() - 1) ? sent : 0);
        }
    }
    return spec.train.micro_batches * bytes;
}

}  // namespace ziggurat::schedule
