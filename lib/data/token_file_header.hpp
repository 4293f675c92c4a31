/// Head of a token file, for inspection before training: format, number of tokens, vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// The head of a token file, or of a pair of Megatron files.
struct TokenFileHeader {
    spec::TokenFormat format = spec::TokenFormat::text;
    std::vector<std::string> paths = {};  ///< of a pair: the index, then the tokens
    std::vector<std::int64_t> bytes = {};
    std::string magic = {};  ///< first bytes of the header; empty without a header
    std::optional<std::uint64_t> version = {};
    std::string type = {};  ///< storage type of a token: `uint16`
    std::int64_t token_bytes = 1;
    std::int64_t header_bytes = 0;  ///< bytes before the first token
    /// Count in the header; empty for a Megatron index, which has no count.
    std::optional<std::int64_t> tokens = {};
    std::int64_t stored_tokens = 0;  ///< number of tokens by file size
    std::optional<std::uint64_t> sequences = {};
    std::optional<std::uint64_t> documents = {};
    std::vector<std::int32_t> first = {};  ///< the first tokens; -1 for values that int32 cannot hold
    std::string problem = {};  ///< reason why it cannot be trained on; empty: header and size agree
};

/// Returns true if `path` names a file, or the two files of a Megatron prefix, and not a folder.
///
/// A path that does not exist is judged by its extension: .bin, .idx.
bool is_token_path(const std::string& path);

/// Returns the prefix of the Megatron pair that `path` names or belongs to; empty without an index.
std::string megatron_pair_of(const std::string& path);

/// Reads the head of a file.
///
/// Without a header, the format is raw if it looks like token numbers, else text.
///
/// \param path  a file of llm.c, one of a Megatron pair or their prefix, a raw file, or a text
/// Errors: Error{deck} if it cannot be read or has another format
TokenFileHeader read_token_file_header(const std::string& path);

}  // namespace ziggurat::data
