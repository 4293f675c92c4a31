/// Settings of the training data and of the tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::spec {

/// Format of token files. `own`: no file; a program that calls the library supplies the tokens.
///
/// `chat`: samples of conversations, each with a mask of the tokens that count in the loss.
enum class TokenFormat { text, llmc, megatron, raw, own, chat };

/// Number type of raw token files, which have no header.
enum class RawType { uint16, uint32 };

/// Tokens of a conversation that count in the loss.
enum class LossOn {
    assistant,   ///< all turns of the assistant
    completion,  ///< the last turn of the assistant
    all          ///< all turns
};

/// A weight of a source from a step on.
struct WeightChange {
    std::int64_t step = 0;  ///< number of the first step with this weight, counted from 0
    double weight = 1;

    bool operator==(const WeightChange&) const = default;
};

struct Source {
    TokenFormat format = TokenFormat::text;
    std::string path;
    double weight = 1;                              ///< from the first step on
    std::vector<WeightChange> weight_changes = {};  ///< by step, each > 0
    RawType raw_type = RawType::uint16;             ///< for format raw
    std::string name = {};                          ///< of its losses; unique in its list
    /// For format chat with JSON lines: a file of a template, or the name of one of the tokenizer's; empty:
    /// its default one.
    std::string chat_template = {};
    std::optional<LossOn> loss_on = {};  ///< for format chat; empty: assistant, or as in the sample file

    bool operator==(const Source&) const = default;
};

/// Kind of tokenizer. `none`: token ids without a mapping to text.
enum class TokenizerKind { bytes, none, hf, sentencepiece };

/// Tokenizer settings.
struct Tokenizer {
    TokenizerKind kind = TokenizerKind::bytes;
    std::string path;  ///< for hf and sentencepiece: a file, or the folder of a model that contains it
    std::string hash;  ///< of that file, `xxh3:` and 16 digits; empty: unknown

    bool has_file() const { return kind == TokenizerKind::hf || kind == TokenizerKind::sentencepiece; }
    bool operator==(const Tokenizer&) const = default;
};

/// Begin-of-text token at the beginning of a text: as the tokenizer specifies, always, never.
enum class AddBos { as_tokenizer_says, yes, no };

/// Arrangement of samples of conversations in sequences.
enum class SamplePacking {
    none,     ///< one sample per sequence, then padding
    wrapped,  ///< one stream of samples, divided into sequences at any token
    best_fit  ///< whole samples, best-fit decreasing, then padding
};

/// Minimum number of tokens of a pair of answers.
inline constexpr std::int64_t min_pair_tokens = 4;

/// Treatment of samples that are longer than a sequence, with packing none and best_fit.
enum class LongSamples { cut, drop, refuse };

struct Data {
    Tokenizer tokenizer;
    AddBos add_bos = AddBos::as_tokenizer_says;
    std::int64_t seq = 0;
    std::vector<Source> train;
    std::vector<Source> validation;
    double held_out = 0;               ///< share of the end of each training source kept for validation
    bool shuffle = true;               ///< order of windows is a function of (seed, global sample index)
    bool reset_at_document = false;    ///< attention and positions restart at each document
    std::int64_t document_token = -1;  ///< token that starts (llmc) or ends a document; -1: none
    SamplePacking packing = SamplePacking::best_fit;  ///< of sources of format chat
    LongSamples long_samples = LongSamples::cut;      ///< of sources of format chat
    bool has_pairs = false;  ///< samples are pairs of answers, as Train::objective requires

    bool operator==(const Data&) const = default;
};

}  // namespace ziggurat::spec
