/// Configurations of DeepSpeed that somebody gives as a deck.
#pragma once

#include <string>

#include "deck/document/node.hpp"

namespace ziggurat::deck {

/// True for a map that names no deck_version and several of DeepSpeed's own keys.
bool is_deepspeed_config(const Node& root);

/// What a deck says in the place of each key of `root` that has a counterpart: lines of `key: value  ->
/// ours=value`. A value that is written the same here is taken over, another one is an example.
std::string counterparts_of(const Node& root);

}  // namespace ziggurat::deck
