#include "app/checkpoint/loaded_weights.hpp"

#include "app/output/output_style.hpp"
#include "app/start/rank_processors.hpp"
#include "app/start/require_fit.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::app {

spec::RunSpec evaluated_run(const TrainedModel& model, const std::string& compute, std::int64_t micro_batch) {
    auto run = train::evaluating(model.run, model.here, micro_batch);
    if (!compute.empty()) {
        run.precision.compute = compute == "fp32" ? spec::DType::f32 : spec::DType::bf16;
    }
    return run;
}

std::optional<int> with_weights(TrainedModel& model,
                                const spec::RunSpec& run,
                                const comm::Context& world,
                                const std::function<int(train::Inference&, Progress&)>& work) {
    int exit_code = 0;
    if (!is_to_fit(world, run, model.machine, exit_code)) {
        return exit_code;
    }
    const RankProcessors devices{run, world};
    world.liveness()->set_hang_timeout(run.run.hang_timeout_seconds);
    Progress progress{show_progress(world.rank() == 0)};
    progress.begin("loads the checkpoint", "bytes");
    train::Inference inference{run, world, devices.all()};
    model.reader.set_progress_callback(
        [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); });
    if (!has_read(model, world, [&] { inference.load(model.reader); })) {
        return std::nullopt;
    }
    model.reader.let_go();
    return work(inference, progress);
}

}  // namespace ziggurat::app
