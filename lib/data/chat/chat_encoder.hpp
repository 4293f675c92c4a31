/// Conversion of conversations to tokens with a mask of the tokens that count in the loss.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_record.hpp"
#include "data/chat/chat_template.hpp"
#include "data/chat/template_process.hpp"
#include "data/chat/unused_fields.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Tokens of a sample, and 1 for each that counts in the loss as a target.
///
/// The first token never counts: no context predicts it.
struct EncodedSample {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> counts;

    bool operator==(const EncodedSample&) const = default;
};

/// Encodes records. For one thread.
///
/// A rendered conversation has its special tokens already, so none is added. Counted are the tokens
///
/// - from generation blocks: from the token of the block's first character to that of its last one;
/// - from prefix rendering: those that begin inside of the turn, up to its end token. White space after an
///   added token at the end of a turn does not count.
///
/// Fields of messages such as `weight` exclude a message from the loss (counts_by_field()).
///
/// The prompt of a preference never counts. Turns of its answer do, or with loss_on all its tokens.
///
/// A text, and a pair of texts, begin with the begin token if the tokenizer adds one, and end with its
/// document token.
class ChatEncoder {
  public:
    /// \param tokenizer  must outlive this, as must `chat`
    /// \param chat    nullptr: conversations are rejected
    /// \param reason  message about that
    ChatEncoder(const TextTokenizer& tokenizer,
                const ChatTemplate* chat,
                std::string reason,
                TemplateEngine engine,
                spec::LossOn loss_on);

    /// Returns the chosen and the rejected answer of a preference, else one sample.
    ///
    /// The first conversation starts the process that renders templates.
    ///
    /// Errors: UnusableTemplate; Error{deck} about the record or its rendering, or if its answers are equal;
    ///         Error{resource}
    std::vector<EncodedSample> encode(std::string_view record);

    /// Returns the fields of the last record without an effect on its samples.
    const UnusedFields& unused_fields() const noexcept { return unused_; }

    /// Returns the method of the template for conversations without tools; empty before the first one.
    std::optional<SpanMethod> span_method() const {
        return process_ == nullptr ? std::nullopt : std::optional{process_->span_method(false)};
    }

  private:
    EncodedSample encode_text(const ChatRecord& record);
    EncodedSample encode_conversation(const ChatRecord& record);
    const std::string& template_of(const ChatRecord& record) const;
    void count_spans(const RenderedText& rendered, SpanMethod method, EncodedSample& sample) const;
    void count_marked(TextSpan span, std::size_t text_bytes, EncodedSample& sample) const;
    void count_turn(TextSpan span, std::string_view text, EncodedSample& sample) const;

    const TextTokenizer& tokenizer_;
    std::unique_ptr<TextEncoder> encoder_;
    const ChatTemplate* chat_;
    std::string reason_;
    TemplateEngine engine_;
    std::unique_ptr<TemplateProcess> process_;
    spec::LossOn loss_on_;
    std::vector<std::uint32_t> begins_;
    UnusedFields unused_;
};

/// Returns the request that renders a conversation for training.
///
/// Errors: Error{deck} if no turn of an assistant counts, or a message of another role is to count
RenderRequest render_request(const ChatRecord& record, spec::LossOn loss_on);

}  // namespace ziggurat::data
