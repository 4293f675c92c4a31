#include "spec/objective_text.hpp"

#include <fmt/format.h>

namespace ziggurat::spec {

const char* word_of(ObjectiveKind kind) {
    switch (kind) {
        case ObjectiveKind::next_token:
            return "next_token";
        case ObjectiveKind::dpo:
            return "dpo";
        case ObjectiveKind::ipo:
            return "ipo";
    }
    return "";
}

std::string reference_word(const Objective& objective) {
    switch (objective.reference) {
        case ReferenceKind::start:
            return "start";
        case ReferenceKind::adapters_off:
            return "adapters_off";
        case ReferenceKind::path:
            return objective.reference_path;
    }
    return "";
}

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
                               : reference_word(objective);
    return fmt::format("{} on pairs of answers, beta {:g}{}; reference: {}", word_of(objective.kind),
                       objective.beta, smoothing, reference);
}

}  // namespace ziggurat::spec
