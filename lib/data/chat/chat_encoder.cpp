#include "data/chat/chat_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "data/chat/function_calls.hpp"
#include "data/chat/message_training.hpp"
#include "data/chat/record_fields.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

bool is_blank(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto character = character_at(text, at);
        if (!is_white_space(character.code)) {
            return false;
        }
        at += character.bytes;
    }
    return true;
}

bool is_assistant(const ChatJson& message) {
    return message["role"] == "assistant";
}

/// Sets the first token's mask, and checks that the loss has a target.
///
/// \param answer  `chosen` or `rejected`; empty: the record is not a preference
void finish(EncodedSample& sample, std::string_view answer) {
    if (sample.ids.size() < 2) {
        throw Error{ErrorKind::deck, fmt::format("{} of {} token{}. Remove {}: a sample has 2 or more.",
                                                 answer.empty() ? "a record" : "a preference with an answer",
                                                 sample.ids.size(), sample.ids.size() == 1 ? "" : "s",
                                                 answer.empty() ? "it" : "the record")};
    }
    sample.counts.front() = 0;
    if (std::ranges::find(sample.counts, 1) != sample.counts.end()) {
        return;
    }
    if (!answer.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("no token of the {} answer counts in the loss. Remove the record.", answer)};
    }
    throw Error{ErrorKind::deck,
                "no token of the record counts in the loss. Remove the record, or set loss_on all."};
}

/// Rejects a message that is to count although it is not of an assistant.
void expect_no_request(const ChatJson& message, std::int64_t index) {
    for (const char* key : {"train", "training", "trainable"}) {
        if (has_field(message, key) && message[key] != false && message[key] != 0) {
            throw Error{
                ErrorKind::deck,
                fmt::format("message {} (counted from 1) has '{}' and is not of an assistant, whose messages "
                            "alone count. Remove the field, or set loss_on all.",
                            index + 1, key)};
        }
    }
}

/// Returns the messages from `first` on that their fields exclude from the loss.
std::vector<MessageRange> excluded_messages(const ChatRecord& record, std::int64_t first) {
    std::vector<MessageRange> excluded;
    for (auto i = first; i < std::ssize(record.messages); ++i) {
        if (!counts_by_field(record.messages[static_cast<std::size_t>(i)], "a message").value_or(true)) {
            excluded.push_back({i, i + 1});
        }
    }
    return excluded;
}

[[noreturn]] void refuse_without_turns(const ChatRecord& record, bool has_excluded) {
    const char* what = record.is_answer             ? "answer"
                       : record.prompt_messages > 0 ? "completion"
                                                    : "conversation";
    throw Error{
        ErrorKind::deck,
        has_excluded
            ? fmt::format(
                  "no message of an assistant counts in the {}: its fields, such as weight 0, exclude "
                  "all. Remove the record or the fields.",
                  what)
            : fmt::format("the {} has no message of an assistant. Remove the record, or set loss_on all.",
                          what)};
}

}  // namespace

RenderRequest render_request(const ChatRecord& record, spec::LossOn loss_on) {
    const auto num_messages = static_cast<std::int64_t>(std::ssize(record.messages));
    RenderRequest request{.messages = record.messages,
                          .variables = record.variables,
                          .has_tools = record.has_tools,
                          .marked = {record.prompt_messages, num_messages},
                          .turns = {}};
    if (loss_on == spec::LossOn::all) {
        request.excluded = excluded_messages(record, record.is_answer ? record.prompt_messages : 0);
        request.ignores_blocks = record.is_answer || !request.excluded.empty();
        if (record.is_answer) {
            request.turns = {request.marked};
        }
        return request;
    }
    request.excluded = excluded_messages(record, record.prompt_messages);
    if (loss_on == spec::LossOn::completion && !record.is_answer && record.prompt_messages > 0) {
        request.turns = {request.marked};
        return request;
    }
    bool is_last_excluded = false;
    for (auto i = record.prompt_messages; i < num_messages; ++i) {
        const auto& message = record.messages[static_cast<std::size_t>(i)];
        if (!is_assistant(message)) {
            expect_no_request(message, i);
        } else if (!std::ranges::binary_search(request.excluded, i, {}, &MessageRange::first)) {
            request.turns.push_back({i, i + 1});
            is_last_excluded = false;
        } else {
            is_last_excluded = true;
        }
    }
    const bool is_last_only =
        (loss_on == spec::LossOn::completion && !record.is_answer) || record.counts_last_only;
    // If the last message of an assistant is excluded, no earlier one takes its place.
    if (request.turns.empty() || (is_last_only && is_last_excluded)) {
        refuse_without_turns(record, is_last_excluded);
    }
    if (is_last_only) {
        request.turns = {request.turns.back()};
        request.marked = request.turns.front();
    }
    return request;
}

ChatEncoder::ChatEncoder(const TextTokenizer& tokenizer,
                         const ChatTemplate* chat,
                         std::string reason,
                         TemplateEngine engine,
                         spec::LossOn loss_on)
    : tokenizer_{tokenizer},
      encoder_{tokenizer.make_encoder()},
      chat_{chat},
      reason_{std::move(reason)},
      engine_{std::move(engine)},
      loss_on_{loss_on} {}

