#include "train/inference.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/throw_on_all_ranks.hpp"
#include "layout/cache/kv_cache.hpp"
#include "schedule/build_program.hpp"
#include "spec/passes_with_cache.hpp"
#include "train/generate/choice_scores.hpp"
#include "train/ops/late_failure.hpp"
#include "train/save/held_pieces.hpp"

namespace ziggurat::train {
namespace {

/// Returns programs whose training program is also the evaluation program, or the one with a KV cache.
///
/// Without a backward pass, memory then holds only the parameters and one forward pass, or the cache.
Programs forward_alone(const spec::RunSpec& run, int world_rank) {
    if (spec::has_only_cached_passes(run)) {
        auto cached = build_cached_programs(run, world_rank);
        const auto with_logits = cached.back();
        return {with_logits, with_logits, std::move(cached)};
    }
    auto program = schedule::build_program(run, world_rank, schedule::Variant::evaluate);
    return {program, std::move(program)};
}

}  // namespace

spec::RunSpec evaluating(const spec::RunSpec& trained,
                         const InferenceRanks& unchanged,
                         std::int64_t micro_batch) {
    spec::RunSpec run = trained;
    run.parallel = {};
    run.parallel.ranks = run.parallel.data = unchanged.ranks;
    run.parallel.ranks_per_node = unchanged.ranks_per_node;
    run.parallel.threads = unchanged.threads;
    // All stages use the slowest home tier that any stage has for its parameters.
    for (const auto& stage : trained.stages) {
        const auto& home = stage.parameters;
        const auto& known = run.tiers.parameters;
        const bool is_further = home.nvme != known.nvme ? home.nvme > known.nvme : home.device < known.device;
        run.tiers.parameters = is_further ? home : known;
    }
    run.stages.clear();
    const bool is_cut =
        trained.sharding.parameters > 1 || trained.parallel.tensor_ranks() > 1 || trained.parallel.stages > 1;
    const int span = is_cut ? unchanged.ranks : 1;
    run.sharding = {};
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = span;
    run.sharding.sum_group = unchanged.ranks;
    run.train.objective = {};
    run.data.has_pairs = false;
    run.train.only = {""};  // a pattern that matches no tensor: all are frozen
    run.train.micro_batch = micro_batch;
    run.train.micro_batches = 1;
    run.train.global_batch = micro_batch * unchanged.ranks;
    run.tiers.gradients = run.tiers.optimizer = run.tiers.activations = {};
    run.tiers.open = {};
    run.overlap = {};
    run.overlap.prefetch = trained.overlap.prefetch;
    run.checkpoint = {};
    run.recompute = {};
    run.debug = {};
    run.run.trace = false;
    return run;
}

namespace {

/// Returns the largest degree of the tensor axis that divides the ranks of a node and the model.
int largest_tensor_degree(const spec::Model& model, int ranks) {
    const auto fits = [&](int degree) {
        return ranks % degree == 0 && model.heads % degree == 0 && model.ffn_hidden % degree == 0 &&
               model.vocab_padded % degree == 0 &&
               (model.kv_heads % degree == 0 || degree % model.kv_heads == 0);
    };
    int degree = ranks;
    while (!fits(degree)) {
        --degree;
    }
    return degree;
}

}  // namespace

spec::RunSpec generating(const spec::RunSpec& trained,
                         const InferenceRanks& ranks,
                         std::int64_t prompt,
                         std::int64_t tokens,
                         std::int64_t texts) {
    auto run = evaluating(trained, ranks, 1);
    auto& parallel = run.parallel;
    const bool are_nodes_equal = ranks.ranks % ranks.ranks_per_node == 0;
    if (run.tiers.tiles.empty() && are_nodes_equal) {
        parallel.tensor = largest_tensor_degree(run.model, ranks.ranks_per_node);
        const int rest = ranks.ranks / parallel.tensor;
        parallel.stages = rest <= run.model.layers ? rest : 1;
        parallel.data = rest / parallel.stages;
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer =
            run.sharding.parameters > 1 ? parallel.data : 1;
        run.sharding.sum_group = parallel.data;
        run.train.global_batch = parallel.data;
    }
    run.cached = spec::passes_of_texts(run, prompt, tokens, texts);
    return run;
}

spec::CachedPasses conversation_passes(const spec::RunSpec& run) {
    auto passes = spec::passes_of_texts(run, run.data.seq, 0);
    passes.sequences = 2;  // a prompt and its text, which share the full pages of the prompt
    passes.pages = layout::cache_pages(passes.positions) + 1;
    return passes;
}

Inference::Inference(const spec::RunSpec& run, const comm::Context& world, const device::RankDevices& devices)
    : run_{run},
      world_{world},
      model_{run, world.rank()},
      devices_{devices},
      assembly_{run, forward_alone(run, world.rank()), world, devices_, StateInit::zero} {}

void Inference::load(checkpoint::CheckpointReader& reader) {
    const StateView state = assembly_.state();
    std::vector<checkpoint::PieceTarget> targets;
    for (auto& held : held_pieces(state.model, state.program, PieceExtent::held)) {
        targets.push_back(target_at_home(state, std::move(held)));
    }
    reader.read(targets);
}

Evaluation Inference::evaluation(data::BatchSource source) {
    return {run_, std::move(source), world_, model_, assembly_};
}

template <class Pass>
auto Inference::pass(const Pass& work) {
    try {
        return work();
    } catch (...) {
        if (assembly_.computes_late()) {
            end_job_at_once(world_);
        }
        throw;
    }
}

/// Returns the result of a pass that all ranks may end early, in order.
///
/// \param run_pass  gets a predicate that is true on all ranks if any rank is stopped; returns nullopt if it
///                  was stopped
/// Errors: Stopped on all ranks
template <class Pass>
auto Inference::stoppable(const StopCheck& stop, const Pass& run_pass) {
    std::string stopped;
    const std::function<bool()> stops = [&] {
        try {
            check(stop);
        } catch (const Stopped& reason) {
            stopped = reason.what();
        }
        return comm::is_stopped_on_any(world_, stopped);
    };
    auto result = pass([&] { return run_pass(stop ? stops : std::function<bool()>{}); });
    if (!result) {
        throw Stopped{stopped, true};
    }
    return std::move(*result);
}

ValidationLoss Inference::loss(data::BatchSource source,
                               Progress* progress,
                               const data::TextTokenizer* tokenizer,
                               const StopCheck& stop) {
    return stoppable(stop, [&](const auto& stops) {
        return evaluation(std::move(source)).validate(stops, progress, tokenizer);
    });
}

std::vector<double> Inference::scores(const data::ChoiceRows& rows,
                                      Progress* progress,
                                      const StopCheck& stop) {
    return stoppable(stop, [&](const auto& stops) {
        return score_rows(rows, run_, world_, model_, assembly_, progress, stops);
    });
}

GenerationTimes Inference::generate(const data::TextTokenizer& tokenizer,
                                    const TextSettings& settings,
                                    std::span<const TextPrompt> prompts,
                                    std::int64_t answers,
                                    const TextGenerator::OnText& on_text) {
    return pass([&] {
        TextGenerator generator{run_, assembly_, tokenizer, settings};
        generator.generate(prompts, answers, on_text);
        return generator.times();
    });
}

int Inference::converse(const data::TextTokenizer& tokenizer,
                        const TextSettings& settings,
                        const std::function<int(TextGenerator&)>& work) {
    return pass([&] {
        TextGenerator generator{run_, assembly_, tokenizer, settings};
        return work(generator);
    });
}

}  // namespace ziggurat::train
