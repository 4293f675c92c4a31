/// Names that other programs use for deck keys.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// A key of DeepSpeed, transformers, torchtitan, llm.c or nanoGPT, or a flag of Megatron-LM.
struct PeerName {
    std::string_view name;  ///< in lower case, with underscores, without leading dashes
    std::string_view ours;  ///< an equivalent override: `optimizer.lr=3.0e-4`
    bool is_same = false;   ///< true if the value has the same spelling
    std::string_view note = {};
};

std::span<const PeerName> peer_names();

/// Finds a name, ignoring case, leading dashes, and the difference of dashes and underscores.
///
/// Returns nullptr if the name is unknown.
const PeerName* find_peer_name(std::string_view keyword);

/// Translates a value of another program: bf16 for bfloat16, host for cpu; empty if unknown.
std::vector<std::string_view> find_peer_values(std::string_view keyword);

/// Returns `Here that is optimizer.lr, as in optimizer.lr=3.0e-4.`
std::string describe(const PeerName& peer);

}  // namespace ziggurat::deck
