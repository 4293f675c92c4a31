#include "deck/rules/expect_checkpoint.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/text/looked_in.hpp"
#include "deck/messages/missing_path.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// Returns the reason why `path` is not a complete checkpoint or a run with one; empty if it is.
std::string trouble_with(const fs::path& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) {
        return error && error != std::errc::no_such_file_or_directory ? error.message()
                                                                      : "there is no such folder";
    }
    if (!fs::is_directory(status)) {
        return "it is not a folder";
    }
    if (fs::exists(path / "COMPLETE", error) || fs::is_directory(path / "ckpt", error)) {
        return "";
    }
    return fs::is_empty(path, error) ? "the folder is empty"
                                     : "the folder has neither a file COMPLETE nor a folder ckpt";
}

}  // namespace

void expect_a_checkpoint(
    const Resolution& at, const char* key, const char* use, const std::string& path, const char* advice) {
    const auto reason = trouble_with(path);
    std::error_code error;
    if (reason.empty()) {
        return;
    }
    const bool is_missing = !fs::exists(path, error);
    if (!at.options.needs_data && is_missing) {
        at.found.note(
            at.values.location(key), fmt::format("{} is not here", in_quotes(path)),
            fmt::format("{} in {}; a plan does not need it, but a training does", reason, looked_in(path)));
    } else {
        at.found.error(at.values.location(key), fmt::format("cannot {} {}", use, in_quotes(path)), reason,
                       advice);
        if (is_missing) {
            note_where_looked(at.found, at.values.location(key), path);
        }
    }
}

}  // namespace ziggurat::deck
