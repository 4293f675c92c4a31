/// Creation of token files from text.
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
    std::string name;  ///< name of the output: NAME.bin, for megatron also NAME.idx
    spec::TokenFormat format = spec::TokenFormat::llmc;  ///< llmc or megatron
    LineReading lines = {};
    std::optional<std::int32_t> begin_token = {};  ///< added before the text of each document
    std::uint64_t configuration = 0;               ///< configuration_hash() of the tokenizer
    int threads = 1;
    double seconds_between_records = 0.2;  ///< interval of journal records; 0: after each batch
    StopCheck stop = {};
};

struct TokenizeResult {
    WrittenTokens written;
    TokenType type = TokenType::uint16;
    std::int64_t text_bytes = 0;     ///< of all inputs, decompressed
    std::int64_t earlier_bytes = 0;  ///< of these, bytes that an earlier process had written
    std::int64_t skipped_lines = 0;  ///< including those of earlier processes
    std::vector<BadLine> bad_lines;  ///< the first lines that this call has skipped
};

/// Callback with the written bytes of inputs, and the bytes of all inputs.
using TokenizeProgress = std::function<void(std::int64_t done_bytes, std::int64_t all_bytes)>;

/// Encodes documents in order and writes them. The output does not depend on the number of threads.
///
/// NAME.journal records the progress. After any interruption, the same job resumes from there. It also
/// resumes if inputs were changed after that position, such as a repaired line.
///
/// Errors: Error{deck} if the files exist, an input cannot be read, is invalid or changes during the job, or
///         the journal belongs to another job; Error{resource} if the disk fails, or another process writes
///         the files; Stopped, after a journal record
TokenizeResult tokenize_files(const TokenizeJob& job,
                              const TextTokenizer& tokenizer,
                              const TokenizeProgress& progress);

}  // namespace ziggurat::data
