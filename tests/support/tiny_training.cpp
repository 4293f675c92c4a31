#include "tests/support/tiny_training.hpp"

#include <algorithm>

#include "layout/context/context_rows.hpp"
#include "layout/families/family_descriptor.hpp"
#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "schedule/model_layout.hpp"
#include "spec/tensor_pattern.hpp"
#include "spec/weight_versions.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/made_up_pairs.hpp"

namespace ziggurat::test {
namespace {

bool is_target(std::int64_t sample, std::int64_t position) {
    return (sample + position) % 5 != 0;
}

std::int32_t token(const spec::RunSpec& run, std::int64_t sample, std::int64_t position, std::int64_t step) {
    return static_cast<std::int32_t>((sample * 7 + position * position + step * 3) % run.model.vocab);
}

/// Returns the first position of the document of a token; documents of a sample have one length.
std::int64_t document_start(const spec::RunSpec& run, std::int64_t sample, std::int64_t position) {
    return run.data.reset_at_document ? position - position % (3 + sample % 4) : 0;
}

/// \param context_rank  the rank has its part of the positions of each sequence
void fill(const train::BatchSlot& slot,
          const spec::RunSpec& run,
          std::int64_t first_sample,
          int context_rank,
          std::int64_t step) {
    const auto seq = run.data.seq;
    const auto rows = layout::context_rows(run.parallel, context_rank, seq);
    for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
        const auto sample = first_sample + static_cast<std::int64_t>(i) / rows.size;
        const auto position = rows.position(static_cast<std::int64_t>(i) % rows.size);
        slot.tokens[i] = token(run, sample, position, step);
        slot.targets[i] = token(run, sample, position + 1, step);
        slot.positions[i] = static_cast<std::int32_t>(position - document_start(run, sample, position));
        slot.mask[i] = is_target(sample, position) ? 1 : 0;
    }
    for (std::size_t i = 0; i < slot.document_starts.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        slot.document_starts[i] =
            static_cast<std::int32_t>(document_start(run, first_sample + index / seq, index % seq));
    }
    for (std::size_t i = 0; i < slot.samples.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) % run.train.micro_batch;
        slot.samples[i] = step * run.train.global_batch + first_sample + row;
    }
    fill_pairs(slot, run, [&](std::int64_t row, std::int64_t position) {
        return is_target(first_sample + row, position);
    });
}

/// Replaces the tokens of a slot of a cube, whose sequences differ from those of the targets.
void fill_tokens(const train::BatchSlot& slot,
                 const spec::RunSpec& run,
                 std::int64_t first_sample,
                 int context_rank,
                 std::int64_t step) {
    const auto rows = layout::context_rows(run.parallel, context_rank, run.data.seq);
    for (std::int64_t i = 0; i < std::ssize(slot.tokens); ++i) {
        const auto sample = first_sample + i / rows.size;
        const auto position = rows.position(i % rows.size);
        slot.tokens[i] = token(run, sample, position, step);
        if (layout::family_of(run.model).positions == layout::Positions::learned) {
            slot.positions[i] = static_cast<std::int32_t>(position - document_start(run, sample, position));
        }
    }
    for (std::int64_t row = 0; row < run.train.micro_batch; ++row) {
        slot.samples[row] = step * run.train.global_batch + first_sample + row;
    }
}

/// Returns the divisor of the loss: target tokens, or pairs.
std::int64_t targets_of_batch(const spec::RunSpec& run) {
    if (run.data.has_pairs) {
        return run.train.global_batch * pairs_of_sequence;
    }
    std::int64_t targets = 0;
    for (std::int64_t sample = 0; sample < run.train.global_batch; ++sample) {
        for (std::int64_t position = 0; position < run.data.seq; ++position) {
            targets += is_target(sample, position) ? 1 : 0;
        }
    }
    return targets;
}

}  // namespace

