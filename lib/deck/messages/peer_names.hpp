/// Names by which other programs call what a key of the deck says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// A key of DeepSpeed, transformers, torchtitan, llm.c or nanoGPT, or a flag of Megatron-LM without its
/// dashes.
struct PeerName {
    std::string_view name;  ///< in small letters, with underscores
    std::string_view ours;  ///< an override that says the like: `optimizer.lr=3.0e-4`
    bool is_same = false;   ///< the value is written the same
    std::string_view note = {};
};

std::span<const PeerName> peer_names();

/// Whatever the case of its letters, with dashes or underscores, with or without dashes before it; null when
/// nobody calls anything so.
const PeerName* find_peer_name(std::string_view word);

/// What a value of another program is here: bf16 for bfloat16, host for cpu; empty if it is not known.
std::vector<std::string_view> find_peer_values(std::string_view word);

/// `Here that is optimizer.lr, as in optimizer.lr=3.0e-4.`
std::string describe(const PeerName& peer);

}  // namespace ziggurat::deck
