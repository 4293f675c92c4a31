#include "comm/hierarchical/sum_runs.hpp"

#include <algorithm>
#include <array>

#include "base/contract.hpp"
#include "comm/collectives.hpp"
#include "comm/strip_sum.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

using spec::DType;
using tensor::bfloat16;

void set(float* sum, const Addend& addend, std::int64_t first, std::int64_t n) {
    const std::byte* from = addend.at + first * element_bytes(addend.type);
    addend.type == DType::f32 ? load_strip<float>(sum, from, n) : load_strip<bfloat16>(sum, from, n);
}

void add(float* sum, const Addend& addend, std::int64_t first, std::int64_t n) {
    const std::byte* from = addend.at + first * element_bytes(addend.type);
    addend.type == DType::f32 ? add_strip<float>(sum, from, n) : add_strip<bfloat16>(sum, from, n);
}

/// Returns the end of the range that begins at `first`.
std::size_t end_of_run(std::span<const Addend> addends, std::size_t first) {
    std::size_t end = first + 1;
    while (end < addends.size() && !addends[end].begins_run) {
        ++end;
    }
    return end;
}

/// True if a range after the first has several addends.
bool needs_brackets(std::span<const Addend> addends) {
    for (std::size_t a = end_of_run(addends, 0); a < addends.size(); a = end_of_run(addends, a)) {
        if (end_of_run(addends, a) > a + 1) {
            return true;
        }
    }
    return false;
}

/// Left fold of fp32 vectors that delays additions as long as possible.
class LeftFold {
  public:
    /// True if there are more inputs than one pass can add.
    static constexpr bool needs_buffer(std::size_t inputs) noexcept { return inputs > max_inputs; }

    /// \param sum  buffer for a partial sum; unused for few inputs
    LeftFold(float* sum, std::int64_t elements)
        : sum_{reinterpret_cast<std::byte*>(sum)}, elements_{elements} {}

    void add(const std::byte* input) {
        if (count_ == max_inputs) {
            add_up();
        }
        inputs_[count_++] = input;
    }
    /// Adds up the inputs so far, which may change afterwards; returns their sum.
    const std::byte* add_up() {
        sum_to(sum_, Stores::ordinary);
        inputs_[0] = sum_;
        count_ = 1;
        return sum_;
    }
    void sum_to(std::byte* output, Stores stores) const {
        sum_shared({.inputs = std::span{inputs_}.first(count_), .outputs = {&output, 1}, .stores = stores}, 0,
                   elements_);
    }
    void clear() noexcept { count_ = 0; }

  private:
    static constexpr std::size_t max_inputs = 16;

    std::byte* sum_;
    std::int64_t elements_;
    std::array<const std::byte*, max_inputs> inputs_{};
    std::size_t count_ = 0;
};

void sum_fp32(
    std::span<const Addend> addends, std::byte* output, std::int64_t begin, std::int64_t end, Stores stores) {
    alignas(64) float total_sum[strip_elements];
    alignas(64) float run_sum[strip_elements];
    const std::int64_t at_once =
        needs_brackets(addends) || LeftFold::needs_buffer(addends.size()) ? strip_elements : end - begin;
    for (std::int64_t first = begin; first < end; first += at_once) {
        const std::int64_t n = std::min(at_once, end - first);
        LeftFold total{total_sum, n};
        LeftFold run{run_sum, n};
        for (std::size_t a = 0; a < addends.size();) {
            const std::size_t next_run = end_of_run(addends, a);
            const bool is_bracket = a > 0 && next_run > a + 1;
            LeftFold& sum = is_bracket ? run : total;
            for (; a < next_run; ++a) {
                sum.add(addends[a].at + first * 4);
            }
            if (is_bracket) {
                total.add(run.add_up());
                total.add_up();
                run.clear();
            }
        }
        total.sum_to(output + first * 4, stores);
    }
}

void sum_mixed(
    std::span<const Addend> addends, std::byte* output, DType type, std::int64_t begin, std::int64_t end) {
    alignas(64) float total[strip_elements];
    alignas(64) float run[strip_elements];
    for (std::int64_t first = begin; first < end; first += strip_elements) {
        const std::int64_t n = std::min(strip_elements, end - first);
        for (std::size_t a = 0; a < addends.size();) {
            const std::size_t next_run = end_of_run(addends, a);
            if (a > 0 && next_run == a + 1) {
                add(total, addends[a], first, n);  // a range of one addend needs no separate sum
            } else {
                float* sum = a == 0 ? total : run;
                set(sum, addends[a], first, n);
                for (std::size_t next = a + 1; next < next_run; ++next) {
                    add(sum, addends[next], first, n);
                }
                if (sum == run) {
                    add_sums(total, run, n);
                }
            }
            a = next_run;
        }
        std::byte* to = output + first * element_bytes(type);
        type == DType::f32 ? store_strip<float>(to, total, n) : store_strip<bfloat16>(to, total, n);
    }
}

}  // namespace

void sum_runs(std::span<const Addend> addends,
              std::byte* output,
              DType type,
              std::int64_t begin,
              std::int64_t end,
              Stores stores) {
    ZG_EXPECTS(!addends.empty() && addends.front().begins_run && begin <= end);
    const bool is_of_type = std::ranges::all_of(addends, [type](const Addend& a) { return a.type == type; });
    if (addends.size() == 1 && is_of_type) {
        const std::int64_t offset = begin * element_bytes(type);
        if (begin < end && output != addends.front().at) {
            copy_shared(output + offset, addends.front().at + offset, (end - begin) * element_bytes(type),
                        stores);
        }
    } else if (is_of_type && type == DType::f32) {
        sum_fp32(addends, output, begin, end, stores);
    } else {
        sum_mixed(addends, output, type, begin, end);
    }
}

}  // namespace ziggurat::comm
