#include "tests/fuzz/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "comm/control.hpp"
#include "layout/mesh.hpp"
#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/fuzz/saving.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/made_up_pairs.hpp"

namespace ziggurat::test {
namespace {

/// Returns a pseudo-random number of 64 bits that depends only on its arguments.
std::uint64_t mixed(std::int64_t sample, std::int64_t position) {
    const std::int64_t pair[2] = {sample, position};
    return XXH3_64bits(pair, sizeof pair);
}

/// Returns token `position` of a sample: it depends on its predecessor often enough to be learnt.
std::int32_t token(const spec::RunSpec& run, std::int64_t sample, std::int64_t position) {
    const auto random = mixed(sample, position);
    const auto of = static_cast<std::uint64_t>(run.model.vocab);
    return static_cast<std::int32_t>(random % 4 == 0 ? random / 4 % of
                                                     : static_cast<std::uint64_t>(position * 7 + 3) % of);
}

/// Returns true for targets that count: not in one sample of six, nor in one target of five.
bool is_target(std::int64_t sample, std::int64_t position) {
    return mixed(sample, -1) % 6 != 0 && mixed(sample, position + 1000) % 5 != 0;
}

/// Returns the start of the document at `position`. Every second sample has document starts at random
/// positions.
std::int32_t document_start(std::int64_t sample, std::int64_t position) {
    for (auto at = position; at > 0; --at) {
        if (mixed(sample, at + 2000) % 4 == 0 && sample % 2 == 0) {
            return static_cast<std::int32_t>(at);
        }
    }
    return 0;
}

void fill(const train::BatchSlot& slot, const spec::RunSpec& run, std::int64_t first_sample) {
    const auto seq = run.data.seq;
    for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
        const auto sample = first_sample + static_cast<std::int64_t>(i) / seq;
        const auto position = static_cast<std::int64_t>(i) % seq;
        slot.tokens[i] = token(run, sample, position);
        slot.targets[i] = token(run, sample, position + 1);
        slot.document_starts[i] = document_start(sample, position);
        slot.positions[i] = static_cast<std::int32_t>(position) - slot.document_starts[i];
        slot.mask[i] = is_target(sample, position) ? 1 : 0;
    }
    for (std::size_t row = 0; row < slot.samples.size(); ++row) {
        slot.samples[row] = first_sample + static_cast<std::int64_t>(row);
    }
    test::fill_pairs(slot, run, [&](std::int64_t row, std::int64_t position) {
        return is_target(first_sample + row, position);
    });
}

std::int64_t targets_of_step(const spec::RunSpec& run, std::int64_t step) {
    if (run.data.has_pairs) {
        return run.train.global_batch * test::pairs_of_sequence;
    }
    std::int64_t targets = 0;
    for (std::int64_t i = 0; i < run.train.global_batch * run.data.seq; ++i) {
        targets += is_target(step * run.train.global_batch + i / run.data.seq, i % run.data.seq) ? 1 : 0;
    }
    return targets;
}

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Returns a hash of all state that an update changes, in any tier.
std::uint64_t state_hash(const train::StateView& state) {
    std::uint64_t hash = 0;
    std::vector<std::byte> bytes;
    for (const auto& buffer : state.program.buffers) {
        const bool is_updated = buffer.lifetime == schedule::Lifetime::persistent &&
                                buffer.state != schedule::StateKind::none &&
                                buffer.state != schedule::StateKind::gradients;
        if (is_updated) {
            bytes.resize(static_cast<std::size_t>(buffer.bytes));
            state.memory.read(buffer, 0, bytes);
            hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
        }
    }
    return hash;
}

/// Evaluates one micro-batch that is not trained on.
///
/// Collective: over the ranks of the run
std::uint64_t hash_of_losses(train::Assembly& assembly, const spec::RunSpec& run, std::int64_t sample) {
    assembly.train_executor().finish();
    fill(assembly.evaluate_slot(), run, sample);
    assembly.evaluator().run_step();
    assembly.evaluator().finish();
    const auto losses = assembly.evaluate_slot().losses;
    return XXH3_64bits(losses.data(), losses.size_bytes());
}

}  // namespace

TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run, const comm::Context& group) {
    return train_on_made_up_batches(run, group, train::build_programs(run, group.rank()));
}

TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const LrScheduleState& course) {
    return train_on_made_up_batches(run, group, std::move(programs), course,
                                    processors_for_tests(run.parallel.threads));
}

TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const LrScheduleState& course,
                                         const device::RankDevices& devices) {
    train::Assembly assembly{run, std::move(programs), group, devices};
    const auto batch = run.train.global_batch;
    // Ranks of the other axes have the same sequences.
    const layout::Mesh mesh{run.parallel};
    const auto mine = mesh.coordinate(spec::Axis::data, group.rank()) * (batch / run.parallel.data);
    TrainingOutcome outcome;
    std::int64_t updates = 0;
    std::optional<Saving> saving;
    std::int64_t first_step = 0;
    double grad_norm = 0;
    if (course.saves) {
        saving.emplace(run, group, assembly);
        first_step = saving->before().step;
        grad_norm = saving->before().grad_norm;
        updates = first_step - saving->before().skipped;
    }
    const auto progress = [&](std::int64_t step) {
        return checkpoint::TrainingProgress{.step = step,
                                            .tokens = step * batch * run.data.seq,
                                            .next_sample = step * batch,
                                            .skipped = step - updates,
                                            .grad_norm = grad_norm};
    };
    const auto steps = course.steps > 0 ? course.steps : run.train.steps;
    for (std::int64_t step = first_step; step < steps; ++step) {
        const auto slots = assembly.train_slots();
        for (std::size_t m = 0; m < slots.size(); ++m) {
            fill(slots[m], run, step * batch + mine + static_cast<std::int64_t>(m) * run.train.micro_batch);
        }
        auto inputs = optim::make_step_inputs(
            run.optimizer, run.train.average,
            optim::learning_rate(run.schedule, run.optimizer.lr, run.train.steps, step), step, updates + 1,
            targets_of_step(run, step));
        if (run.optimizer.clip == spec::ClipPolicy::previous_norm) {
            inputs.gradient_scale = optim::clip_factor(run.optimizer, grad_norm);
        }
        const bool is_non_finite = step + 1 == course.non_finite_step;
        std::uint64_t before = 0;
        if (is_non_finite) {
            inputs.loss_scale = std::numeric_limits<float>::infinity();
            if (course.looks_at_that_step) {
                assembly.train_executor().finish();
                before = state_hash(assembly.state());
            }
        }
        assembly.step_inputs() = inputs;
        assembly.train_executor().run_step();
        assembly.complete_update(step + 1);
        // A delayed update of the step before it changes state, too.
        const bool is_delayed = run.overlap.delayed_update && step > run.overlap.delayed_update_after;
        if (is_non_finite && !is_delayed && course.looks_at_that_step) {
            assembly.train_executor().finish();
            // Without targets, no gradient is infinite.
            outcome.changed_state_in_a_skipped_step =
                assembly.outcome().is_skipped && state_hash(assembly.state()) != before;
        }
        const auto& end = assembly.outcome();
        updates += end.is_skipped ? 0 : 1;
        grad_norm = end.is_skipped ? grad_norm : end.grad_norm;
        outcome.loss_sums.push_back(end.loss_sum);
        outcome.grad_norms.push_back(end.grad_norm);
        if (end.is_skipped) {
            outcome.skipped_steps.push_back(step + 1);
        }
        if (saving && step + 1 < steps) {
            saving->after_step(progress(step + 1));
        }
        if (step + 1 == course.validated_after) {
            outcome.validation_hash = hash_of_losses(assembly, run, run.train.steps * batch + mine);
        }
    }
    assembly.train_executor().finish();
    if (saving) {
        saving->finish(progress(steps));
    }
    outcome.bytes_moved = assembly.bytes_moved();
    outcome.bytes_by_link = assembly.bytes_by_link();
    const auto& program = assembly.train_executor().program();
    for (schedule::OpId op = 0; op < program.ops.end_id(); ++op) {
        if (program.ops[op].predicate) {
            const auto& of_redo = program.ops[op];
            if (const auto link = schedule::link_of(of_redo, program);
                link && schedule::moves_state(of_redo)) {
                outcome.redone_by_link[*link] +=
                    assembly.times_run(op) * schedule::bytes_moved(of_redo, program) -
                    assembly.skipped_bytes(op);
            }
        }
    }
    outcome.weights_hash = assembly.weights_hash();
    outcome.average_hash = assembly.weights_hash(layout::PieceKind::average);
    outcome.evaluated_losses_hash = hash_of_losses(assembly, run, run.train.steps * batch + mine);
    return outcome;
}

std::string TrainingOutcome::first_difference(const TrainingOutcome& expected) const {
    for (std::size_t step = 0; step < loss_sums.size(); ++step) {
        if (!same_bits(loss_sums[step], expected.loss_sums[step])) {
            return fmt::format("step {}: the loss sum is {} and should be {}", step + 1, loss_sums[step],
                               expected.loss_sums[step]);
        }
        if (!same_bits(grad_norms[step], expected.grad_norms[step])) {
            return fmt::format("step {}: the gradient norm is {} and should be {}", step + 1,
                               grad_norms[step], expected.grad_norms[step]);
        }
    }
    if (skipped_steps != expected.skipped_steps) {
        return fmt::format("steps {} are skipped and should be {}", fmt::join(skipped_steps, ", "),
                           fmt::join(expected.skipped_steps, ", "));
    }
    if (changed_state_in_a_skipped_step) {
        return "a step that is not finite changes state";
    }
    if (validation_hash != expected.validation_hash) {
        return "the losses of a batch between two steps differ";
    }
    if (weights_hash != expected.weights_hash) {
        return fmt::format("the weights after {} steps have the hash {:016x} and should have {:016x}",
                           loss_sums.size(), weights_hash, expected.weights_hash);
    }
    if (average_hash != expected.average_hash) {
        return fmt::format("the average of the weights has the hash {:016x} and should have {:016x}",
                           average_hash, expected.average_hash);
    }
    if (evaluated_losses_hash != expected.evaluated_losses_hash) {
        return "the losses of a batch after the last step differ";
    }
    return {};
}

std::string volume_difference(const spec::RunSpec& run,
                              const comm::Context& group,
                              const TrainingOutcome& outcome) {
    const auto volumes = schedule::volumes_by_formula(run, schedule::ModelLayout{run, group.rank()});
    auto widest = run.precision;
    widest.gradient = run.debug.nodes > 1 ? spec::DType::f32 : widest.gradient;
    const auto max = schedule::bytes_of(volumes, widest);
    std::string difference;
    for (const auto& [purpose, bytes] : schedule::bytes_of(volumes, run.precision)) {
        std::array<std::int64_t, 3> sums{outcome.bytes_moved[static_cast<std::size_t>(purpose)],
                                         bytes * run.train.steps, max.at(purpose) * run.train.steps};
        if (run.debug.nodes > 1) {
            comm::all_reduce_sum(group, sums);
        }
        if (sums[0] < sums[1] || sums[0] > sums[2]) {
            difference += fmt::format("{}: {} bytes were moved in {} steps and should be {} to {}. ",
                                      to_string(purpose), sums[0], run.train.steps, sums[1], sums[2]);
        }
    }
    return difference;
}

}  // namespace ziggurat::test
