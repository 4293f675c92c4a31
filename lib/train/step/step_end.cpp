#include "train/step/step_end.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/gradient_norm.hpp"

namespace ziggurat::train {
namespace {

constexpr int limbs = ExactSum::num_limbs;
/// Squares, losses, how many ranks have each step_request.
constexpr int num_words = 2 * limbs + static_cast<int>(num_step_requests);

}  // namespace

StepEnd::StepEnd(const comm::Context& world,
                 comm::NodeMemory& node,
                 const spec::Optimizer& optimizer,
                 const device::Stream& stream,
                 const ExactSum& squares)
    : optimizer_{optimizer}, stream_{stream}, sum_{world.group(), num_words, &node}, squares_{squares} {}

Action StepEnd::action(std::span<const BatchSlot> slots,
                       const kernels::StepInputs& inputs,
                       kernels::StepInputs& of_updates) {
    return {.start = [this, slots] { start(slots); },
            .poll =
                [this, &inputs, &of_updates] {
                    if (!sum_.poll()) {
                        return false;
                    }
                    of_updates = inputs;
                    finish(of_updates);
                    return true;
                }};
}

void StepEnd::start(std::span<const BatchSlot> slots) {
    ExactSum losses;
    for (const auto& slot : slots) {
        kernels::loss_sum(stream_, slot.losses, losses);
    }
    const auto words = sum_.words();
    std::ranges::copy(squares_.limbs(), words.begin());
    std::ranges::copy(losses.limbs(), words.begin() + limbs);
    std::ranges::copy(step_requests_.counts(), words.begin() + 2 * limbs);
    sum_.start();
}

void StepEnd::finish(kernels::StepInputs& of_updates) {
    const auto words = sum_.words();
    ExactSum::Limbs squares{}, losses{};
    std::copy_n(words.begin(), limbs, squares.begin());
    std::copy_n(words.begin() + limbs, limbs, losses.begin());
    const ExactSum all_squares{squares};
    const ExactSum all_losses{losses};

    outcome_.loss_sum = all_losses.is_finite() ? all_losses.value() : std::nan("");
    outcome_.grad_norm = all_squares.is_finite() ? std::sqrt(all_squares.value()) : std::nan("");
    outcome_.is_skipped = !all_squares.is_finite() || !all_losses.is_finite();
    std::copy_n(words.begin() + 2 * limbs, num_step_requests, outcome_.step_requests.counts().begin());

    outcome_.is_abandoned = outcome_.step_requests[StepRequest::stop_after_microbatch] > 0;

    const bool clips =
        optimizer_.clip == spec::ClipPolicy::global && outcome_.grad_norm > optimizer_.clip_norm;
    of_updates.gradient_scale = clips ? static_cast<float>(optimizer_.clip_norm / outcome_.grad_norm) : 1.0f;
    of_updates.skip = outcome_.is_skipped || outcome_.is_abandoned ? 1 : 0;
}

}  // namespace ziggurat::train
