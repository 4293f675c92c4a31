#include "checkpoint/latest_check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_bytes_of_latest = 4096;

std::string name_of(const std::string& path) {
    return fs::path{path}.filename().string();
}

/// Returns true if a save from an earlier step has renamed this checkpoint.
bool is_set_aside(const std::string& root, const std::string& name) {
    std::error_code ignored;
    return fs::exists(root + "/" + name + ".superseded", ignored);
}

/// Returns true if a save has written the next LATEST for this checkpoint, but has not renamed it.
bool has_unfinished_latest(const std::string& root, const Latest& expected) {
    return storage::read_small_file(root + "/LATEST.tmp", max_bytes_of_latest) ==
           fmt::format("{} {:016x}\n", expected.name, expected.hash_of_manifest);
}

/// Returns LATEST as a save of the checkpoint writes it; nullopt without a COMPLETE.
std::optional<Latest> latest_for(const std::string& root, const std::string& name) {
    const auto text = read_manifest_text(root + "/" + name);
    return text ? std::optional{Latest{name, hash_of_manifest(*text)}} : std::nullopt;
}

LatestCheck check_readable(const std::string& root) {
    const auto complete = list_complete(root);
    const auto newest = complete.empty() ? std::string{} : name_of(complete.back());
    const auto latest = read_latest(root);
    if (!latest) {
        return {.defect = "",
                .note = newest.empty() ? "" : fmt::format("it is missing; training resumes from {}", newest)};
    }
    const auto expected = latest_for(root, latest->name);
    if (!expected) {
        return is_set_aside(root, latest->name)
                   ? LatestCheck{.defect = "",
                                 .note = fmt::format(
                                     "it names {}, which a save from an earlier step has set aside ({}); "
                                     "training resumes {}",
                                     latest->name, latest->name + ".superseded",
                                     newest.empty() ? "from the beginning" : "from " + newest)}
                   : LatestCheck{.defect = fmt::format("it names {}, which is not complete", latest->name),
                                 .note = ""};
    }
    if (*expected != *latest) {
        return has_unfinished_latest(root, *expected)
                   ? LatestCheck{.defect = "",
                                 .note = fmt::format(
                                     "it has the hash of an earlier save of {}; training resumes from {}",
                                     latest->name, newest)}
                   : LatestCheck{
                         .defect = fmt::format("it names {}, but not the hash of its COMPLETE", latest->name),
                         .note = ""};
    }
    return {.defect = "",
            .note = newest == latest->name
                        ? ""
                        : fmt::format("it names {}, but {} is complete and newer; training resumes from {}",
                                      latest->name, newest, newest)};
}

}  // namespace

LatestCheck check_latest(const std::string& root) {
    LatestCheck found;
    try {
        found = check_readable(root);
    } catch (const Error& error) {
        found.defect = error.what();
    }
    if (!found.note.empty()) {
        found.note = fmt::format(
            "'{}/LATEST' is not that of the last save ({}). An interrupted save leaves this; "
            "the next start writes it again.",
            root, found.note);
    }
    return found;
}

std::optional<std::int64_t> latest_step(const std::string& root) {
    try {
        const auto latest = read_latest(root);
        return latest ? step_of_folder(latest->name) : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace ziggurat::checkpoint
