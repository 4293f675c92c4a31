/// Choice between all combinations of independent axes and a part in which all pairs of values occur.
#pragma once

#include <cstdlib>
#include <string>

namespace ziggurat::test {

/// Returns true if ZIGGURAT_CASES is "all", which scripts/test.sh --long sets.
inline bool tries_all_cases() {
    const char* const text = std::getenv("ZIGGURAT_CASES");
    return text != nullptr && std::string{text} == "all";
}

}  // namespace ziggurat::test
