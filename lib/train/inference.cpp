#include "train/inference.hpp"

#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "data/corpus.hpp"
#include "schedule/build_program.hpp"
#include "train/choice_scores.hpp"
#include "train/ops/late_failure.hpp"
#include "train/save/held_pieces.hpp"

namespace ziggurat::train {
namespace {

/// Returns programs whose training program is also the evaluation program.
///
/// Without a backward pass, memory then holds only the parameters and one forward pass.
Programs forward_alone(const spec::RunSpec& run, int world_rank) {
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
        trained.sharding.parameters > 1 || trained.parallel.tensor > 1 || trained.parallel.stages > 1;
    const int span = is_cut ? unchanged.ranks : 1;
    run.sharding = {};
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = span;
    run.sharding.sum_group = unchanged.ranks;
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

ValidationLoss Inference::loss(data::BatchSource source,
                               Progress* progress,
                               const data::TextTokenizer* tokenizer) {
    return pass([&] { return evaluation(std::move(source)).validate({}, progress, tokenizer).value(); });
}

std::vector<double> Inference::scores(const data::ChoiceSequences& sequences, Progress* progress) {
    ZG_EXPECTS(run_.data.reset_at_document);  // otherwise some kernels attend across documents
    return pass([&] { return score_rows(sequences, run_, world_, model_, assembly_, progress); });
}

std::string Inference::generate(const data::TextTokenizer& tokenizer,
                                const spec::Sample& sample,
                                std::int64_t step,
                                const TextLimits& limits) {
    spec::Data no_data = run_.data;
    no_data.train.clear();
    no_data.validation.clear();
    const data::Corpus nothing{no_data, run_.model.vocab, run_.run.seed};
    return pass(
        [&] { return evaluation(nothing.validation(0)).generate(tokenizer, sample, step, limits).value(); });
}

}  // namespace ziggurat::train
