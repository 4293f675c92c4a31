#include "spec/depths.hpp"

#include <algorithm>
#include <bit>

namespace ziggurat::spec {

std::int64_t usual_chunk(std::int64_t elements) {
    constexpr std::int64_t chunks_of_rank = 8;
    constexpr std::int64_t least = std::int64_t{512} << 10;
    constexpr std::int64_t most = std::int64_t{4} << 20;
    const auto wanted = std::max<std::int64_t>(1, elements / chunks_of_rank);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)));
    return std::clamp(power, least, most);
}

}  // namespace ziggurat::spec
