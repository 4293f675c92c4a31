/// Files and pipes to tokenize: location of their text, and division into documents.
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
    by_content,  ///< JSON lines if a file's name or its first lines indicate it
    text,        ///< every file is one document, independent of its content
    json_lines
};

struct TextInput {
    std::string path;
    FileStamp stamp;         ///< zeros for a pipe
    std::uint64_t hash = 0;  ///< sampled_hash() of the file's raw bytes; 0 for a pipe or an empty file
    bool has_lines = false;  ///< each line is a document (JSON lines); else the whole text is one
    bool is_packed = false;
    std::shared_ptr<TextStream> pipe = nullptr;  ///< open, for inputs that can be read only once

    bool is_mapped() const noexcept { return pipe == nullptr && !is_packed && stamp.bytes > 0; }
    bool is_empty() const noexcept { return pipe == nullptr && stamp.bytes == 0; }
};

/// Checks inputs: reads stamps, hashes and first lines of files, and opens pipes.
///
/// JSON lines are files with that extension (.jsonl, .ndjson, also compressed and in capitals), and other
/// files whose first lines are mostly JSON objects.
///
/// Errors: Error{deck} that names an input that cannot be read, is not text, or is JSON without an object on
///         each line; Stopped
std::vector<TextInput> text_inputs(const std::vector<std::string>& paths,
                                   InputKind kind,
                                   const StopCheck& stop = {});

/// True if the text of the file at `path` is JSON lines, by the rule of text_inputs(). Rejects no file.
bool are_json_lines(const std::string& path, std::string_view text);

/// Rejects inputs if a file has changed since it was checked.
///
/// Errors: Error{deck} that names it
void expect_unchanged(const std::vector<TextInput>& inputs);

/// Throws the Error{deck} of a file that has changed.
[[noreturn]] void refuse_changed(const std::string& path);

}  // namespace ziggurat::data
