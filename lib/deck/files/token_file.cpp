#include "deck/files/token_file.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

NamedFiles missing(std::string reason) {
    return {.reason = std::move(reason), .is_missing = true};
}

/// Returns true if the path does not exist. Other problems of access are reported by the reader.
bool is_missing(const std::string& path) {
    std::error_code error;
    return fs::status(path, error).type() == fs::file_type::not_found;
}

NamedFiles look_for_pair(const std::string& prefix) {
    const bool has_suffix = prefix.ends_with(".bin") || prefix.ends_with(".idx");
    if (has_suffix && is_missing(prefix + ".idx")) {
        return {.reason = "the path of a pair of files has no suffix",
                .advice = fmt::format("Write '{}'.", prefix.substr(0, prefix.size() - 4))};
    }
    for (const char* suffix : {".idx", ".bin"}) {
        if (is_missing(prefix + suffix)) {
            return missing(fmt::format("'{}{}' is not here", prefix, suffix));
        }
    }
    return {};
}

bool has_match(const std::string& pattern) {
    glob_t found{};
    const bool is_found = glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0;
    globfree(&found);
    return is_found;
}

}  // namespace

NamedFiles look_for(const spec::Source& source) {
    const std::string& path = source.path;
    if (source.format == spec::TokenFormat::megatron) {
        return look_for_pair(path);
    }
    if (!is_missing(path)) {
        return {};
    }
    const auto wildcard = path.find_first_of("*?[");
    if (wildcard == std::string::npos) {
        return missing("there is no such file");
    }
    // Patterns for folders are not supported: they could search a whole disk.
    const auto folder_end = path.rfind('/');
    if (folder_end != std::string::npos && wildcard < folder_end) {
        return {.reason = "patterns can match file names, not folders"};
    }
    return has_match(path) ? NamedFiles{} : missing("no file matches this pattern");
}

}  // namespace ziggurat::deck
