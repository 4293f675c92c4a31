/// Keywords of decks for kinds of recomputation.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the keyword of a deck: none, selective or full.
inline const char* keyword_of(RecomputeKind kind) {
    switch (kind) {
        case RecomputeKind::none:
            return "none";
        case RecomputeKind::selective:
            return "selective";
        case RecomputeKind::full:
            return "full";
    }
    return "";
}

}  // namespace ziggurat::spec
