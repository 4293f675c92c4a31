/// Times whole steps whose state is in several tiers, and the parts of such a step alone.
///
///   mpirun -n 2 perf_tiers --nvme DIR [--layers 8] [--hidden 1024] [--vocab 16384] [--seq 512]
///     [--parameters nvme] [--gradients nvme] [--optimizer nvme] [--activations host] ...
///
/// The floor of a step is max(F+B+C, IOp) + max(U, IOo): computations need cores, transfers need the disk,
/// and the optimizer runs after the passes. All parts are measured alternately in this run, each over some
/// steps; medians of rounds. Prints a table and one JSON line; `over_floor` is step time over floor,
/// `disk_idle` the share of a whole step in which the node's disk was idle although a transfer was ready.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.2 (overlap-centric design)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "comm/session/session.hpp"
#include "kernels/launch/runtime.hpp"
#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "perf/options.hpp"
#include "perf/tiers/disk_idle.hpp"
#include "perf/tiers/partial_programs.hpp"
#include "plan/search/choose_depths.hpp"
#include "train/step/assembly.hpp"

namespace {

using namespace ziggurat;
using perf::Part;

struct Choice {
    std::vector<std::string> nvme;
    std::int64_t layers = 8, hidden = 1024, vocab = 16384, seq = 512, micro_batch = 2, micro_batches = 1;
    std::int64_t head_dim = 64, kv_heads = 0, ffn_hidden = 0;  // 0: the number of heads, 8/3 of the width
    std::string parameters = "nvme", gradients = "nvme", optimizer = "nvme", activations = "host";
    std::string recompute = "full";
    std::int64_t chunk_mib = 16, block_kib = 1024;
    int depth = 32, prefetch = -1, optimizer_prefetch = -1, threads = 1, steps = 3, rounds = 5;
    bool one_by_one = false;
};

Choice parse(int argc, char** argv) {
    Choice choice;
    const auto homes = perf::one_of({"device", "host", "nvme"});
    perf::Options options{"Times steps of tiered state beside their parts."};
    options.add("--nvme", choice.nvme, {}, "folders, one for each disk, with commas");
    options.add("--layers", choice.layers);
    options.add("--hidden", choice.hidden, {}, "a multiple of --head-dim");
    options.add("--head-dim", choice.head_dim);
    options.add("--kv-heads", choice.kv_heads, {}, "0: as many as heads");
    options.add("--ffn-hidden", choice.ffn_hidden, {}, "0: 8/3 of the width");
    options.add("--vocab", choice.vocab);
    options.add("--seq", choice.seq);
    options.add("--micro-batch", choice.micro_batch);
    options.add("--micro-batches", choice.micro_batches);
    options.add("--parameters", choice.parameters, homes);
    options.add("--gradients", choice.gradients, homes);
    options.add("--optimizer", choice.optimizer, homes);
    options.add("--activations", choice.activations, homes);
    options.add("--recompute", choice.recompute, perf::one_of({"none", "selective", "full"}));
    options.add("--chunk-mib", choice.chunk_mib, {}, "of fp32");
    options.add("--block-kib", choice.block_kib);
    options.add("--depth", choice.depth);
    options.add("--prefetch", choice.prefetch, {}, "-1: what overlap.prefetch: auto chooses");
    options.add("--optimizer-prefetch", choice.optimizer_prefetch, {}, "-1: what auto chooses");
    options.add("--threads", choice.threads, {}, "of each rank");
    options.add("--steps", choice.steps, perf::between(1, 1000), "in a row");
    options.add_flag(
        "--one-by-one", choice.one_by_one,
        "builds each part when its turn comes and drops it behind it: the disk need not hold all parts");
    options.add("--rounds", choice.rounds, perf::between(1, 1000));
    options.read_or_exit(argc, argv);
    const auto chosen = {choice.parameters, choice.gradients, choice.optimizer, choice.activations};
    if (choice.nvme.empty() && std::ranges::count(chosen, "nvme") > 0) {
        std::fprintf(stderr, "%s: --nvme is needed, where a home is nvme\n", argv[0]);
        std::exit(2);
    }
    return choice;
}

spec::Home home_of(const std::string& name) {
    return {name == "device" ? 1.0 : 0.0, name == "host" ? 1.0 : 0.0, name == "nvme" ? 1.0 : 0.0};
}

/// Returns the spec of a Llama with all state sharded over all ranks.
spec::RunSpec spec_of(const Choice& choice, int ranks) {
    spec::RunSpec run;
    auto& m = run.model;
    m.family = "llama";
    m.layers = choice.layers;
    m.hidden = choice.hidden;
    m.heads = choice.hidden / choice.head_dim;
    m.kv_heads = choice.kv_heads > 0 ? choice.kv_heads : m.heads;
    m.head_dim = choice.head_dim;
    m.ffn_hidden = choice.ffn_hidden > 0 ? choice.ffn_hidden : (choice.hidden * 8 / 3 + 63) / 64 * 64;
    m.vocab = m.vocab_padded = choice.vocab;
    m.max_seq = run.data.seq = choice.seq;
    m.tie_embeddings = false;
    run.train.steps = 1 << 20;
    run.train.micro_batch = choice.micro_batch;
    run.train.micro_batches = choice.micro_batches;
    run.train.global_batch = choice.micro_batch * choice.micro_batches * ranks;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = ranks;
    run.parallel.threads = choice.threads;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    run.sharding.sum_group = ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.precision.compute = spec::DType::bf16;
    run.recompute.kind = choice.recompute == "none"        ? spec::RecomputeKind::none
                         : choice.recompute == "selective" ? spec::RecomputeKind::selective
                                                           : spec::RecomputeKind::full;
    auto& tiers = run.tiers;
    tiers.chunk_elements = choice.chunk_mib << 18;
    tiers.nvme_block_bytes = choice.block_kib << 10;
    tiers.nvme_queue_depth = choice.depth;
    tiers.nvme_paths = choice.nvme;
    tiers.parameters = home_of(choice.parameters);
    tiers.gradients = home_of(choice.gradients);
    tiers.optimizer = home_of(choice.optimizer);
    tiers.activations = home_of(choice.activations);
    run.overlap.prefetch = choice.prefetch;
    run.overlap.optimizer_prefetch = choice.optimizer_prefetch;
    const auto depths = plan::choose_depths(
        run, {}, {.prefetch = choice.prefetch < 0, .optimizer_prefetch = choice.optimizer_prefetch < 0});
    run.overlap.prefetch = depths.prefetch;
    run.overlap.optimizer_prefetch = depths.optimizer_prefetch;
    return run;
}

/// Fills `slots` with random tokens.
void fill(const spec::RunSpec& run, std::span<const train::BatchSlot> slots) {
    std::mt19937 random{7};
    for (const auto& slot : slots) {
        for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
            slot.tokens[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(run.model.vocab));
            slot.targets[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(run.model.vocab));
            slot.mask[i] = 1;
            slot.document_starts[i] = 0;
            slot.positions[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % run.data.seq);
        }
    }
}

