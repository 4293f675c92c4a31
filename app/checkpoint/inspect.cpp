#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/inspect_page.hpp"
#include "app/checkpoint/inspect_samples.hpp"
#include "app/checkpoint/inspect_text.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "app/output/output_style.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/catalogue/compare.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/latest_check.hpp"
#include "checkpoint/verify.hpp"
#include "data/token_file_header.hpp"
#include "deck/messages/nearest.hpp"
#include "train/console/console.hpp"

namespace ziggurat::app {
namespace {

using checkpoint::CheckpointReader;

constexpr int is_different = 1;
/// Maximum number of listings if a running training removes all listed checkpoints during verification.
constexpr int max_looks = 10;
constexpr int is_damaged = static_cast<int>(ErrorKind::checkpoint);

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Calls `use` with the checkpoint at `path` (of a run: the newest). Prints skipped checkpoints.
void read(const std::string& path, const std::function<void(CheckpointReader&)>& use) {
    checkpoint::read_during_training(path, checkpoint::ReadCheck::sizes, print_note, use);
}

/// Progress line on a terminal during a long operation.
class ProgressLine {
  public:
    explicit ProgressLine(std::string what) : what_{std::move(what)} {}
    ~ProgressLine() { console_.live(""); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::int64_t done, std::int64_t all) {
        const auto now = monotonic_ns();
        if (console_.has_live_line() && (shown_ns_ == 0 || seconds_between(shown_ns_, now) > 0.1)) {
            shown_ns_ = now;
            console_.live(
                fmt::format("{} {} of {} ({:.0f} %)", what_, format_bytes(done), format_bytes(all),
                            all > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(all) : 100.0));
        }
    }