spec::RunSpec tiny_run(const std::string& family,
                       int ranks,
                       std::int64_t micro_batch,
                       std::int64_t micro_batches) {
    spec::RunSpec run;
    run.model.family = family;
    const auto& described = layout::family_of(run.model);
    run.model.layers = 2;
    run.model.hidden = 36;
    run.model.heads = 6;
    run.model.kv_heads = described.has_grouped_queries ? 2 : 6;
    run.model.head_dim = 6;
    run.model.ffn_hidden = 52;
    run.model.vocab = 41;
    run.model.vocab_padded = 48;
    run.model.max_seq = 13;
    run.model.tie_embeddings = described.ties_embeddings;
    run.model.dropout = described.has_dropout ? 0.1 : 0;
    if (described.has_attention_scale) {
        run.model.attention_scale = 0.3;
    }
    if (described.window_rope_theta > 0) {
        run.model.window = 4;
        run.model.full_attention_interval = 2;
        run.model.window_rope_theta = 30;
    }
    if (described.has_softcap()) {
        run.model.window = 4;
        run.model.full_attention_interval = 2;
        run.model.softcap = {.attention = 0.6, .logits = 0.4};
    }
    if (described.has_multipliers) {
        run.model.multiplier = {.embedding = 1.5, .residual = 0.4, .logits = 0.7};
    }
    if (family == "olmo2") {
        // No norm precedes its products. With small weights, the norms after them would multiply rounding.
        run.model.init_std = 0.2;
    }
    run.model.rotary_fraction = described.rotary_fraction < 1 ? 4.0 / 6 : 1;
    run.data.seq = 11;
    run.train.steps = 2;
    run.train.global_batch = ranks * micro_batch * micro_batches;
    run.train.micro_batch = micro_batch;
    run.train.micro_batches = micro_batches;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = ranks;
    run.parallel.threads = 1;
    run.sharding.sum_group = ranks;
    run.train.average = {.decay = 0.75, .from = 1};
    run.optimizer.lr = 1e-3;
    run.schedule.kind = spec::ScheduleKind::constant;
    run.tiers.device = device_kind_for_tests();
    return run;
}

Tensors all_tensors(const train::Assembly& assembly, const spec::RunSpec& run, schedule::StateKind kind) {
    Tensors all;
    for (const auto& unit : layout::family_table(run.model, {}).units) {
        for (const auto& parameter : unit.parameters) {
            const bool has_any =
                kind == schedule::StateKind::parameters || spec::is_trained(run.train, parameter.name);
            if (!has_any) {
                continue;
            }
            all[parameter.name] = assembly.tensor(kind, parameter.name);
        }
    }
    return all;
}