/// An assembly whose trainer does one part of the step.
class Measured {
  public:
    Measured(const spec::RunSpec& run,
             const train::Programs& programs,
             Part part,
             const comm::Context& world,
             const device::RankDevices& devices)
        : run_{run},
          world_{world},
          assembly_{run, {perf::only(programs.train, part), programs.evaluate}, world, devices} {
        fill(run_, assembly_.train_slots());
    }

    /// Returns the seconds per step over `steps` steps, between barriers of all ranks.
    double seconds(int steps) {
        MPI_Barrier(world_.group().native());
        const auto begin = monotonic_ns();
        for (int i = 0; i < steps; ++i, ++step_) {
            assembly_.step_inputs() = optim::make_step_inputs(
                run_.optimizer, {},
                optim::learning_rate(run_.schedule, run_.optimizer.lr, run_.train.steps, step_), step_,
                step_ + 1, run_.train.global_batch * run_.data.seq);
            assembly_.train_executor().run_step();
            begun_ns_ = {begun_ns_[1], assembly_.train_executor().step_began_ns()};
        }
        assembly_.train_executor().finish();
        MPI_Barrier(world_.group().native());
        return seconds_between(begin, monotonic_ns()) / steps;
    }

    /// Returns the idle share of the last step but one that seconds() ran.
    double disk_idle() const {
        const auto [begin_ns, end_ns] = begun_ns_;
        return perf::idle_disk_seconds(assembly_.times(), step_ - 2, begin_ns, end_ns) /
               seconds_between(begin_ns, end_ns);
    }