std::vector<EncodedSample> ChatEncoder::encode(std::string_view record) {
    std::vector<EncodedSample> samples;
    unused_ = {};
    for (auto& parsed : parse_chat_records(record)) {
        const char* answer = !parsed.is_answer ? "" : samples.empty() ? "chosen" : "rejected";
        if (parsed.kind == RecordKind::conversation && chat_ != nullptr) {
            replace_function_calls(parsed, template_of(parsed));
        }
        samples.push_back(parsed.kind == RecordKind::conversation ? encode_conversation(parsed)
                                                                  : encode_text(parsed));
        finish(samples.back(), answer);
        unused_.add(fields_without_effect(parsed, template_of(parsed)));
    }
    if (samples.size() == 2 && samples[0].ids == samples[1].ids) {
        throw Error{ErrorKind::deck,
                    "the chosen and the rejected answer are equal, token by token. Remove the record."};
    }
    return samples;
}

const std::string& ChatEncoder::template_of(const ChatRecord& record) const {
    static const std::string none;
    return chat_ == nullptr                                ? none
           : record.has_tools && !chat_->tool_text.empty() ? chat_->tool_text
                                                           : chat_->text;
}

EncodedSample ChatEncoder::encode_text(const ChatRecord& record) {
    EncodedSample sample;
    if (tokenizer_.adds_begin_token()) {
        sample.ids.push_back(*tokenizer_.begin_token());
    }
    const auto first = sample.ids.size();
    const bool counts_all =
        record.kind == RecordKind::text || (loss_on_ == spec::LossOn::all && !record.is_answer);
    begins_.clear();
    if (counts_all) {
        encoder_->encode(record.prompt + record.text, sample.ids);
    } else {
        encoder_->encode_with_begins(record.prompt + record.text, sample.ids, begins_);
    }
    if (const auto end = tokenizer_.document_token();
        end && (sample.ids.empty() || sample.ids.back() != *end)) {
        sample.ids.push_back(*end);
    }
    sample.counts.assign(sample.ids.size(), 1);
    if (!counts_all) {
        for (std::size_t i = 0; i < first + begins_.size(); ++i) {
            sample.counts[i] = i >= first && begins_[i - first] >= record.prompt.size() ? 1 : 0;
        }
    }
    return sample;
}

EncodedSample ChatEncoder::encode_conversation(const ChatRecord& record) {
    if (process_ == nullptr) {
        if (chat_ == nullptr) {
            throw UnusableTemplate{reason_};
        }
        process_ = std::make_unique<TemplateProcess>(*chat_, engine_);
    }
    const auto rendered = process_->render(render_request(record, loss_on_));
    EncodedSample sample;
    begins_.clear();
    const bool counts_all = loss_on_ == spec::LossOn::all;
    if (counts_all && !record.is_answer && rendered.excluded.empty()) {
        encoder_->encode(rendered.text, sample.ids);
        sample.counts.assign(sample.ids.size(), 1);
        return sample;
    }
    encoder_->encode_with_begins(rendered.text, sample.ids, begins_);
    sample.counts.assign(sample.ids.size(), 0);
    if (counts_all) {
        const auto begin = record.is_answer ? rendered.spans.at(0).begin : 0;
        const auto first = std::ranges::lower_bound(begins_, begin) - begins_.begin();
        std::fill(sample.counts.begin() + first, sample.counts.end(), 1);
    } else {
        count_spans(rendered, process_->span_method(record.has_tools), sample);
    }
    for (const auto& span : rendered.excluded) {
        const auto first = std::ranges::lower_bound(begins_, span.begin) - begins_.begin();
        const auto last = std::ranges::lower_bound(begins_, span.end) - begins_.begin();
        std::fill(sample.counts.begin() + first, sample.counts.begin() + std::max(first, last), 0);
    }
    return sample;
}

void ChatEncoder::count_spans(const RenderedText& rendered, SpanMethod method, EncodedSample& sample) const {
    for (const auto& span : rendered.spans) {
        if (span.begin == span.end) {
            continue;
        }
        if (method == SpanMethod::generation_blocks) {
            count_marked(span, rendered.text.size(), sample);
        } else {
            count_turn(span, rendered.text, sample);
        }
    }
}

// Same as apply_chat_template(return_assistant_tokens_mask=True) of transformers.
void ChatEncoder::count_marked(TextSpan span, std::size_t text_bytes, EncodedSample& sample) const {
    // The token before the first one that begins in the span may end in it.
    const auto first = std::ranges::lower_bound(begins_, span.begin) - begins_.begin();
    for (auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(first - 1, 0));
         i < begins_.size() && begins_[i] < span.end; ++i) {
        const auto end = i + 1 < begins_.size() ? begins_[i + 1] : text_bytes;
        if (begins_[i] >= span.begin || end > span.begin) {
            sample.counts[i] = 1;
        }
    }
}

void ChatEncoder::count_turn(TextSpan span, std::string_view text, EncodedSample& sample) const {
    const auto index_of = [&](std::size_t offset) {
        return std::ranges::lower_bound(begins_, offset) - begins_.begin();
    };
    const auto first = index_of(span.begin);
    auto last = index_of(span.end);
    auto added = last;
    while (added > first && !tokenizer_.is_added(sample.ids[added - 1])) {
        --added;
    }
    if (added > first && added < last && is_blank(text.substr(begins_[added], span.end - begins_[added]))) {
        last = added;
    }
    std::fill(sample.counts.begin() + first, sample.counts.begin() + std::max(first, last), 1);
}

}  // namespace ziggurat::data
