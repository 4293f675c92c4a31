#include "comm/node/shared_sum.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "comm/host_stream.hpp"
#include "comm/node/shared_sum_impl.hpp"

namespace ziggurat::comm {
namespace {

/// Parses `32768K` or `32M`; returns 0 if the text is neither.
std::int64_t parse_cache_size(const std::string& text) {
    std::size_t used = 0;
    std::int64_t number = 0;
    try {
        number = std::stoll(text, &used);
    } catch (const std::exception&) {
        return 0;
    }
    const char unit = used < text.size() ? text[used] : ' ';
    return number * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : unit == 'G' ? 1024 * 1024 * 1024 : 1);
}

}  // namespace

void sum_shared(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    shared_sum::sum_with<stream::HostStream>(sum, begin, end);
}

void copy_shared(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) {
    if (bytes <= 0) {
        return;
    }
    if (stores == Stores::non_temporal) {
        stream::HostStream::copy(to, from, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

std::int64_t last_level_cache_bytes() {
    // On virtual machines, sysconf returns the cache of the whole host.
    for (const char* index : {"3", "2"}) {
        std::ifstream file{std::string{"/sys/devices/system/cpu/cpu0/cache/index"} + index + "/size"};
        std::string text;
        if (file >> text) {
            if (const std::int64_t bytes = parse_cache_size(text); bytes > 0) {
                return bytes;
            }
        }
    }
    const long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    constexpr std::int64_t usual = std::int64_t{32} << 20;
    return cache_bytes > 0 ? cache_bytes : usual;
}

}  // namespace ziggurat::comm