TinyOutcome train_tiny(const spec::RunSpec& run,
                       const comm::Context& group,
                       Keep keep,
                       const std::function<void(const train::Assembly&)>& look,
                       const TinyHooks& hooks) {
    auto programs = train::build_programs(run, group.rank());
    if (hooks.programs) {
        hooks.programs(programs);
    }
    // A run on the host is the reference of one on a GPU.
    const auto devices = run.tiers.device == device_kind_for_tests()
                             ? processors_for_tests(run.parallel.threads)
                             : host_processors_for_tests(run.parallel.threads);
    train::Assembly assembly{run, std::move(programs), group, devices};
    const auto targets = targets_of_batch(run);
    const schedule::ModelLayout model{run, group.rank()};
    const auto of_group = run.train.global_batch / run.parallel.sequence_groups();
    const auto fill_slot = [&](const train::BatchSlot& slot, std::int64_t first, std::int64_t step) {
        fill(slot, run, model.turned_group * of_group + first, model.context_rank, step);
        if (model.is_cube) {
            fill_tokens(slot, run, model.sequence_group * of_group + first, model.context_rank, step);
        }
    };
    TinyOutcome outcome;
    const std::int64_t before = hooks.begin ? hooks.begin(assembly) : 0;
    if (hooks.between_ops) {
        assembly.train_executor().between_ops(hooks.between_ops);
    }
    bool goes_on = true;
    /// Runs the program one time. Without a flush, the first runs after a drain only fill the pipeline.
    const auto run_program = [&](std::int64_t step) {
        const auto slots = assembly.train_slots();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const auto number = step * run.train.micro_batches + static_cast<std::int64_t>(i);
            if (number >= 0) {
                fill_slot(slots[i], number % run.train.micro_batches * run.train.micro_batch,
                          number / run.train.micro_batches);
            }
        }
        assembly.step_inputs() =
            optim::make_step_inputs(run.optimizer, run.train.average,
                                    optim::learning_rate(run.schedule, run.optimizer.lr, run.train.steps,
                                                         std::max<std::int64_t>(step, 0)),
                                    step, std::max<std::int64_t>(step, 0) + 1, targets);
        assembly.step_inputs().sums_norms = run.logging.norms > 0 ? 1 : 0;
        assembly.train_executor().run_step();
    };
    const bool has_no_flush = spec::has_no_flush(run.parallel);
    // Gradients and saves need a drained pipeline.
    const auto drain_after = [&](std::int64_t step) {
        return hooks.after_step ? step + 1 : keep == Keep::tensors && step == 0 ? 1 : run.train.steps;
    };
    std::int64_t known = before;
    for (std::int64_t step = before; step < run.train.steps && goes_on; ++step) {
        if (has_no_flush && step >= assembly.pipeline_fill().end_step) {
            assembly.train_executor().finish();
            assembly.fill_pipeline(step);
            assembly.drain_pipeline(drain_after(step));
            for (auto fill = step - assembly.runs_to_fill(); fill < step; ++fill) {
                run_program(fill);
            }
        }
        run_program(step);
        if (has_no_flush) {
            const bool is_drained = step + 1 == assembly.pipeline_fill().end_step;
            for (; known <= step - (is_drained ? 0 : spec::steps_to_outcome(run)); ++known) {
                assembly.wait_for_outcome();
                outcome.losses.push_back(assembly.outcome().loss_sum / static_cast<double>(targets));
                outcome.norms.push_back(assembly.outcome().grad_norm);
            }
        }
        if (assembly.outcome().is_abandoned) {
            --step;  // it does not count, and is repeated
            ++outcome.abandoned;
            continue;
        }
        assembly.complete_update(step + 1);
        if (!has_no_flush) {
            outcome.losses.push_back(assembly.outcome().loss_sum / static_cast<double>(targets));
            outcome.norms.push_back(assembly.outcome().grad_norm);
        }
        if (run.logging.norms > 0) {
            outcome.unit_norms.push_back(assembly.unit_norms());
        }
        if (step == 0 && keep == Keep::tensors) {
            assembly.train_executor().finish();
            outcome.gradients = all_tensors(assembly, run, schedule::StateKind::gradients);
        }
        goes_on = !hooks.after_step || hooks.after_step(step + 1);
    }
    assembly.train_executor().finish();
    outcome.weights_hash = assembly.weights_hash();
    outcome.average_hash = assembly.weights_hash(layout::PieceKind::average);
    fill_slot(assembly.evaluate_slot(), 0, run.train.steps);
    assembly.evaluator().run_step();
    assembly.evaluator().finish();
    if (model.stage == model.head_stage) {
        const auto losses = assembly.evaluate_slot().losses;
        outcome.evaluated.assign(losses.begin(), losses.end());
    }
    if (keep == Keep::tensors) {
        outcome.weights = all_tensors(assembly, run, schedule::StateKind::parameters);
    }
    if (look) {
        look(assembly);
    }
    return outcome;
}

TinyOutcome train_on_host(const spec::RunSpec& run, const comm::Context& group, Keep keep) {
    const OnHost on_host;
    return train_tiny(run, group, keep);
}

}  // namespace ziggurat::test
