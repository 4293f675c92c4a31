#include "schedule/volumes/context_volumes.hpp"

#include "base/contract.hpp"
#include "layout/context/context_heads.hpp"
#include "schedule/op_kind.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {

std::int64_t context_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.context == 1) {
        return 0;
    }
    ZG_EXPECTS(layout::exchanges_heads(spec.parallel));
    const auto ranks = spec.parallel.context;
    const auto bytes_of = [&](bool has_keys) {
        const auto heads = layout::context_heads(spec.model, spec.parallel, has_keys);
        return without_own_part(model.tokens * ranks * heads.part_width() * model.element_bytes, ranks);
    };
    const auto of_pass = bytes_of(true) + bytes_of(false);
    const auto again = recompute_inputs(spec, model);
    std::int64_t passes = 0;
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            const auto& phases = model.table.units[unit].phases;
            for (std::size_t p = 0; p < phases.size(); ++p) {
                if (phases[p].kind != layout::PhaseKind::attention) {
                    continue;
                }
                const auto found = again.find(unit);
                passes += 1 + (model.runs_backward(unit, static_cast<int>(p)) ? 1 : 0) +
                          (found != again.end() && found->second.phases[p] ? 1 : 0);
            }
        }
    }
    return spec.train.micro_batches * passes * of_pass;
}

}  // namespace ziggurat::schedule
