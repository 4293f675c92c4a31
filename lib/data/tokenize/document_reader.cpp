#include "data/tokenize/document_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::data {
namespace {

constexpr const char* key = "tokenize";

std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.content().data()), file.content().size()};
}

/// Returns the end of the first line that ends at or after byte `from`; empty if no line does.
std::optional<std::size_t> end_of_line(std::string_view text, std::size_t from) {
    const auto newline = text.find('\n', from);
    return newline == std::string_view::npos ? std::nullopt : std::optional{newline + 1};
}

}  // namespace

DocumentReader::DocumentReader(const std::vector<TextInput>& inputs, InputPosition from)
    : inputs_{inputs}, at_{from} {
    const auto earlier = std::min(at_.file, static_cast<std::int64_t>(std::ssize(inputs)));
    for (std::int64_t i = 0; i < earlier; ++i) {
        bytes_before_ += inputs[i].stamp.bytes;
    }
}

std::optional<DocumentBatch> DocumentReader::next(std::optional<InputPosition> until) {
    DocumentBatch batch;
    std::int64_t bytes = 0;
    while (at_.file < std::ssize(inputs_) && (!until || at_ < *until) && bytes < batch_bytes) {
        bytes += add_run(batch, batch_bytes - bytes);
    }
    batch.next = at_;
    batch.input_bytes = bytes_before_ + (stream_ ? stream_->file_bytes() : at_.offset);
    return batch.runs.empty() ? std::nullopt : std::optional{std::move(batch)};
}

std::int64_t DocumentReader::add_run(DocumentBatch& batch, std::int64_t min_bytes) {
    if (input().is_empty()) {
        if (!input().has_lines) {
            batch.runs.push_back({.owner = nullptr, .text = {}, .input = &input()});
        }
        end_input(0);
        return 1;  // so that batches of empty files end
    }
    return input().is_mapped() ? add_mapped_run(batch, min_bytes) : add_streamed_run(batch, min_bytes);
}

std::int64_t DocumentReader::add_mapped_run(DocumentBatch& batch, std::int64_t min_bytes) {
    if (file_ == nullptr) {
        file_ = std::make_shared<const MappedFile>(input().path, key);
        if (file_->stamp() != input().stamp || at_.offset > file_->bytes()) {
            refuse_changed(input().path);
        }
    }
    const auto text = text_of(*file_);
    const std::size_t begin = at_.offset;
    auto end = text.size();
    if (input().has_lines) {
        end = end_of_line(text, begin + (min_bytes - 1)).value_or(text.size());
    }
    batch.runs.push_back({.owner = file_,
                          .text = text.substr(begin, end - begin),
                          .input = &input(),
                          .text_before = text.substr(0, begin)});
    at_.offset = static_cast<std::int64_t>(end);
    if (end == text.size()) {
        end_input(file_->bytes());
    }
    return static_cast<std::int64_t>(end - begin);
}

/// Opens the stream and reads it up to at_.
void DocumentReader::open_stream() {
    stream_ = input().pipe != nullptr ? input().pipe : std::make_shared<TextStream>(input().path);
    ahead_ = std::make_shared<std::string>();
    for (auto left = at_.offset; left > 0;) {
        if (!stream_->read(*ahead_) && ahead_->empty()) {
            refuse_changed(input().path);
        }
        const auto skipped = std::min(left, static_cast<std::int64_t>(std::ssize(*ahead_)));
        lines_before_ += std::count(ahead_->begin(), ahead_->begin() + skipped, '\n');
        ahead_->erase(0, skipped);
        left -= skipped;
    }
}

std::int64_t DocumentReader::add_streamed_run(DocumentBatch& batch, std::int64_t min_bytes) {
    if (stream_ == nullptr) {
        open_stream();
    }
    std::optional<std::size_t> end;
    std::size_t searched = min_bytes - 1;
    // The cut must not depend on how the bytes arrive.
    while (!has_ended_ && (!end || *end == ahead_->size())) {
        if (!end && input().has_lines) {
            end = end_of_line(*ahead_, searched);
            searched = std::max(searched, ahead_->size());
        }
        if (!end || *end == ahead_->size()) {
            has_ended_ = !stream_->read(*ahead_);
        }
        const auto max_bytes = input().has_lines ? max_line_bytes : max_document_bytes;
        if (std::ssize(*ahead_) > batch_bytes + max_bytes) {
            throw Error{
                ErrorKind::deck,
                fmt::format("'{}': a {} of more than {} bytes. Split it into smaller ones.",
                            printable(input().path), input().has_lines ? "line" : "document", max_bytes)};
        }
    }
    if (!end && input().has_lines) {
        end = end_of_line(*ahead_, static_cast<std::size_t>(min_bytes - 1));
    }
    auto whole = std::exchange(ahead_, std::make_shared<std::string>());
    const auto bytes = end.value_or(whole->size());
    ahead_->assign(*whole, bytes, std::string::npos);
    whole->resize(bytes);
    const std::string_view text{*whole};
    batch.runs.push_back(
        {.owner = std::move(whole), .text = text, .input = &input(), .lines_before = lines_before_});
    lines_before_ += std::ranges::count(text, '\n');
    at_.offset += static_cast<std::int64_t>(bytes);
    if (has_ended_ && ahead_->empty()) {
        end_input(stream_->file_bytes());
    }
    return std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1);
}

void DocumentReader::end_input(std::int64_t file_bytes) {
    bytes_before_ += file_bytes;
    at_ = {at_.file + 1, 0};
    file_ = nullptr;
    stream_ = nullptr;
    ahead_ = nullptr;
    has_ended_ = false;
    lines_before_ = 0;
}

}  // namespace ziggurat::data
