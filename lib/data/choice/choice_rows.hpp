/// Multiple-choice tasks as tokens: a row for each ending, with the context before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/choice/choice_task.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// Of a row, how many tokens are its context's, how many its ending's; both at least 1.
struct ChoiceRow {
    std::int32_t context = 0;
    std::int32_t ending = 0;

    /// Tokens that a model reads to foretell all of the ending: the last is foretold alone.
    std::int64_t read() const { return std::int64_t{context} + ending - 1; }

    bool operator==(const ChoiceRow&) const = default;
};

/// Rows in the order of tasks and of their endings.
struct ChoiceRows {
    std::vector<ChoiceRow> rows;
    std::vector<std::int32_t> tokens;  ///< of all rows, one behind the other

    std::int64_t longest_read() const;
    /// For other ranks: bytes that of_bytes() reads back on a machine of the same kind.
    std::string bytes() const;
    static ChoiceRows of_bytes(std::string_view bytes);

    bool operator==(const ChoiceRows&) const = default;
};

/// What the model that reads rows can take.
struct ChoiceLimits {
    std::int64_t vocab = 0;      ///< tokens are below
    std::int64_t most_read = 0;  ///< tokens of a sequence
};

struct EncodedChoices {
    ChoiceRows rows;
    std::int64_t cut_rows = 0;  ///< that have lost the beginning of their context, as it does not fit
};

/// Encodes the context, a space and the ending as one text; the ending's tokens are those after as many as
/// the context alone has. White space at the end of a context belongs to the ending. added_begin_token() is
/// before each context. A context without tokens becomes the begin token, else the document token.
///
/// Source: EleutherAI, lm-evaluation-harness, lm_eval/api/model.py, TemplateLM._encode_pair() and
/// loglikelihood() \param path     the file of the tasks, for messages \param add_bos  whether the
/// begin-of-text token is before a context Errors: Error{deck} with file and line: a token outside the
/// vocabulary; an ending that does not fit behind
///         a single token; an empty context where the tokenizer names neither token
EncodedChoices encode_choices(std::span<const ChoiceTask> tasks,
                              const TextTokenizer& tokenizer,
                              const ChoiceLimits& limits,
                              const std::string& path,
                              spec::AddBos add_bos = spec::AddBos::as_tokenizer_says);

}  // namespace ziggurat::data
