#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.hpp"
#include "app/inspect_text.hpp"
#include "app/terminal.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "checkpoint/catalogue.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/compare.hpp"
#include "data/token_head.hpp"
#include "deck/messages/nearest.hpp"
#include "train/report/console.hpp"

namespace ziggurat::app {
namespace {

using checkpoint::CheckpointReader;

constexpr int is_different = 1;
constexpr int is_damaged = static_cast<int>(ErrorKind::checkpoint);

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// The checkpoint that `path` means; says what is passed over.
CheckpointReader open(const std::string& path) {
    std::vector<std::string> notes;
    const std::string chosen = checkpoint::choose(path, notes);
    for (const std::string& note : notes) {
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    return CheckpointReader{chosen};
}

/// A line on a terminal while something takes its time.
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

int list(const Arguments& arguments) {
    const auto found = checkpoint::catalogue(arguments.folder);
    print(arguments.json ? json_of(found) : text_of(found));
    return 0;
}

int list_tensors(const Arguments& arguments) {
    const CheckpointReader reader = open(arguments.folder);
    print(arguments.json ? json_of_tensors(reader) : text_of_tensors(reader));
    return 0;
}

int show_tensor(const Arguments& arguments) {
    CheckpointReader reader = open(arguments.folder);
    std::vector<Numbers> kinds;
    std::vector<std::string> names;
    for (auto& tensor : checkpoint::stored_tensors(reader.manifest())) {
        names.push_back(tensor.name);
        if (tensor.name == arguments.tensor) {
            auto numbers = checkpoint::statistics(reader, tensor);
            kinds.push_back({std::move(tensor), std::move(numbers)});
        }
    }
    if (kinds.empty()) {
        const std::string meant = deck::nearest(arguments.tensor, {names.begin(), names.end()});
        throw Error{ErrorKind::deck,
                    fmt::format("there is no tensor '{}' in '{}'. {}--tensors lists them.",
                                printable(arguments.tensor), printable(reader.path()),
                                meant.empty() ? "" : fmt::format("Did you mean '{}'? ", printable(meant)))};
    }
    print(arguments.json ? json_of(reader.path(), kinds) : text_of(reader.path(), kinds));
    return 0;
}

std::vector<checkpoint::Damage> damages_of(const std::string& path) {
    ProgressLine line{"checking " + printable(path)};
    try {
        CheckpointReader reader{path};
        return reader.verify([&](std::int64_t done, std::int64_t bytes) { line.show(done, bytes); });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::checkpoint) {
            throw;
        }
        return {{"COMPLETE", error.what()}};  // it was right when the folder was listed
    }
}

int verify(const Arguments& arguments) {
    const auto found = checkpoint::catalogue(arguments.folder);
    Verification all;
    const auto begin_ns = monotonic_ns();
    for (const auto& entry : found.entries) {
        if (entry.state == checkpoint::EntryState::unfinished && !found.is_one_step) {
            continue;  // nobody reads it, and the next save removes it
        }
        const bool is_complete = entry.state == checkpoint::EntryState::complete;
        Verified checked{.path = entry.path,
                         .damages = is_complete ? damages_of(entry.path)
                                                : std::vector{checkpoint::Damage{"COMPLETE", entry.why_not}}};
        std::error_code ignored;
        if (!checked.damages.empty() &&
            !std::filesystem::exists(std::filesystem::symlink_status(entry.path, ignored))) {
            std::fputs(message(Severity::note, printable(entry.path) + " was removed by its run meanwhile\n")
                           .c_str(),
                       stderr);
            continue;
        }
        all.bytes += is_complete ? entry.bytes : 0;
        all.checkpoints.push_back(std::move(checked));
    }
    all.seconds = seconds_between(begin_ns, monotonic_ns());
    print(arguments.json ? json_of(all) : text_of(all));
    return all.num_damages() > 0 ? is_damaged : 0;
}

int compare(const Arguments& arguments) {
    CheckpointReader first = open(arguments.folder);
    CheckpointReader second = open(arguments.other);
    Compared compared{first.path(), second.path(), first.manifest().progress, second.manifest().progress, {}};
    {
        ProgressLine line{"comparing"};
        compared.comparison = checkpoint::compare(
            first, second, [&](std::int64_t done, std::int64_t bytes) { line.show(done, bytes); });
    }
    print(arguments.json ? json_of(compared) : text_of(compared));
    return compared.comparison.is_same() ? 0 : is_different;
}

int show_tokens(const Arguments& arguments) {
    if (arguments.verify || arguments.tensors || !arguments.tensor.empty() || !arguments.other.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is a file, and what is asked is asked of checkpoints. Name the "
                                "folder of a run, or one checkpoint.",
                                printable(arguments.folder))};
    }
    const auto head = data::read_token_head(arguments.folder);
    print(arguments.json ? json_of(head) : text_of(head));
    return head.problem.empty() ? 0 : static_cast<int>(ErrorKind::deck);
}

}  // namespace

int inspect(const Arguments& arguments) {
    return data::is_token_path(arguments.folder) ? show_tokens(arguments)
           : arguments.verify                    ? verify(arguments)
           : !arguments.other.empty()            ? compare(arguments)
           : !arguments.tensor.empty()           ? show_tensor(arguments)
           : arguments.tensors                   ? list_tensors(arguments)
                                                 : list(arguments);
}

}  // namespace ziggurat::app
