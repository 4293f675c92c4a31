#include "train/step/step_end.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "train/step/loss_sum.hpp"

namespace ziggurat::train {
namespace {

constexpr int limbs = ExactSum::num_limbs;
/// The words of an exchange, in this order: squares, losses, how many ranks have each step_request, figures
/// that are sums, and those that are maxima.
constexpr int first_request = 2 * limbs;
constexpr int first_sent = first_request + static_cast<int>(num_step_requests);
constexpr int first_moved = first_sent + schedule::num_purposes;
constexpr int first_maximum = first_moved + static_cast<int>(schedule::num_links);
constexpr int num_words = first_maximum + 1;

}  // namespace

StepEnd::StepEnd(const comm::Context& world, comm::NodeMemory& node, const spec::Optimizer& optimizer)
    : optimizer_{optimizer}, sum_{world.group(), num_words, &node, num_words - first_maximum} {}

Action StepEnd::bind(const schedule::Program& program,
                     const schedule::Op& op,
                     const state::TierMemory& memory) {
    ZG_EXPECTS(inputs_ == nullptr);
    for (const auto& read : op.reads) {
        const auto& buffer = program.buffer(read.buffer);
        if (read.role == schedule::Role::exact_sums) {
            squares_.push_back(memory.span<ExactSum>(buffer).data());
        } else if (read.role == schedule::Role::losses) {
            losses_.push_back(memory.span<float>(buffer));
        }
    }
    const auto* inputs = program.find_read(op, schedule::Role::step_inputs);
    const auto* of_updates = program.find_write(op, schedule::Role::update_inputs);
    ZG_EXPECTS(inputs != nullptr && of_updates != nullptr);
    inputs_ = memory.span<kernels::StepInputs>(program.buffer(inputs->buffer)).data();
    of_updates_ = memory.span<kernels::StepInputs>(program.buffer(of_updates->buffer)).data();
    return {.start = [this] { start(); },
            .poll =
                [this] {
                    if (!sum_.poll()) {
                        return false;
                    }
                    finish();
                    return true;
                }};
}

void StepEnd::start() {
    ExactSum losses, squares;
    for (const auto& of_microbatch : losses_) {
        add_losses(of_microbatch, losses);
    }
    for (const auto* sum : squares_) {
        squares.merge(*sum);
    }
    const auto words = sum_.words();
    std::ranges::copy(squares.limbs(), words.begin());
    std::ranges::copy(losses.limbs(), words.begin() + limbs);
    std::ranges::copy(step_requests_.counts(), words.begin() + first_request);
    StepFigures mine;
    if (measure_) {
        measure_(mine);
    }
    std::ranges::copy(mine.sent_bytes, words.begin() + first_sent);
    std::ranges::copy(mine.link_bytes, words.begin() + first_moved);
    words[first_maximum] = mine.process_peak_bytes;
    sum_.start();
    ++num_started_;
}

void StepEnd::finish() {
    const auto words = sum_.words();
    ExactSum::Limbs squares{}, losses{};
    std::copy_n(words.begin(), limbs, squares.begin());
    std::copy_n(words.begin() + limbs, limbs, losses.begin());
    const ExactSum all_squares{squares};
    const ExactSum all_losses{losses};

    outcome_.loss_sum = all_losses.is_finite() ? all_losses.value() : std::nan("");
    outcome_.grad_norm = all_squares.is_finite() ? std::sqrt(all_squares.value()) : std::nan("");
    const bool is_finite = all_squares.is_finite() && all_losses.is_finite();
    outcome_.is_spike =
        is_finite && (outcome_.loss_sum > limits_.loss_sum || outcome_.grad_norm > limits_.grad_norm);
    outcome_.is_skipped = !is_finite || (outcome_.is_spike && limits_.skips);
    std::copy_n(words.begin() + first_request, num_step_requests, outcome_.step_requests.counts().begin());
    auto& figures = outcome_.figures;
    std::copy_n(words.begin() + first_sent, figures.sent_bytes.size(), figures.sent_bytes.begin());
    std::copy_n(words.begin() + first_moved, figures.link_bytes.size(), figures.link_bytes.begin());
    figures.process_peak_bytes = words[first_maximum];

    outcome_.is_abandoned = outcome_.step_requests[StepRequest::stop_after_microbatch] > 0;

    const bool clips =
        optimizer_.clip == spec::ClipPolicy::global && outcome_.grad_norm > optimizer_.clip_norm;
    auto& of_updates = *of_updates_;
    of_updates = *inputs_;
    of_updates.gradient_scale = clips ? static_cast<float>(optimizer_.clip_norm / outcome_.grad_norm) : 1.0f;
    of_updates.skip = outcome_.is_skipped || outcome_.is_abandoned ? 1 : 0;
}

}  // namespace ziggurat::train
