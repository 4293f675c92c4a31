/// Making of token files from text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenize/encode_pool.hpp"
#include "data/tokenize/text_input.hpp"
#include "data/tokenize/token_output.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

struct TokenizeJob {
    std::vector<std::string> inputs;  ///< files and pipes
    InputKind kind = InputKind::by_content;
    std::string name;  ///< of what is made: NAME.bin, for megatron NAME.idx too
    spec::TokenFormat format = spec::TokenFormat::llmc;  ///< llmc or megatron
    LineReading lines = {};
    std::optional<std::int32_t> begin_token = {};  ///< before the text of each document
    int threads = 1;
    double seconds_between_records = 0.2;  ///< of the journal; 0: after each batch
};

struct TokenizeResult {
    WrittenTokens written;
    TokenType type = TokenType::uint16;
    std::int64_t text_bytes = 0;     ///< of all inputs, unpacked
    std::int64_t earlier_bytes = 0;  ///< of these, what an earlier process had done
    std::int64_t skipped_lines = 0;  ///< with those of an earlier process
    std::vector<BadLine> bad_lines;  ///< the first that this call has skipped
};

/// Called with the bytes of inputs that are written, and those of all.
using TokenizeProgress = std::function<void(std::int64_t done_bytes, std::int64_t all_bytes)>;

/// Encodes documents in their order and writes them; the bytes do not depend on the number of threads.
/// NAME.journal records how far it has come. The same job resumes from there after whatever ended it, also
/// with inputs that have been changed after that place, such as a repaired line.
///
/// Errors: Error{deck} when the files exist, an input cannot be read, is broken or changes meanwhile, or the
///         journal is of another job; Error{resource} when the disk fails, or another process makes the files
TokenizeResult tokenize_files(const TokenizeJob& job,
                              const TextTokenizer& tokenizer,
                              const TokenizeProgress& progress);

}  // namespace ziggurat::data