  private:
    spec::RunSpec run_;
    comm::Context world_;
    train::Assembly assembly_;
    std::int64_t step_ = 0;
    std::array<std::int64_t, 2> begun_ns_{};  ///< start times of the last two steps
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const auto n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int measure(const Choice& choice) {
    const comm::Session session{nullptr, nullptr};
    const auto& world = session.world();
    const auto run = spec_of(choice, world.size());
    const kernels::Runtime runtime{choice.threads};
    const auto devices = device::RankDevices::of_host(choice.threads);
    const auto programs = train::build_programs(run, world.rank());

    std::map<Part, std::unique_ptr<Measured>> parts;
    const auto build = [&](Part part) {
        parts[part] = std::make_unique<Measured>(run, programs, part, world, devices);
        parts[part]->seconds(2);  // maps memory, loads code
    };
    std::vector<Part> present;
    for (const auto part : perf::all_parts) {
        if (part == Part::whole || !perf::only(programs.train, part).ops.empty()) {
            present.push_back(part);
        }
    }
    if (!choice.one_by_one) {
        std::ranges::for_each(present, build);
    }
    std::map<Part, std::vector<double>> times;
    std::vector<double> over_floor, disk_idle;
    const auto floor_of = [](const auto& time) {
        return std::max(time(Part::passes) + time(Part::copies), time(Part::parameters)) +
               std::max(time(Part::update), time(Part::optimizer));
    };
    for (int round = 0; round < choice.rounds; ++round) {
        for (const auto part : present) {
            if (choice.one_by_one) {
                parts.clear();
                build(part);
            }
            times[part].push_back(parts[part]->seconds(choice.steps));
            if (part == Part::whole) {
                disk_idle.push_back(parts[part]->disk_idle());
            }
        }
        const auto now = [&](Part part) { return times[part].empty() ? 0.0 : times[part].back(); };
        over_floor.push_back(now(Part::whole) / floor_of(now));
    }
    if (world.rank() != 0) {
        return 0;
    }
    const auto time = [&](Part part) { return times[part].empty() ? 0.0 : median(times[part]); };
    nlohmann::json line{{"measurement", "tiers"},
                        {"ranks", world.size()},
                        {"layers", choice.layers},
                        {"hidden", choice.hidden},
                        {"vocab", choice.vocab},
                        {"tokens", run.train.global_batch * run.data.seq},
                        {"homes", choice.parameters + " " + choice.gradients + " " + choice.optimizer + " " +
                                      choice.activations},
                        {"prefetch", run.overlap.prefetch},
                        {"optimizer_prefetch", run.overlap.optimizer_prefetch}};
    fmt::print("prefetch {}, optimizer states {}\n", run.overlap.prefetch, run.overlap.optimizer_prefetch);
    fmt::print("{:<6} {:>9}\n", "part", "ms/step");
    for (const auto part : perf::all_parts) {
        fmt::print("{:<6} {:>9.1f}\n", perf::name_of(part), time(part) * 1e3);
        line["seconds"][perf::name_of(part)] = time(part);
    }
    const auto read = perf::bytes_moved(programs.train, schedule::OpKind::read);
    const auto written = perf::bytes_moved(programs.train, schedule::OpKind::write);
    fmt::print("rank 0 reads {:.1f} MB and writes {:.1f} MB of NVMe per step\n", double(read) * 1e-6,
               double(written) * 1e-6);
    line["nvme_read_bytes"] = read;
    line["nvme_written_bytes"] = written;
    line["floor_seconds"] = floor_of(time);
    line["over_floor"] = median(over_floor);
    line["disk_idle"] = median(disk_idle);
    fmt::print(
        "floor {:.1f} ms; step over floor {:.3f}; disk idle while a transfer was ready {:.1f} % (medians of "
        "{} rounds)\n",
        floor_of(time) * 1e3, median(over_floor), 100 * median(disk_idle), choice.rounds);
    fmt::print("{}\n", line.dump());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return measure(parse(argc, argv));
}
