/// Multiple-choice tasks as tokens: one row for each ending, which includes the context before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/choice/choice_task.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// Token counts of a row: its context and its ending, both at least 1.
struct ChoiceRow {
    std::int32_t context = 0;
    std::int32_t ending = 0;

    /// Returns the number of tokens that a model reads to predict the whole ending: all but the last.
    std::int64_t read() const { return std::int64_t{context} + ending - 1; }

    bool operator==(const ChoiceRow&) const = default;
};

/// Rows in the order of tasks and of their endings.
struct ChoiceRows {
    std::vector<ChoiceRow> rows;
    std::vector<std::int32_t> tokens;  ///< of all rows, concatenated

    std::int64_t longest_read() const;
    /// Serializes the rows for other ranks; of_bytes() parses them on a machine of the same kind.
    std::string bytes() const;
    static ChoiceRows of_bytes(std::string_view bytes);

    bool operator==(const ChoiceRows&) const = default;
};

/// Limits of the model that reads the rows.
struct ChoiceLimits {
    std::int64_t vocab = 0;     ///< all tokens are below it
    std::int64_t max_read = 0;  ///< maximum number of tokens of a sequence
};

struct EncodedChoices {
    ChoiceRows rows;
    std::int64_t cut_rows = 0;  ///< rows whose context was truncated at its beginning to fit
    /// Tasks without rows, by their index in ascending order: an ending adds no token to its context.
    std::vector<std::size_t> skipped = {};
    std::size_t first_skipped_ending = 0;  ///< ending without tokens of the first one
};

/// Encodes the context, a space and the ending of each task as one text.
///
/// The tokens of the ending are those after the number of tokens that the context has alone. White space at
/// the end of a context belongs to the ending. added_begin_token() precedes each context. A context without
/// tokens is replaced by the begin token, else by the document token.
///
/// A task with an ending without tokens is skipped: no log-probability measures it, and lm-evaluation-harness
/// asserts that it does not occur.
///
/// Source: EleutherAI, lm-evaluation-harness, lm_eval/api/model.py, TemplateLM._encode_pair() and
/// loglikelihood()
///
/// \param path     the file of the tasks, for messages
/// \param add_bos  adds the begin-of-text token before each context
/// Errors: Error{deck} with file and line: a token outside the vocabulary; an ending that does not fit after
///         a single token; an empty context if the tokenizer has neither token; all tasks are skipped
EncodedChoices encode_choices(std::span<const ChoiceTask> tasks,
                              const TextTokenizer& tokenizer,
                              const ChoiceLimits& limits,
                              const std::string& path,
                              spec::AddBos add_bos = spec::AddBos::as_tokenizer_says);

}  // namespace ziggurat::data
