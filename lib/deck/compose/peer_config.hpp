/// Detection of DeepSpeed configurations that are passed as decks.
#pragma once

#include <string>

#include "deck/document/node.hpp"

namespace ziggurat::deck {

/// Returns true for a map without deck_version that has several of DeepSpeed's keys.
bool is_deepspeed_config(const Node& root);

/// Returns lines of `key: value  -> ours=value` for all keys of `root` with a counterpart in decks.
///
/// A value with the same spelling in both is copied; otherwise the value is an example.
std::string counterparts_of(const Node& root);

}  // namespace ziggurat::deck
