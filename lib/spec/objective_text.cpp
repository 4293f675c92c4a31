#include "spec/objective_text.hpp"

#include <fmt/format.h>

namespace ziggurat::spec {

std::string objective_text(const Objective& objective) {
    if (!objective.has_pairs()) {
        return {};
    }
    const auto smoothing = objective.label_smoothing > 0
                               ? fmt::format(", label smoothing {:g}", objective.label_smoothing)
                               : std::string{};
    const auto reference = objective.reference == ReferenceKind::start ? std::string{"the initial weights"}
                           : objective.reference == ReferenceKind::adapters_off
                               ? std::string{"the initial weights without adapters"}
                               : objective.reference_path;
    return fmt::format("{} on pairs of answers, beta {:g}{}; reference: {}",
                       objective.kind == ObjectiveKind::ipo ? "ipo" : "dpo", objective.beta, smoothing,
                       reference);
}

}  // namespace ziggurat::spec
