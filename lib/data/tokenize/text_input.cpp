#include "data/tokenize/text_input.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/printable.hpp"
#include "data/fingerprint.hpp"

namespace ziggurat::data {
namespace {

constexpr const char* key = "tokenize";
constexpr std::size_t looked_at_bytes = std::size_t{64} << 10;
constexpr const char* as_text = "Give --input text if the file itself is the text.";

[[noreturn]] void refuse(const std::string& path, const std::string& reason, const std::string& remedy) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot tokenize '{}' ({}). {}", printable(path), reason, remedy)};
}

/// Returns a name in lower case, without compression suffixes: `web.jsonl` of `Web.JSONL.gz`.
std::string plain_name(std::string name) {
    std::ranges::transform(name, name.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    for (const std::string ending : {".gz", ".gzip", ".zst", ".zstd"}) {
        if (name.ends_with(ending)) {
            name.resize(name.size() - ending.size());
            break;
        }
    }
    return name;
}

bool is_named_json_lines(const std::string& name) {
    return name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".jsonlines");
}

bool is_named_web_page(const std::string& name) {
    return name.ends_with(".html") || name.ends_with(".htm") || name.ends_with(".xhtml");
}

/// Number of lines that are JSON objects, and of other lines that are not blank.
struct SeenLines {
    int objects = 0;
    int others = 0;
};

std::string_view without_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    text.remove_prefix(text.starts_with(mark) ? mark.size() : 0);
    return text;
}

/// \param is_all  `text` is the whole text, so its last line is complete
SeenLines look_at_lines(std::string_view text, bool is_all) {
    constexpr int max_lines = 20;
    SeenLines seen;
    for (std::size_t begin = 0; begin < text.size() && seen.objects + seen.others < max_lines;) {
        const auto end = text.find('\n', begin);
        if (end == std::string_view::npos && !is_all) {
            break;
        }
        auto line = text.substr(begin, end == std::string_view::npos ? end : end - begin);
        begin = end == std::string_view::npos ? text.size() : end + 1;
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (!line.empty()) {
            const bool is_object = line.front() == '{' && nlohmann::json::accept(line);
            ++(is_object ? seen.objects : seen.others);
        }
    }
    return seen;
}

/// True if the first lines in `text` are JSON objects, independent of the file's name.
bool has_object_lines(std::string_view text, bool is_all) {
    text = without_mark(text);
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{') {
        return false;
    }
    const auto seen = look_at_lines(text, is_all);
    const bool is_one_long_line = seen.objects + seen.others == 0;
    return is_one_long_line || seen.objects > seen.others;
}

enum class JsonLook { none, begins_as_json, one_value_on_lines };

/// Checks for a JSON value that spans several lines.
///
/// Such a value begins with a list, or with a brace alone on its line.
JsonLook look_for_json(std::string_view text) {
    text = without_mark(text);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty() || (text.front() != '{' && text.front() != '[')) {
        return JsonLook::none;
    }
    const auto next = text.find_first_not_of(" \t\r", 1);
    const bool is_alone = next != std::string_view::npos && text[next] == '\n';
    return text.front() == '[' || is_alone ? JsonLook::one_value_on_lines : JsonLook::begins_as_json;
}

/// Decides from the beginning of the decompressed text if its lines are documents.
///
/// Rejects other formats.
///
/// \param is_all  `beginning` is the whole text
bool decide_lines(const std::string& path, std::string_view beginning, bool is_all, InputKind kind) {
    const auto name = plain_name(path);
    if (const auto found = recognise_file(beginning)) {
        const bool is_page = found->kind == FileKind::web_page;
        if (!is_page || (kind != InputKind::text && !is_named_web_page(name))) {
            refuse(path, std::string{"it is "} + found->what,
                   found->remedy + std::string{is_page ? " " : ""} + (is_page ? as_text : ""));
        }
    }
    if (kind == InputKind::text || is_named_json_lines(name)) {
        return kind != InputKind::text;
    }
    if (has_object_lines(beginning, is_all)) {
        return true;
    }
    const auto probed = look_for_json(beginning);
    const bool is_meant_as_lines = kind == InputKind::json_lines || name.ends_with(".json");
    if ((probed == JsonLook::one_value_on_lines && is_meant_as_lines) ||
        (probed == JsonLook::begins_as_json && name.ends_with(".json") && kind == InputKind::by_content)) {
        refuse(path, "it is JSON, but not one object on each line",
               std::string{"Write JSON lines: jq -c '.[]' FILE > FILE.jsonl. "} + as_text);
    }
    return kind == InputKind::json_lines;
}

bool can_be_read_again(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

TextInput open_pipe(const std::string& path, InputKind kind, const StopCheck& stop) {
    TextInput input{.path = path, .stamp = {}, .pipe = std::make_shared<TextStream>(path, stop)};
    const auto beginning = input.pipe->beginning(looked_at_bytes);
    if (beginning.empty()) {
        refuse(path, "an empty pipe", "Check the command that writes to it.");
    }
    input.has_lines = decide_lines(path, beginning, beginning.size() < looked_at_bytes, kind);
    input.is_packed = input.pipe->is_packed();
    return input;
}

TextInput look_at_file(const std::string& path,
                       InputKind kind,
                       std::int64_t hashed_bytes,
                       const StopCheck& stop) {
    TextInput input{.path = path, .stamp = stamp_of(path).value_or(FileStamp{})};
    if (stamp_of(path) && input.stamp.bytes == 0) {
        input.has_lines = kind == InputKind::json_lines ||
                          (kind == InputKind::by_content && is_named_json_lines(plain_name(path)));
        return input;
    }
    const MappedFile file{path, key};
    input.stamp = file.stamp();
    input.hash = sampled_hash(file.content(), hashed_bytes, stop);
    const std::string_view text{reinterpret_cast<const char*>(file.content().data()), file.content().size()};
    const auto found = recognise_file(text);
    input.is_packed = found && (found->kind == FileKind::gzip || found->kind == FileKind::zstd);
    if (input.is_packed) {
        TextStream stream{path};
        const auto beginning = stream.beginning(looked_at_bytes);
        input.has_lines = decide_lines(path, beginning, beginning.size() < looked_at_bytes, kind);
    } else {
        const auto beginning = text.substr(0, looked_at_bytes);
        input.has_lines = decide_lines(path, beginning, beginning.size() == text.size(), kind);
    }
    return input;
}

}  // namespace

std::vector<TextInput> text_inputs(const std::vector<std::string>& paths,
                                   InputKind kind,
                                   const StopCheck& stop) {
    std::vector<TextInput> inputs;
    for (const auto& path : paths) {
        inputs.push_back(can_be_read_again(path) ? look_at_file(path, kind, bytes_to_hash(paths.size()), stop)
                                                 : open_pipe(path, kind, stop));
    }
    return inputs;
}

bool are_json_lines(const std::string& path, std::string_view text) {
    const auto beginning = text.substr(0, looked_at_bytes);
    return is_named_json_lines(plain_name(path)) ||
           has_object_lines(beginning, beginning.size() == text.size());
}

void expect_unchanged(const std::vector<TextInput>& inputs) {
    for (const auto& input : inputs) {
        if (input.pipe == nullptr && stamp_of(input.path) != input.stamp) {
            refuse_changed(input.path);
        }
    }
}

void refuse_changed(const std::string& path) {
    throw Error{ErrorKind::deck, fmt::format("'{}' has changed while it was read. Run the command again when "
                                             "no process writes to it.",
                                             printable(path))};
}

}  // namespace ziggurat::data
