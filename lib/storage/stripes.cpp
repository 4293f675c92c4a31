#include "storage/stripes.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::storage {
namespace {

std::int64_t whole_stripes_in(const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes) {
    std::int64_t whole = 0;
    for (const auto room : room_bytes) {
        whole += room / stripe_bytes;
    }
    return whole;
}

/// Space of a file after its whole stripes.
struct Rest {
    int file = 0;
    std::int64_t bytes = 0;
};

Rest largest_rest(const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes) {
    Rest largest;
    for (std::size_t file = 0; file < room_bytes.size(); ++file) {
        if (const auto rest = room_bytes[file] % stripe_bytes; rest > largest.bytes) {
            largest = {static_cast<int>(file), rest};
        }
    }
    return largest;
}

}  // namespace

bool Stripes::fits(std::int64_t bytes,
                   const std::vector<std::int64_t>& room_bytes,
                   std::int64_t stripe_bytes) {
    const auto whole = whole_stripes_in(room_bytes, stripe_bytes);
    const auto in_last = bytes - whole * stripe_bytes;  // bytes of the last stripe, if one is left
    return in_last <= 0 ||
           (in_last <= stripe_bytes && largest_rest(room_bytes, stripe_bytes).bytes >= in_last);
}

Stripes::Stripes(std::int64_t bytes, const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes)
    : bytes_{bytes}, stripe_bytes_{stripe_bytes}, bytes_in_(room_bytes.size(), 0) {
    ZG_EXPECTS(bytes > 0 && stripe_bytes > 0 && fits(bytes, room_bytes, stripe_bytes));
    const auto num_stripes = (bytes + stripe_bytes - 1) / stripe_bytes;
    const auto whole = std::min(num_stripes, whole_stripes_in(room_bytes, stripe_bytes));
    deal(whole, room_bytes);
    if (whole < num_stripes) {
        const auto file = largest_rest(room_bytes, stripe_bytes).file;
        turns_.push_back(
            {.first_stripe = whole, .first_row = room_bytes[file] / stripe_bytes, .files = {file}});
    }
    const auto last = at(bytes - 1);  // the last stripe ends at the end of the range
    bytes_in_[last.file] = last.offset_bytes + 1;
}

void Stripes::deal(std::int64_t count, const std::vector<std::int64_t>& room_bytes) {
    std::int64_t dealt = 0;
    std::int64_t row = 0;
    while (dealt < count) {
        Turns turns{.first_stripe = dealt, .first_row = row};
        std::int64_t rows = count - dealt;
        for (std::size_t file = 0; file < room_bytes.size(); ++file) {
            if (const auto left = room_bytes[file] / stripe_bytes_ - row; left > 0) {
                turns.files.push_back(static_cast<int>(file));
                rows = std::min(rows, left);
            }
        }
        const auto num_files = std::ssize(turns.files);
        const auto in_turns = std::min(rows * num_files, count - dealt);
        for (std::int64_t position = 0; position < num_files; ++position) {
            bytes_in_[turns.files[position]] +=
                (in_turns - position + num_files - 1) / num_files * stripe_bytes_;
        }
        rows = (in_turns + num_files - 1) / num_files;
        dealt += in_turns;
        row += rows;
        turns_.push_back(std::move(turns));
    }
}

Stripes::FilePart Stripes::at(std::int64_t offset_bytes) const {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes < bytes_);
    if (bytes_in_.size() == 1) {
        return {0, offset_bytes, bytes_ - offset_bytes};
    }
    const auto stripe = offset_bytes / stripe_bytes_;
    const auto after =
        std::ranges::upper_bound(turns_, stripe, {}, [](const Turns& turns) { return turns.first_stripe; });
    const auto& turns = *(after - 1);
    const auto num_files = std::ssize(turns.files);
    const auto position = stripe - turns.first_stripe;
    const auto in_stripe = offset_bytes % stripe_bytes_;
    return {turns.files[position % num_files],
            (turns.first_row + position / num_files) * stripe_bytes_ + in_stripe, stripe_bytes_ - in_stripe};
}

}  // namespace ziggurat::storage
