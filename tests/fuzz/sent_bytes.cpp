#include "tests/fuzz/sent_bytes.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "comm/control.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/volumes/all_axes.hpp"

namespace ziggurat::test {
namespace {

using schedule::Purpose;

/// Returns the tolerance of a step: each collective rounds down the bytes that a rank sends.
///
/// It does so once per operand, and a sum does so twice. Bytes between phases divide evenly, except
/// statistics and sums of squares of tokens if tensor ranks do not divide them.
std::int64_t rounding(const schedule::Program& program, const schedule::ModelLayout& model, Purpose purpose) {
    if (purpose == Purpose::pipeline) {
        return 0;
    }
    const bool is_tensor = purpose == Purpose::tensor;
    std::int64_t bytes = is_tensor && model.tokens % model.tensor() != 0 ? 1 : 0;
    for (const auto& op : program.ops) {
        const bool moves = op.purpose == purpose && op.group >= 0;
        for (std::size_t i = 0; moves && i < op.reads.size(); ++i) {
            const bool is_even = op.reads[i].bytes() % model.tensor() == 0;
            bytes += is_tensor && is_even ? 0 : 2;
        }
    }
    return bytes;
}

}  // namespace

std::string sent_bytes_difference(const spec::RunSpec& run,
                                  const comm::Context& group,
                                  const schedule::Program& program,
                                  const schedule::BytesByPurpose& counted,
                                  std::int64_t steps) {
    const schedule::ModelLayout model{run, group.rank()};
    auto widest = run;
    widest.precision.gradient = run.debug.nodes > 1 ? spec::DType::f32 : run.precision.gradient;
    const auto min = schedule::bytes_by_formula(run, model);
    const auto max = schedule::bytes_by_formula(widest, model);
    std::string difference;
    for (const auto& [purpose, bytes] : min) {
        const auto slack = rounding(program, model, purpose);
        std::array<std::int64_t, 3> sums{counted[static_cast<std::size_t>(purpose)],
                                         steps * (std::llround(bytes) - slack),
                                         steps * (std::llround(max.at(purpose)) + slack)};
        comm::all_reduce_sum(group, sums);
        if (sums[0] < sums[1] || sums[0] > sums[2]) {
            difference += fmt::format("{}: {} bytes were sent in {} steps and should be {} to {}. ",
                                      to_string(purpose), sums[0], steps, sums[1], sums[2]);
        }
    }
    return difference;
}

}  // namespace ziggurat::test
