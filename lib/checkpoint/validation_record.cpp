#include "checkpoint/validation_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest_text.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "/VALIDATIONS";
constexpr std::int64_t max_bytes = std::int64_t{64} << 20;

/// Parses the digits of a key; returns nullopt for other texts.
std::optional<std::uint64_t> key_of(std::string_view text) {
    std::uint64_t key = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, key, 16);
    return text.size() == hash_digits && problem == std::errc{} && rest == end ? std::optional{key}
                                                                               : std::nullopt;
}

/// Parses `STEP LOSS DATA` or `STEP LOSS`; returns nullopt for other lines.
std::optional<ValidationRecord::Entry> entry_of(std::string_view line) {
    ValidationRecord::Entry entry;
    const char* end = line.data() + line.size();
    const auto [gap, bad_step] = std::from_chars(line.data(), end, entry.step);
    if (bad_step != std::errc{} || gap == end || *gap != ' ') {
        return std::nullopt;
    }
    const auto [rest, bad_loss] = std::from_chars(gap + 1, end, entry.loss);
    if (bad_loss != std::errc{} || entry.step < 0) {
        return std::nullopt;
    }
    if (rest == end) {
        return entry;
    }
    const auto key =
        *rest == ' ' ? key_of({rest + 1, static_cast<std::size_t>(end - rest - 1)}) : std::nullopt;
    entry.data = key.value_or(0);
    return key ? std::optional{entry} : std::nullopt;
}

}  // namespace

ValidationRecord ValidationRecord::read(const std::string& root) {
    const auto path = root + file_name;
    return parse(storage::read_small_file(path, max_bytes).value_or(""), path);
}

ValidationRecord ValidationRecord::parse(std::string_view text, const std::string& path) {
    ValidationRecord record;
    auto rest = text;
    for (int number = 1; !rest.empty(); ++number) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const auto entry = entry_of(line);
        const bool is_later = entry && (record.entries_.empty() || record.entries_.back().step < entry->step);
        if (!is_later) {
            throw Error{ErrorKind::checkpoint,
                        fmt::format("cannot read line {} of '{}' (it is not 'STEP LOSS DATA' with a step "
                                    "greater than that before). Restore the file, or delete it: then earlier "
                                    "validations do not count for checkpoint.keep.best and train.stop_when.",
                                    number, printable(path))};
        }
        record.entries_.push_back(*entry);
    }
    return record;
}

std::string ValidationRecord::text() const {
    std::string lines;
    for (const auto& entry : entries_) {
        fmt::format_to(std::back_inserter(lines), "{} {}", entry.step, entry.loss);
        lines += (entry.data == 0 ? "" : " " + hex_of_hash(entry.data)) + "\n";
    }
    return lines;
}

void ValidationRecord::write(const std::string& root) const {
    const auto path = root + file_name;
    storage::write_small_file(path + ".tmp", text());
    storage::rename_path(path + ".tmp", path);
}

void ValidationRecord::add(std::int64_t step, double loss, std::uint64_t data) {
    forget_after(step - 1);
    entries_.push_back({step, loss, data});
}

void ValidationRecord::forget_after(std::int64_t step) {
    while (!entries_.empty() && entries_.back().step > step) {
        entries_.pop_back();
    }
}

std::vector<std::int64_t> ValidationRecord::best(std::int64_t count) const {
    std::vector<std::int64_t> steps;
    auto left = entries_;
    while (!left.empty()) {
        const auto others = std::ranges::stable_partition(
            left, [data = left.back().data](const Entry& entry) { return entry.data != data; });
        std::vector<Entry> by_loss{others.begin(), others.end()};
        left.erase(others.begin(), others.end());
        std::erase_if(by_loss, [](const Entry& entry) { return !std::isfinite(entry.loss); });
        std::ranges::stable_sort(by_loss, {}, &Entry::loss);
        by_loss.resize(std::min(by_loss.size(), static_cast<std::size_t>(count)));
        std::ranges::transform(by_loss, std::back_inserter(steps), &Entry::step);
    }
    return steps;
}

std::optional<std::string> best_checkpoint(const std::string& path) {
    const fs::path named = fs::path{path}.lexically_normal();
    std::error_code ignored;
    if (named.filename() != "best" || fs::exists(named, ignored)) {
        return std::nullopt;
    }
    const auto folder = named.has_parent_path() ? named.parent_path() : fs::path{"."};
    const auto root = (fs::is_directory(folder / "ckpt", ignored) ? folder / "ckpt" : folder).string();
    if (!fs::is_directory(root, ignored)) {
        return std::nullopt;
    }
    const auto record = ValidationRecord::read(root);
    for (const auto step : record.best(std::ssize(record.entries()))) {
        const auto checkpoint = root + "/" + folder_name(step);
        if (fs::exists(checkpoint + "/COMPLETE", ignored)) {
            return checkpoint;
        }
    }
    throw Error{ErrorKind::checkpoint,
                fmt::format("there is no best checkpoint in '{}' (no checkpoint there was validated). Train "
                            "with validate.every and checkpoint.keep.best, or name a checkpoint.",
                            printable(root))};
}

}  // namespace ziggurat::checkpoint
