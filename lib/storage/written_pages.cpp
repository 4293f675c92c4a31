#include "storage/written_pages.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {

WrittenPages::WrittenPages(std::int64_t bytes) : pages_(round_up_to_page(bytes) / page_bytes) {}

void WrittenPages::note(std::int64_t offset_bytes, std::int64_t bytes) {
    const auto first = offset_bytes / page_bytes;
    const auto last = round_up_to_page(offset_bytes + bytes) / page_bytes;
    ZG_EXPECTS(first >= 0 && bytes >= 0 && last <= std::ssize(pages_));
    const std::lock_guard lock{mutex_};
    std::fill(pages_.begin() + first, pages_.begin() + last, true);
}

bool WrittenPages::any(std::int64_t offset_bytes, std::int64_t bytes) const {
    const auto first = offset_bytes / page_bytes;
    const auto last = round_up_to_page(offset_bytes + bytes) / page_bytes;
    ZG_EXPECTS(first >= 0 && bytes >= 0 && last <= std::ssize(pages_));
    const std::lock_guard lock{mutex_};
    return std::find(pages_.begin() + first, pages_.begin() + last, true) != pages_.begin() + last;
}

}  // namespace ziggurat::storage
