#include "checkpoint/check_manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/text/printable.hpp"
#include "checkpoint/manifest_text.hpp"
#include "data/order/order_weights.hpp"

namespace ziggurat::checkpoint {
namespace {

using Limits = ManifestLimits;

[[noreturn]] void refuse(const std::string& reason) {
    throw std::invalid_argument{reason};
}

/// Checks a text of the manifest.
///
/// Printed texts must not contain terminal escapes, and names have bounds.
void check_words(const char* what, std::string_view words, std::size_t max_bytes) {
    if (words.size() > max_bytes) {
        refuse(fmt::format("{} has {} bytes, more than {}", what, words.size(), max_bytes));
    }
    if (printable(words) != words) {
        refuse(fmt::format("{} has unprintable characters: '{}'", what, words));
    }
}

void check_file(const FileEntry& file, std::set<std::string>& names) {
    if (file.name.empty() || file.name == "." || file.name == ".." ||
        file.name.find('/') != std::string::npos || file.name.find('\0') != std::string::npos) {
        refuse("'" + file.name + "' is not a file name");
    }
    check_words("the name of a file", file.name, Limits::file_name_bytes);
    if (!names.insert(file.name).second) {
        refuse("two files are called '" + file.name + "'");
    }
    if (file.bytes < 0) {
        refuse("'" + file.name + "' has a negative size");
    }
}

/// Checks that samples and tokens match the steps since the pace began.
void check_pace(const TrainingProgress& progress) {
    const auto& [from_step, from_tokens, from_sample, samples, tokens] = progress.pace;
    const auto steps = progress.step - from_step;
    if (from_step < 0 || from_tokens < 0 || from_sample < 0 || samples < 1 || tokens < samples || steps < 0 ||
        (steps > 0 && (samples > Limits::samples / steps || tokens > Limits::tokens / steps))) {
        refuse("invalid step increments");
    }
    if (progress.next_sample - from_sample != steps * samples ||
        progress.tokens - from_tokens != steps * tokens ||
        (from_step == 0 && (from_sample > 0 || from_tokens > 0))) {
        refuse(
            fmt::format("its progress is inconsistent: {} steps of {} samples and {} tokens after step "
                        "{}, sample {} and "
                        "token {} do not lead to step {}, sample {} and token {}",
                        steps, samples, tokens, from_step, from_sample, from_tokens, progress.step,
                        progress.next_sample, progress.tokens));
    }
}

/// Checks that the schedule begins before the current step and ends after its own beginning.
void check_course(const TrainingProgress& progress) {
    const auto& [begin_step, begin_tokens, end_step, end_tokens, next_rate] = progress.course;
    if (begin_step < 0 || begin_step > progress.step || begin_tokens < 0 || begin_tokens > progress.tokens ||
        end_step <= begin_step || end_tokens <= begin_tokens || end_step > Limits::steps ||
        end_tokens > Limits::tokens || !(next_rate >= 0) || !std::isfinite(next_rate)) {
        refuse("invalid learning-rate state");
    }
}

/// Checks that training can resume with this order of samples.
void check_order(const data::DataOrderState& order, std::int64_t next_sample) {
    bool is_right = order.first_sample >= 0 && order.first_sample <= next_sample && order.seq >= 1 &&
                    order.seq <= Limits::tokens;
    for (const auto& source : order.sources) {
        const auto& begin = source.begin;
        is_right = is_right && source.tokens >= source.trained && source.tokens <= Limits::tokens &&
                   source.trained > order.seq &&
                   (!source.is_packed || source.trained % order.seq == 1 % order.seq) && begin.epoch >= 0 &&
                   begin.epoch <= Limits::samples && begin.tokens >= 0 && begin.tokens <= Limits::tokens;
    }
    // Without the state of an even mix, all its picks would be computed.
    const bool has_state = order.mix == data::MixRule::nested || order.reached_sample == next_sample;
    if (!is_right || !has_state || !data::has_valid_mix(order)) {
        refuse("invalid sample order in COMPLETE");
    }
}

/// Checks that counters agree: a step has at least one sample, a sample at least one token.
void check_progress(const TrainingProgress& progress) {
    const auto& [step, tokens, next_sample, skipped, seconds, in_a_row, pace, recent, course, order,
                 grad_norm] = progress;
    if (step < 0 || tokens < 0 || next_sample < 0 || skipped < 0 || !(seconds >= 0) || in_a_row < 0) {
        refuse("its progress is negative");
    }
    if (step > Limits::steps || next_sample > Limits::samples || tokens > Limits::tokens ||
        seconds > Limits::seconds) {
        refuse("progress out of range");
    }
    // A run that rolled back from a spike skips samples without counting their tokens, and begins a new pace.
    const bool has_token_of_each_sample = tokens >= next_sample || pace.is_known();
    if (skipped > step || in_a_row > skipped || next_sample < step || !has_token_of_each_sample ||
        (step == 0 && tokens > 0)) {
        refuse(
            fmt::format("its progress is inconsistent: {} steps, {} of them skipped, {} samples, {} tokens",
                        step, skipped, next_sample, tokens));
    }
    if (pace.is_known()) {
        check_pace(progress);
    }
    if (course.is_known()) {
        check_course(progress);
    }
    if (order.is_known()) {
        check_order(order, next_sample);
    }
    const auto is_finite = [](double value) { return std::isfinite(value); };
    if (recent.spikes_in_a_row < 0 || !std::ranges::all_of(recent.losses, is_finite) ||
        !std::ranges::all_of(recent.grad_norms, is_finite)) {
        refuse("recent steps are not losses and norms");
    }
    if (!(grad_norm >= 0) || !std::isfinite(grad_norm)) {
        refuse(fmt::format("its norm of the gradient is {}", grad_norm));
    }
}

void check_box(const Piece& piece) {
    std::int64_t elements = 1;
    check_words("the name of a tensor", piece.tensor, Limits::tensor_name_bytes);
    if (piece.shape.size() > Limits::dims) {
        refuse(fmt::format("'{}' has {} dims, more than {}", piece.tensor, piece.shape.size(), Limits::dims));
    }
    if (piece.box.begin.size() != piece.shape.size() || piece.box.extent.size() != piece.shape.size()) {
        refuse("a box of '" + piece.tensor + "' has other dims than the tensor");
    }
    for (std::size_t k = 0; k < piece.shape.size(); ++k) {
        const std::int64_t begin = piece.box.begin[k];
        const std::int64_t extent = piece.box.extent[k];
        if (begin < 0 || extent < 1 || begin > piece.shape[k] || extent > piece.shape[k] - begin) {
            refuse("a box of '" + piece.tensor + "' exceeds the tensor");
        }
        if (piece.shape[k] > Limits::elements / elements) {
            refuse("'" + piece.tensor + "' has too many elements");
        }
        elements *= piece.shape[k];
    }
}

/// Range of a file that is in use: [begin, end).
using Extent = std::pair<std::int64_t, std::int64_t>;

void check_apart(std::vector<Extent>& extents, const std::string& file) {
    std::sort(extents.begin(), extents.end());
    for (std::size_t k = 1; k < extents.size(); ++k) {
        if (extents[k].first < extents[k - 1].second) {
            refuse(fmt::format("two pieces share byte {} of '{}'", extents[k].first, file));
        }
    }
}

void check_cover(const std::vector<const Piece*>& pieces) {
    const Piece& any = *pieces.front();
    std::vector<const Box*> boxes;
    std::int64_t elements = 0;
    for (const Piece* piece : pieces) {
        if (piece->shape != any.shape || piece->type != any.type) {
            refuse("pieces of '" + any.tensor + "' disagree on its shape or type");
        }
        boxes.push_back(&piece->box);
        elements += piece->box.elements();
    }
    if (elements != whole(any.shape).elements()) {
        refuse("the pieces of '" + any.tensor + "' do not cover it exactly once");
    }
    if (!cover_once(boxes, any.shape)) {
        refuse("two pieces of '" + any.tensor + "' overlap");
    }
}

void check_data(const data::FileFingerprint& file) {
    check_words("the key of a data file in the deck", file.key, Limits::line_bytes);
    check_words("the path of a data file", file.path, 4 * Limits::line_bytes);
    if (file.bytes < 0 || file.bytes > Limits::all_bytes || file.hashed_bytes < 0 ||
        file.hashed_bytes > file.bytes) {
        refuse(fmt::format("of the data file '{}', {} of {} bytes are hashed", file.path, file.hashed_bytes,
                           file.bytes));
    }
}

void check_texts(const Manifest& manifest) {
    check_words("the version of the program", manifest.program, Limits::line_bytes);
    check_words("the layout", manifest.layout, Limits::line_bytes);
    if (manifest.deck.size() > Limits::deck_bytes) {
        refuse(fmt::format("its deck has {} bytes", manifest.deck.size()));
    }
    if (manifest.ranks < 1 || manifest.ranks > Limits::ranks) {
        refuse(fmt::format("its number of ranks is {}", manifest.ranks));
    }
}

}  // namespace

void check_manifest(const Manifest& manifest) {
    check_progress(manifest.progress);
    check_texts(manifest);
    std::for_each(manifest.data.begin(), manifest.data.end(), check_data);
    std::set<std::string> names;
    std::int64_t bytes_of_files = 0;
    for (const FileEntry& file : manifest.files) {
        check_file(file, names);
        if (file.bytes > Limits::all_bytes - bytes_of_files) {
            refuse("its files are larger than any disk");
        }
        bytes_of_files += file.bytes;
    }
    std::vector<std::vector<Extent>> extents(manifest.files.size());
    std::map<std::pair<PieceKind, std::string>, std::vector<const Piece*>> tensors;
    for (const StoredPiece& stored : manifest.pieces) {
        if (stored.file < 0 || stored.file >= static_cast<int>(manifest.files.size())) {
            refuse("a piece of '" + stored.piece.tensor + "' lies in a file that is not listed");
        }
        check_box(stored.piece);
        const std::size_t file = stored.file;
        for (const auto& [offset, bytes] : {Extent{stored.offset_bytes, stored.piece.bytes()},
                                            Extent{stored.table_offset_bytes, table_bytes(stored.piece)}}) {
            if (offset < 0 || bytes > manifest.files[file].bytes ||
                offset > manifest.files[file].bytes - bytes) {
                refuse(fmt::format("a piece of '{}' exceeds '{}'", stored.piece.tensor,
                                   manifest.files[file].name));
            }
            extents[file].emplace_back(offset, offset + bytes);
        }
        tensors[{stored.piece.kind, stored.piece.tensor}].push_back(&stored.piece);
    }
    for (std::size_t file = 0; file < extents.size(); ++file) {
        check_apart(extents[file], manifest.files[file].name);
    }
    for (const auto& [key, pieces] : tensors) {
        check_cover(pieces);
    }
}

}  // namespace ziggurat::checkpoint
