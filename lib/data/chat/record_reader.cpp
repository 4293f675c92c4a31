#include "data/chat/record_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::data {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view blanks = " \t\r\n";

/// Returns the end of the object that begins at `begin`; npos if it does not end in `text`.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
    std::int64_t depth = 0;
    bool is_in_text = false;
    for (auto at = begin; at < text.size(); ++at) {
        const char c = text[at];
        if (is_in_text) {
            at += c == '\\' ? 1 : 0;
            is_in_text = c != '"';
        } else if (c == '"') {
            is_in_text = true;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return std::string_view::npos;
}

}  // namespace

RecordReader::RecordReader(std::vector<std::string> paths, StopCheck stop)
    : paths_{std::move(paths)}, stop_{std::move(stop)}, hash_{XXH3_createState(), XXH3_freeState} {
    XXH3_64bits_reset(hash_.get());
}

RecordReader::~RecordReader() = default;

std::uint64_t RecordReader::hash() const {
    return XXH3_64bits_digest(hash_.get());
}

std::optional<RecordBatch> RecordReader::next() {
    while (stream_ != nullptr || next_path_ < paths_.size()) {
        if (stream_ == nullptr) {
            open_next();
        }
        RecordBatch batch{.path = stream_->path(), .records = {}};
        std::size_t bytes = 0;
        bool has_more = true;
        while (has_more && bytes < batch_bytes) {
            const auto before = batch.records.size();
            has_more = is_array_ ? take_element(batch) : take_line(batch);
            bytes += batch.records.size() > before ? batch.records.back().json.size() : 0;
        }
        batch.file_bytes = bytes_before_ + stream_->file_bytes();
        if (!has_more) {
            bytes_before_ += stream_->file_bytes();
            stream_ = nullptr;
        }
        if (!batch.records.empty()) {
            return batch;
        }
    }
    return std::nullopt;
}

void RecordReader::open_next() {
    stream_ = std::make_unique<TextStream>(paths_[next_path_++], stop_);
    text_.clear();
    at_ = 0;
    line_ = 1;
    has_ended_ = is_array_ = is_array_done_ = needs_comma_ = is_after_comma_ = false;
    if (const auto found = recognise_file(stream_->beginning(recognised_bytes))) {
        throw Error{ErrorKind::deck, fmt::format("cannot read records from '{}' (it is {}). {}",
                                                 printable(stream_->path()), found->what, found->remedy)};
    }
    while (text_.size() < byte_order_mark.size() && read_more()) {}
    if (text_.starts_with(byte_order_mark)) {
        at_ = byte_order_mark.size();
    }
    std::size_t first = text_.find_first_not_of(blanks, at_);
    while (first == std::string::npos && read_more()) {
        first = text_.find_first_not_of(blanks, at_);
    }
    if (first != std::string::npos && text_[first] == '[') {
        is_array_ = true;
        skip(first + 1 - at_);
    }
}

bool RecordReader::read_more() {
    if (has_ended_) {
        return false;
    }
    text_.erase(0, at_);
    at_ = 0;
    if (text_.size() > max_record_bytes) {
        refuse(fmt::format("a record of more than {} bytes", max_record_bytes));
    }
    const auto before = text_.size();
    has_ended_ = !stream_->read(text_);
    XXH3_64bits_update(hash_.get(), text_.data() + before, text_.size() - before);
    return !has_ended_;
}

void RecordReader::skip(std::size_t bytes) {
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    line_ += std::count(begin, begin + static_cast<std::ptrdiff_t>(bytes), '\n');
    at_ += bytes;
}

bool RecordReader::take_line(RecordBatch& batch) {
    auto searched = at_;
    auto end = text_.find('\n', searched);
    while (end == std::string::npos) {
        searched = text_.size() - at_;
        if (!read_more()) {
            break;
        }
        end = text_.find('\n', searched);
    }
    const bool is_last = end == std::string::npos;
    end = is_last ? text_.size() : end;
    auto line = text_.substr(at_, end - at_);
    if (line.find_first_not_of(blanks) != std::string::npos) {
        batch.records.push_back({std::move(line), line_});
    }
    skip(end - at_ + (is_last ? 0 : 1));
    return !is_last;
}

bool RecordReader::take_element(RecordBatch& batch) {
    std::size_t first = text_.find_first_not_of(blanks, at_);
    while (first == std::string::npos) {
        if (!read_more()) {
            if (is_array_done_) {
                return false;
            }
            refuse("the array has no end");
        }
        first = text_.find_first_not_of(blanks, at_);
    }
    skip(first - at_);
    const char c = text_[at_];
    if (is_array_done_) {
        refuse(fmt::format("text after the array, line {}", line_));
    }
    if (c == ']' && is_after_comma_) {
        refuse(fmt::format("a comma before the end of the array, line {}", line_));
    }
    if (c == ']') {
        is_array_done_ = true;
        skip(1);
        return true;
    }
    if (needs_comma_) {
        if (c != ',') {
            refuse(fmt::format("no comma between records, line {}", line_));
        }
        needs_comma_ = false;
        is_after_comma_ = true;
        skip(1);
        return true;
    }
    if (c != '{') {
        refuse(fmt::format("the array has an element that is not an object, line {}", line_));
    }
    auto end = end_of_object(text_, at_);
    while (end == std::string::npos) {
        if (!read_more()) {
            refuse(fmt::format("the object that begins on line {} has no end", line_));
        }
        end = end_of_object(text_, at_);
    }
    batch.records.push_back({text_.substr(at_, end - at_), line_});
    skip(end - at_);
    needs_comma_ = true;
    is_after_comma_ = false;
    return true;
}

void RecordReader::refuse(const std::string& reason) const {
    throw Error{ErrorKind::deck,
                fmt::format("cannot read records from '{}' ({}). Write JSON lines, or one array "
                            "of objects.",
                            printable(stream_->path()), reason)};
}

}  // namespace ziggurat::data