  private:
    std::string what_;
    train::Console console_{STDERR_FILENO, train::Screen::of(STDERR_FILENO, terminal_escapes())};
    std::int64_t shown_ns_ = 0;
};

int list(const InspectOptions& options) {
    const auto found = checkpoint::catalogue(options.folder);
    print(options.json ? json_of(found) : text_of(found));
    return 0;
}

int list_tensors(const InspectOptions& options) {
    read(options.folder, [&](const CheckpointReader& reader) {
        print(options.json ? json_of_tensors(reader) : text_of_tensors(reader));
    });
    return 0;
}

/// Returns the statistics of one tensor of the checkpoint, as text or JSON.
std::string show_tensor(CheckpointReader& reader, const InspectOptions& options) {
    std::vector<Numbers> kinds;
    std::vector<std::string> names;
    for (auto& tensor : checkpoint::stored_tensors(reader.manifest())) {
        names.push_back(tensor.name);
        if (tensor.name == options.tensor) {
            auto numbers = checkpoint::statistics(reader, tensor);
            kinds.push_back({std::move(tensor), std::move(numbers)});
        }
    }
    if (kinds.empty()) {
        const std::string meant = deck::nearest(options.tensor, {names.begin(), names.end()});
        throw Error{ErrorKind::deck,
                    fmt::format("there is no tensor '{}' in '{}'. {}--tensors lists them.",
                                printable(options.tensor), printable(reader.path()),
                                meant.empty() ? "" : fmt::format("Did you mean '{}'? ", printable(meant)))};
    }
    return options.json ? json_of(reader.path(), kinds) : text_of(reader.path(), kinds);
}

int show_tensor(const InspectOptions& options) {
    read(options.folder, [&](CheckpointReader& reader) { print(show_tensor(reader, options)); });
    return 0;
}

checkpoint::Verification verified(const std::string& path) {
    ProgressLine line{"checking " + printable(path)};
    try {
        const CheckpointReader reader{path};
        return checkpoint::verify_checkpoint(
            path, [&](std::int64_t done, std::int64_t bytes) { line.show(done, bytes); });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::checkpoint) {
            throw;
        }
        return {.defects = {{"COMPLETE", error.what()}}};  // it was valid when the folder was listed
    }
}

/// Returns true for the folder of a save that has not ended: training never reads it.
///
/// A folder without COMPLETE is one, if it is newer than a complete checkpoint and LATEST does not name it.
bool is_unfinished(const checkpoint::Catalogue& found, const checkpoint::CatalogueEntry& entry) {
    namespace fs = std::filesystem;
    if (found.is_one_step || entry.state == checkpoint::EntryState::unfinished) {
        return !found.is_one_step;
    }
    std::error_code ignored;
    const auto* newest = found.newest();
    return entry.state == checkpoint::EntryState::damaged && newest != nullptr && entry.step > newest->step &&
           fs::is_directory(entry.path, ignored) &&
           !fs::exists(fs::symlink_status(entry.path + "/COMPLETE", ignored)) &&
           checkpoint::latest_step(found.root) != entry.step;
}

/// Returns the note about an unfinished checkpoint.
std::string note_of(const checkpoint::Catalogue& found, const checkpoint::CatalogueEntry& entry) {
    const auto* newest = found.newest();
    const bool is_removed = entry.state == checkpoint::EntryState::unfinished;
    return fmt::format(
        "{} is not verified ({}): {}training {}", entry.path,
        is_removed ? entry.obstacle : "a folder without COMPLETE: an interrupted save or copy",
        is_removed ? "the next start removes it, and " : "",
        newest != nullptr ? fmt::format("resumes from step {}", newest->step) : "starts from the beginning");
}

/// Verifies the checkpoints in `found`.
///
/// Skips those that a running training removes meanwhile, with a note.
Verification verify_all(const checkpoint::Catalogue& found) {
    Verification all;
    for (const auto& entry : found.entries) {
        if (is_unfinished(found, entry)) {
            all.notes.push_back(note_of(found, entry));
            continue;
        }
        const bool is_complete = entry.state == checkpoint::EntryState::complete;
        auto result = is_complete ? verified(entry.path)
                                  : checkpoint::Verification{.defects = {{"COMPLETE", entry.obstacle}}};
        Verified checked{.path = entry.path, .defects = std::move(result.defects)};
        if (!result.note.empty() && std::ranges::find(all.notes, result.note) == all.notes.end()) {
            all.notes.push_back(std::move(result.note));
        }
        std::error_code ignored;
        if (!checked.defects.empty() &&
            !std::filesystem::exists(std::filesystem::symlink_status(entry.path, ignored))) {
            if (found.is_one_step) {
                throw checkpoint::removed_meanwhile(entry.path);
            }
            print_note(printable(entry.path) + " was removed by its run during verification");
            continue;
        }
        all.bytes += is_complete ? entry.bytes : 0;
        all.checkpoints.push_back(std::move(checked));
    }
    return all;
}

int verify(const InspectOptions& options) {
    const auto begin_ns = monotonic_ns();
    auto all = verify_all(checkpoint::catalogue(options.folder));
    for (int looks = 1; all.checkpoints.empty() && looks < max_looks; ++looks) {
        all = verify_all(checkpoint::catalogue(options.folder));  // all were removed: newer ones exist
    }
    all.seconds = seconds_between(begin_ns, monotonic_ns());
    print(options.json ? json_of(all) : text_of(all));
    return all.num_damages() > 0 ? is_damaged : 0;
}

Compared compared_with(CheckpointReader& first, CheckpointReader& second) {
    Compared compared{first.path(), second.path(), first.manifest().progress, second.manifest().progress, {}};
    {
        ProgressLine line{"comparing"};
        compared.comparison = checkpoint::compare(
            first, second, [&](std::int64_t done, std::int64_t bytes) { line.show(done, bytes); });
    }
    return compared;
}

int compare(const InspectOptions& options) {
    bool is_same = true;
    read(options.folder, [&](CheckpointReader& first) {
        read(options.other, [&](CheckpointReader& second) {
            const auto compared = compared_with(first, second);
            is_same = compared.comparison.is_same();
            print(options.json ? json_of(compared) : text_of(compared));
        });
    });
    return is_same ? 0 : is_different;
}

int show_tokens(const InspectOptions& options) {
    if (options.verify || options.tensors || !options.html.empty() || !options.tensor.empty() ||
        !options.other.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is a file, and the given option is for checkpoints. Name the "
                                "folder of a run, or one checkpoint.",
                                printable(options.folder))};
    }
    if (is_sample_path(options.folder)) {
        return inspect_samples(options);
    }
    const auto head = data::read_token_file_header(options.folder);
    print(options.json ? json_of(head) : text_of(head));
    return head.problem.empty() ? 0 : static_cast<int>(ErrorKind::deck);
}

}  // namespace

int inspect(const InspectOptions& options) {
    if ((options.sample > 0 || !options.tokenizer.empty()) && !is_sample_path(options.folder)) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is not a sample file, which --sample and --tokenizer need. 'ziggurat "
                                "tokenize RECORDS --chat' makes sample files.",
                                printable(options.folder))};
    }
    return data::is_token_path(options.folder) ? show_tokens(options)
           : !options.html.empty()             ? inspect_page(options)
           : options.verify                    ? verify(options)
           : !options.other.empty()            ? compare(options)
           : !options.tensor.empty()           ? show_tensor(options)
           : options.tensors                   ? list_tensors(options)
                                               : list(options);
}

}  // namespace ziggurat::app
