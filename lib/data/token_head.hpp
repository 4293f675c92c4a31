/// Head of a token file: format, number of tokens, vocabulary, before it is trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// The head of a token file, or of a pair of Megatron's.
struct TokenHead {
    spec::TokenFormat format = spec::TokenFormat::text;
    std::vector<std::string> paths = {};  ///< of a pair: the index, then the tokens
    std::vector<std::int64_t> bytes = {};
    std::string magic = {};  ///< what it begins with; empty where there is no header
    std::optional<std::uint64_t> version = {};
    std::string type = {};  ///< how a token is stored: `uint16`
    std::int64_t token_bytes = 1;
    std::int64_t header_bytes = 0;  ///< before the first token
    /// As the header counts them; a Megatron index has no such count.
    std::optional<std::int64_t> tokens = {};
    std::int64_t stored_tokens = 0;  ///< that the size makes
    std::optional<std::uint64_t> sequences = {};
    std::optional<std::uint64_t> documents = {};
    std::vector<std::int32_t> first = {};  ///< the first tokens; -1 for what int32 cannot hold
    std::string problem = {};              ///< why it cannot be trained on; empty: header and size agree
};

/// Whether `path` names a file, or the two files of a Megatron prefix, and no folder. What is not there
/// counts by its name: .bin, .idx.
bool is_token_path(const std::string& path);

/// The prefix of the Megatron pair that `path` names, or is a file of; empty where there is no index.
std::string megatron_pair_of(const std::string& path);

/// What has no header is raw where it looks like bare token numbers, else text.
///
/// \param path  a file of llm.c, one of a Megatron pair or their prefix, a file of bare numbers, or of text
/// Errors: Error{deck} when it cannot be read or has none of these formats
TokenHead read_token_head(const std::string& path);

}  // namespace ziggurat::data
