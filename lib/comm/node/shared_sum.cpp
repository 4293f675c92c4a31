#include "comm/node/shared_sum.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "base/contract.hpp"
#include "comm/host_stream.hpp"
#include "comm/node/shared_sum_impl.hpp"
#include "comm/node/stream/portable.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

template <class Vector>
void sum_as(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    ZG_EXPECTS(!sum.inputs.empty() && !sum.outputs.empty() && sum.sum_group >= 0);
    ZG_EXPECTS(begin >= 0);
    if (begin >= end) {
        return;
    }
    if (sum.inputs.size() == 1) {
        const std::int64_t unit = spec::element_bytes(sum.type);
        for (std::byte* output : sum.outputs) {
            if (output != sum.inputs[0]) {
                copy_shared(output + begin * unit, sum.inputs[0] + begin * unit, (end - begin) * unit,
                            sum.stores);
            }
        }
        return;
    }
    sum.type == spec::DType::f32 ? shared_sum::sum_range<Vector, float>(sum, begin, end)
                                 : shared_sum::sum_range<Vector, tensor::bfloat16>(sum, begin, end);
}

/// `32768K` or `32M`; 0 when it is neither.
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
    sum_as<stream::HostStream>(sum, begin, end);
}

void sum_shared_portably(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    sum_as<stream::Portable>(sum, begin, end);
}

void copy_shared(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) {
    if (bytes <= 0) {
        return;
    }
    if (stores == Stores::non_temporal) {
        stream::HostStream::copy(to, from, static_cast<std::size_t>(bytes));
    } else {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
}

std::int64_t last_level_cache_bytes() {
    // What sysconf says on virtual machines is the whole host's.
    for (const char* index : {"3", "2"}) {
        std::ifstream file{std::string{"/sys/devices/system/cpu/cpu0/cache/index"} + index + "/size"};
        std::string text;
        if (file >> text) {
            if (const std::int64_t bytes = parse_cache_size(text); bytes > 0) {
                return bytes;
            }
        }
    }
    const long said = sysconf(_SC_LEVEL3_CACHE_SIZE);
    constexpr std::int64_t usual = std::int64_t{32} << 20;
    return said > 0 ? said : usual;
}

}  // namespace ziggurat::comm
