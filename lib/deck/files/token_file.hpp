/// Facts about a token source from its headers: whether it is there, and is what the deck says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

struct TokenFileFacts {
    std::optional<std::string> trouble = {};  ///< what is wrong with it, as the reason in a complaint
    std::int64_t tokens = 0;
    bool is_missing = false;  ///< the trouble is that there is no such file
    std::string advice = {};  ///< what to write instead, where that is known
};

/// Reads the headers of `source`, no more.
/// Source: the layouts are those of llm.c (dev/data/data_common.py) and Megatron-LM (indexed_dataset.py).
TokenFileFacts inspect(const spec::Source& source);

}  // namespace ziggurat::deck
