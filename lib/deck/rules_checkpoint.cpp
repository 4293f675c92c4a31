#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "deck/rules.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// Why `path` is neither a complete checkpoint nor the folder of a run that has some; empty: it is.
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

void resume_path_is_a_checkpoint(const Resolution& at) {
    if (at.run.run.resume != spec::Resume::path) {
        return;
    }
    const auto trouble = trouble_with(at.run.run.resume_path);
    if (!trouble.empty()) {
        at.found.error(at.values.place("run.resume"),
                       fmt::format("cannot resume from {}", in_quotes(at.run.run.resume_path)), trouble,
                       "Name the folder of a checkpoint (RUN/ckpt/step-000001000) or of a run, or use auto, "
                       "must or never.");
    }
}

constexpr std::array rules = {Rule{resume_path_is_a_checkpoint, "run.resume"}};

}  // namespace

std::span<const Rule> checkpoint_rules() {
    return rules;
}

}  // namespace ziggurat::deck
