/// Pages: granularity of offsets, lengths and addresses of O_DIRECT transfers.
#pragma once

#include <cstdint>

namespace ziggurat {

inline constexpr std::int64_t page_bytes = 4096;

constexpr std::int64_t round_down_to_page(std::int64_t bytes) {
    return bytes / page_bytes * page_bytes;
}
constexpr std::int64_t round_up_to_page(std::int64_t bytes) {
    return round_down_to_page(bytes + page_bytes - 1);
}

}  // namespace ziggurat
