/// Files and pipes that are tokenized: where their text is, and whether each line is a document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_file.hpp"
#include "data/text/text_stream.hpp"

namespace ziggurat::data {

enum class InputKind {
    by_content,  ///< JSON lines where a file's name or its first lines say so
    text,        ///< every file is one document, whatever is in it
    json_lines
};

struct TextInput {
    std::string path;
    FileStamp stamp;         ///< zeros for a pipe
    std::uint64_t hash = 0;  ///< as of sampled_hash(), of the file's own bytes; 0 for a pipe or an empty file
    bool has_lines = false;  ///< a document on each line (JSON lines); else the whole text is one
    bool is_packed = false;
    std::shared_ptr<TextStream> pipe = nullptr;  ///< open, for what can be read only once

    bool is_mapped() const noexcept { return pipe == nullptr && !is_packed && stamp.bytes > 0; }
    bool is_empty() const noexcept { return pipe == nullptr && stamp.bytes == 0; }
};

/// Looks at inputs: stamps, hashes and first lines of files; pipes are opened.
///
/// JSON lines are files of that name (.jsonl, .ndjson, also packed and in capitals), and others whose first
/// lines are mostly JSON objects.
///
/// Errors: Error{deck} that names an input that cannot be read, is of a kind that is none of text, or is JSON
///         without an object on each line
std::vector<TextInput> text_inputs(const std::vector<std::string>& paths, InputKind kind);

/// True if the text of the file at `path` is JSON lines, by the rule of text_inputs(). Nothing is refused.
bool are_json_lines(const std::string& path, std::string_view text);

/// Rejects inputs of which a file has changed since it was looked at.
/// Errors: Error{deck} that names it
void expect_unchanged(const std::vector<TextInput>& inputs);

/// Throws the Error{deck} of a file that has changed.
[[noreturn]] void refuse_changed(const std::string& path);

}  // namespace ziggurat::data
