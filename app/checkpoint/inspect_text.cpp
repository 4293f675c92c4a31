#include "app/checkpoint/inspect_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"

namespace ziggurat::app {
namespace {

using checkpoint::EntryState;
using checkpoint::TensorVerdict;

/// Maximum number of differing tensors that the text lists; JSON lists all.
constexpr int max_reported = 40;

std::string shape_text(const std::vector<std::int64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

const char* type_text(spec::DType type) {
    return type == spec::DType::f32 ? "f32" : "bf16";
}

std::string date_text(double seconds) {
    return seconds > 0 ? format_calendar(seconds) : "unknown";
}

const char* state_text(EntryState state) {
    return state == EntryState::complete     ? "complete"
           : state == EntryState::unfinished ? "unfinished"
                                             : "CORRUPT";
}

std::string line_of(const checkpoint::CatalogueEntry& entry) {
    std::string line = fmt::format("{:>12}  {:<10}  {:>11}  {:<23}", entry.step, state_text(entry.state),
                                   format_bytes(entry.bytes), date_text(entry.written));
    if (entry.manifest) {
        const auto& progress = entry.manifest->progress;
        line += fmt::format("  {:>8}  {:>9}  {}", format_count(static_cast<double>(progress.tokens)),
                            format_duration(progress.seconds), printable(entry.manifest->layout));
    }
    line += "\n";
    return entry.obstacle.empty() ? line : line + fmt::format("{:>14}{}\n", "", printable(entry.obstacle));
}

/// Returns the files that were trained on; only their number if there are many.
std::string data_text(const std::vector<data::FileFingerprint>& files) {
    constexpr std::size_t max = 4;
    std::string text;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& file = files[i];
        bytes += file.bytes;
        text += fmt::format("{}{}: {}, {} bytes, xxh3 {:016x}{}\n", i > 0 ? "             " : "",
                            printable(file.key), printable(file.path), format_grouped(file.bytes), file.hash,
                            file.hashed_bytes < file.bytes
                                ? fmt::format(" of {} of them", format_grouped(file.hashed_bytes))
                                : "");
    }
    return files.empty() ? "not recorded\n"
           : files.size() > max
               ? fmt::format("{} files, {}; --json has all\n", files.size(), format_bytes(bytes))
               : text;
}

std::string head_of(const checkpoint::CheckpointReader& reader) {
    const auto& manifest = reader.manifest();
    const auto& progress = manifest.progress;
    std::int64_t bytes = 0;
    for (const auto& file : manifest.files) {
        bytes += file.bytes;
    }
    return fmt::format(
        "{}\n"
        "  step       {}, {} tokens, {} samples, {} updates skipped, {} of training\n"
        "  layout     {}\n"
        "  data       {}"
        "  files      {}, {}\n"
        "  written by {}\n",
        printable(reader.path()), format_grouped(progress.step), format_grouped(progress.tokens),
        format_grouped(progress.next_sample), format_grouped(progress.skipped),
        format_duration(progress.seconds), printable(manifest.layout), data_text(manifest.data),
        manifest.files.size(), format_bytes(bytes), printable(manifest.program));
}

const char* verdict_text(TensorVerdict verdict) {
    switch (verdict) {
        case TensorVerdict::same:
            return "same bits";
        case TensorVerdict::other_numbers:
            return "different values";
        case TensorVerdict::other_type:
            return "different type";
        case TensorVerdict::other_shape:
            return "different shape";
        case TensorVerdict::only_in_first:
            return "only in the first";
        case TensorVerdict::only_in_second:
            return "only in the second";
    }
    return "";
}

std::string line_of(const checkpoint::TensorDifference& tensor) {
    std::string line = fmt::format("  {:<13}  {}: ", to_string(tensor.kind), printable(tensor.name));
    switch (tensor.verdict) {
        case TensorVerdict::other_numbers:
        case TensorVerdict::other_type:
            line += fmt::format(
                "{}, {} of {} elements; largest difference {:.3g} ({:.3g} relative); norm of the "
                "difference {:.3g} ({:.3g} relative)",
                verdict_text(tensor.verdict), format_grouped(tensor.differing),
                format_grouped(tensor.elements), tensor.largest_absolute, tensor.largest_relative,
                tensor.norm, tensor.relative_norm);
            line += tensor.nonfinite > 0
                        ? fmt::format("; {} NaN or infinite", format_grouped(tensor.nonfinite))
                        : "";
            break;
        case TensorVerdict::other_shape:
            line += fmt::format("shape {} and {}", shape_text(tensor.shape), shape_text(tensor.other_shape));
            break;
        case TensorVerdict::same:
        case TensorVerdict::only_in_first:
        case TensorVerdict::only_in_second:
            line += verdict_text(tensor.verdict);
    }
    return line + "\n";
}

/// Returns the consequence of a difference between decks; may be empty.
const char* meaning_of(checkpoint::DeckChangeClass change_class) {
    return change_class == checkpoint::DeckChangeClass::refused  ? " (changes the model)"
           : change_class == checkpoint::DeckChangeClass::warned ? " (changes the training)"
                                                                 : "";
}

std::string progress_line(const char* name, std::int64_t first, std::int64_t second) {
    return first == second
               ? ""
               : fmt::format("  {}: {} and {}\n", name, format_grouped(first), format_grouped(second));
}

}  // namespace

std::int64_t Verification::num_damages() const {
    std::int64_t count = 0;
    for (const Verified& checked : checkpoints) {
        count += std::ssize(checked.defects);
    }
    return count;
}

std::string text_of(const checkpoint::Catalogue& catalogue) {
    std::string text =
        fmt::format("{}\n{:>12}  {:<10}  {:>11}  {:<23}  {:>8}  {:>9}  {}\n", printable(catalogue.root),
                    "step", "state", "size", "written", "tokens", "trained", "layout");
    for (const auto& entry : catalogue.entries) {
        text += line_of(entry);
    }
    return text;
}

std::string text_of_tensors(const checkpoint::CheckpointReader& reader) {
    std::string text = head_of(reader);
    std::size_t width = 6;
    const auto tensors = checkpoint::stored_tensors(reader.manifest());
    for (const auto& tensor : tensors) {
        width = std::max(width, printable(tensor.name).size());
    }
    text += fmt::format("  {:<13}  {:<{}}  {:<20}  {:<4}  {:>11}  {:>6}\n", "kind", "tensor", width, "shape",
                        "type", "size", "pieces");
    for (const auto& tensor : tensors) {
        text += fmt::format("  {:<13}  {:<{}}  {:<20}  {:<4}  {:>11}  {:>6}\n", to_string(tensor.kind),
                            printable(tensor.name), width, shape_text(tensor.shape), type_text(tensor.type),
                            format_bytes(tensor.bytes()), tensor.pieces);
    }
    return text;
}

std::string text_of(const std::string& path, const std::vector<Numbers>& kinds) {
    std::string text = fmt::format("{}\n", printable(path));
    for (const auto& [tensor, numbers] : kinds) {
        text += fmt::format(
            "  {} {} {} {}\n"
            "    min {:.9g}, max {:.9g}, mean {:.9g}, norm {:.9g}\n"
            "    {} elements, {} zeros, {} NaN or infinite\n"
            "    first {:.9g}{}\n",
            to_string(tensor.kind), printable(tensor.name), shape_text(tensor.shape), type_text(tensor.type),
            numbers.min, numbers.max, numbers.mean, numbers.norm, format_grouped(numbers.elements),
            format_grouped(numbers.zeros), format_grouped(numbers.nonfinite), fmt::join(numbers.first, ", "),
            std::ssize(numbers.first) < numbers.elements ? ", ..." : "");
    }
    return text;
}

std::string text_of(const Verification& verification) {
    std::string text;
    for (const Verified& checked : verification.checkpoints) {
        for (const auto& damage : checked.defects) {
            text += fmt::format("corrupt: {}: {}: {}\n", printable(checked.path), printable(damage.file),
                                printable(damage.what));
        }
    }
    for (const auto& note : verification.notes) {
        text += fmt::format("note: {}\n", printable(note));
    }
    if (verification.checkpoints.empty()) {
        return text + "no checkpoint is complete\n";
    }
    const auto defects = verification.num_damages();
    const double rate =
        verification.seconds > 0 ? static_cast<double>(verification.bytes) / verification.seconds : 0;
    return text + fmt::format("{} checkpoint{}, {} in {} ({}/s): {}\n", verification.checkpoints.size(),
                              verification.checkpoints.size() == 1 ? "" : "s",
                              format_bytes(verification.bytes), format_duration(verification.seconds),
                              format_bytes(static_cast<std::int64_t>(rate)),
                              defects == 0   ? "all bytes verified"
                              : defects == 1 ? std::string{"1 corrupt item"}
                                             : fmt::format("{} corrupt items", defects));
}

std::string text_of(const Compared& compared) {
    const auto& comparison = compared.comparison;
    std::string text = fmt::format("first   {}\nsecond  {}\n", printable(compared.first_path),
                                   printable(compared.second_path));
    text += "progress: " + std::string{comparison.is_same_progress ? "the same\n" : "differs\n"};
    text += progress_line("step", compared.first.step, compared.second.step);
    text += progress_line("tokens", compared.first.tokens, compared.second.tokens);
    text += progress_line("next sample", compared.first.next_sample, compared.second.next_sample);
    text += progress_line("updates skipped", compared.first.skipped, compared.second.skipped);
    text += comparison.deck.empty() ? "deck: the same\n" : "deck:\n";
    for (const auto& change : comparison.deck) {
        text += fmt::format("  {}: {} and {}{}\n", printable(change.key), printable(change.before),
                            printable(change.after), meaning_of(change.change_class));
    }
    int differing = 0;
    std::string lines;
    for (const auto& tensor : comparison.tensors) {
        if (tensor.verdict == TensorVerdict::same) {
            continue;
        }
        lines += ++differing <= max_reported ? line_of(tensor) : "";
    }
    text += fmt::format("tensors: {} of {} have the same bits\n", std::ssize(comparison.tensors) - differing,
                        comparison.tensors.size());
    text += lines;
    return differing <= max_reported
               ? text
               : text + fmt::format("  ... {} more; --json has all\n", differing - max_reported);
}

}  // namespace ziggurat::app
