#include "app/checkpoint/loaded_weights.hpp"

#include <string_view>

#include "app/output/output_style.hpp"
#include "app/start/rank_processors.hpp"
#include "app/start/require_fit.hpp"
#include "base/error.hpp"
#include "comm/watch/liveness.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::app {

spec::RunSpec evaluated_run(const TrainedModel& model, const std::string& compute, std::int64_t micro_batch) {
    auto run = train::evaluating(model.run, model.here, micro_batch);
    set_compute(run, compute);
    return run;
}

void set_compute(spec::RunSpec& run, const std::string& compute) {
    if (!compute.empty()) {
        run.precision.compute = compute == "fp32" ? spec::DType::f32 : spec::DType::bf16;
    }
}

void set_cache_home(spec::RunSpec& run, const std::string& home) {
    constexpr std::string_view nvme_in = "nvme:";
    if (home.starts_with(nvme_in)) {
        run.tiers.nvme_paths = {home.substr(nvme_in.size())};
        run.tiers.nvme_budget_bytes = spec::unlimited;
        run.tiers.kv_cache = spec::Tier::nvme;
    } else if (!home.empty()) {
        run.tiers.kv_cache = spec::find_tier(home).value();
    }
    if (run.tiers.kv_cache == spec::Tier::nvme && run.tiers.nvme_paths.empty()) {
        throw Error{
            ErrorKind::deck,
            "the KV cache is on NVMe, but the run names no folder for it (tiers.nvme.paths). Name one: "
            "--kv-cache nvme:DIR."};
    }
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
    model.reader.set_progress_callback([&](std::int64_t done, std::int64_t all) {
        check(model.stop);
        progress.is_at(done, all);
    });
    if (!has_read(model, world, [&] { inference.load(model.reader); })) {
        return std::nullopt;
    }
    model.reader.let_go();
    return work(inference, progress);
}

}  // namespace ziggurat::app
