#include "storage/stripes.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::storage {
namespace {

std::int64_t stripes_in(std::int64_t bytes, std::int64_t stripe_bytes) {
    return (bytes + stripe_bytes - 1) / stripe_bytes;
}

}  // namespace

bool Stripes::fits(std::int64_t bytes,
                   const std::vector<std::int64_t>& room_bytes,
                   std::int64_t stripe_bytes) {
    std::int64_t missing = stripes_in(bytes, stripe_bytes);
    for (const auto room : room_bytes) {
        missing -= std::min(missing, room / stripe_bytes);
    }
    return missing <= 0;
}

Stripes::Stripes(std::int64_t bytes, const std::vector<std::int64_t>& room_bytes, std::int64_t stripe_bytes)
    : bytes_{bytes}, stripe_bytes_{stripe_bytes}, bytes_in_(room_bytes.size(), 0) {
    ZG_EXPECTS(bytes > 0 && stripe_bytes > 0 && fits(bytes, room_bytes, stripe_bytes));
    const auto num_stripes = stripes_in(bytes, stripe_bytes);
    std::int64_t dealt = 0;
    std::int64_t row = 0;
    while (dealt < num_stripes) {
        Turns turns{.first_stripe = dealt, .first_row = row};
        std::int64_t rows = (num_stripes - dealt);
        for (std::size_t file = 0; file < room_bytes.size(); ++file) {
            if (const auto left = room_bytes[file] / stripe_bytes - row; left > 0) {
                turns.files.push_back(static_cast<int>(file));
                rows = std::min(rows, left);
            }
        }
        const auto num_files = std::ssize(turns.files);
        const auto in_turns = std::min(rows * num_files, num_stripes - dealt);
        for (std::int64_t place = 0; place < num_files; ++place) {
            bytes_in_[static_cast<std::size_t>(turns.files[static_cast<std::size_t>(place)])] +=
                (in_turns - place + num_files - 1) / num_files * stripe_bytes;
        }
        rows = (in_turns + num_files - 1) / num_files;
        dealt += in_turns;
        row += rows;
        turns_.push_back(std::move(turns));
    }
    const auto last = at(bytes - 1);  // its stripe ends where all does
    bytes_in_[static_cast<std::size_t>(last.file)] = last.offset_bytes + 1;
}

Stripes::Place Stripes::at(std::int64_t offset_bytes) const {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes < bytes_);
    if (bytes_in_.size() == 1) {
        return {0, offset_bytes, bytes_ - offset_bytes};
    }
    const auto stripe = offset_bytes / stripe_bytes_;
    const auto behind =
        std::ranges::upper_bound(turns_, stripe, {}, [](const Turns& turns) { return turns.first_stripe; });
    const auto& turns = *(behind - 1);
    const auto num_files = std::ssize(turns.files);
    const auto place = stripe - turns.first_stripe;
    const auto in_stripe = offset_bytes % stripe_bytes_;
    return {turns.files[static_cast<std::size_t>(place % num_files)],
            (turns.first_row + place / num_files) * stripe_bytes_ + in_stripe, stripe_bytes_ - in_stripe};
}

}  // namespace ziggurat::storage
