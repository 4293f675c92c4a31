#include "data/tokenize/document_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "data/fingerprint.hpp"

namespace ziggurat::data {
namespace {

constexpr const char* key = "tokenize";

[[noreturn]] void has_changed(const std::string& path) {
    throw Error{ErrorKind::deck, fmt::format("'{}' has changed while it was read. Remove the journal and "
                                             "begin anew, when nobody writes to it.",
                                             printable(path))};
}

std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.content().data()), file.content().size()};
}

}  // namespace

std::vector<TextInput> text_inputs(const std::vector<std::string>& paths) {
    std::vector<TextInput> inputs;
    for (const auto& path : paths) {
        const auto stamp = stamp_of(path);
        if (stamp && stamp->bytes == 0) {
            inputs.push_back({path, *stamp, 0});
            continue;
        }
        const MappedFile file{path, key};
        inputs.push_back({path, file.stamp(), sampled_hash(file.content(), bytes_to_hash(paths.size()))});
    }
    return inputs;
}

void expect_unchanged(const std::vector<TextInput>& inputs) {
    for (const auto& input : inputs) {
        if (stamp_of(input.path) != input.stamp) {
            has_changed(input.path);
        }
    }
}

std::optional<DocumentBatch> DocumentReader::next() {
    DocumentBatch batch;
    std::int64_t bytes = 0;
    while (at_.file < std::ssize(inputs_) && bytes < batch_bytes) {
        bytes += add_run(batch, batch_bytes - bytes);
    }
    batch.next = at_;
    return batch.runs.empty() ? std::nullopt : std::optional{std::move(batch)};
}

std::int64_t DocumentReader::add_run(DocumentBatch& batch, std::int64_t most_bytes) {
    const TextInput& input = inputs_[static_cast<std::size_t>(at_.file)];
    if (input.stamp.bytes == 0) {
        if (!input.has_lines()) {
            batch.runs.emplace_back();
        }
        at_ = {at_.file + 1, 0};
        return 1;  // so that batches of empty files end
    }
    if (file_ == nullptr) {
        file_ = std::make_shared<const MappedFile>(input.path, key);
        if (file_->stamp() != input.stamp || at_.offset > file_->bytes()) {
            has_changed(input.path);
        }
    }
    const auto text = text_of(*file_);
    auto end = text.size();
    if (input.has_lines()) {
        const auto newline = text.find('\n', static_cast<std::size_t>(at_.offset + most_bytes - 1));
        end = newline == std::string_view::npos ? end : newline + 1;
    }
    const auto run =
        text.substr(static_cast<std::size_t>(at_.offset), end - static_cast<std::size_t>(at_.offset));
    batch.runs.push_back({file_, run, input.has_lines()});
    at_.offset = static_cast<std::int64_t>(end);
    if (end == text.size()) {
        at_ = {at_.file + 1, 0};
        file_ = nullptr;
    }
    return std::ssize(run);
}

}  // namespace ziggurat::data
