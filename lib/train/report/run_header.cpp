#include "train/report/run_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/text/message.hpp"
#include "base/text/secret.hpp"
#include "base/text/units.hpp"
#include "comm/node_topology.hpp"
#include "layout/context/inner_ring.hpp"
#include "layout/counts.hpp"
#include "layout/node_groups.hpp"
#include "spec/budgets.hpp"
#include "spec/fates.hpp"
#include "spec/home_text.hpp"
#include "spec/objective_text.hpp"
#include "train/ops/throttle.hpp"
#include "train/report/banner.hpp"
#include "train/step/gather_placements.hpp"
#include "train/step/rank_threads.hpp"

extern char** environ;

namespace ziggurat::train {
namespace {

const char* name_of(spec::DType type) {
    return type == spec::DType::f32 ? "fp32" : "bf16";
}

std::string started_line(const std::optional<TimeLimit>& limit) {
    const double now = calendar_seconds();
    const double left = limit ? limit->seconds_left() : 0;
    return format_calendar(now) + (limit ? fmt::format("; {} ends the run in {}, at {}", limit->source(),
                                                       format_duration(left), format_calendar(now + left))
                                         : "");
}

std::string layout_line(const spec::RunSpec& spec) {
    const auto& p = spec.parallel;
    const std::string nodes =
        spec.debug.nodes > 0 ? fmt::format(", on {} emulated nodes", spec.debug.nodes) : "";
    const std::string again =
        spec.sharding.secondary > 0 ? fmt::format(", second copy {}", spec.sharding.secondary) : "";
    return fmt::format(
        "{} rank{} = tensor {} x context {} x data {} x pipeline {}{}{}; sharded over ranks: parameters {}, "
        "gradients {}, optimizer {}{}; recompute {}",
        p.ranks, p.ranks == 1 ? "" : "s", p.tensor_degree(), p.context, p.data_degree(), p.stages,
        layout::describe_axes(p), nodes, spec.sharding.parameters, spec.sharding.gradients,
        spec.sharding.optimizer, again, spec::recomputation_text(spec.recompute));
}

/// Returns the ranks of each node; empty if all ranks are on one node.
std::string nodes_line(const spec::RunSpec& spec,
                       std::span<const RankPlacement> positions,
                       const comm::NodeTopology& nodes) {
    std::vector<std::string> hosts;
    for (std::size_t rank = 0; rank < positions.size() && spec.debug.nodes == 0; ++rank) {
        if (nodes.node_of[rank] == std::ssize(hosts)) {
            hosts.push_back(positions[rank].host);
        }
    }
    const auto text = layout::describe_nodes(spec.parallel, nodes.node_of, hosts);
    return text.empty() ? "" : text + layout::describe_rings(spec);
}

/// Returns the transport of vectors in GPU memory between ranks.
const char* transport_line(spec::Transport transport) {
    switch (transport) {
        case spec::Transport::staged:
            return "staged: transfers between GPUs go through host memory";
        case spec::Transport::nccl:
            return "nccl: transfers between GPUs use NCCL";
    }
    return "unknown";
}

/// Returns the budgets of the tiers, and the home of each state kind.
std::string memory_line(const spec::RunSpec& spec) {
    const auto& tiers = spec.tiers;
    auto text = fmt::format("device {}{} per rank, host {} per node", format_bytes(tiers.device_budget_bytes),
                            tiers.device == spec::DeviceKind::cuda ? " of a GPU" : "",
                            format_bytes(tiers.host_budget_bytes));
    if (!tiers.nvme_paths.empty()) {
        text += fmt::format(", nvme {} per node in {}", format_bytes(tiers.nvme_budget_bytes),
                            fmt::join(tiers.nvme_paths, ", "));
    }
    return text + fmt::format("\nat home: parameters {}, gradients {}, optimizer {}, activations {}",
                              spec::write_home(tiers.parameters), spec::write_home(tiers.gradients),
                              spec::write_home(tiers.optimizer), spec::write_home(tiers.activations));
}

std::string model_line(const spec::RunSpec& spec) {
    const auto& m = spec.model;
    const auto all = layout::count_parameters(m).total;
    const auto trained = layout::count_trained(spec);
    return fmt::format(
        "{} {} layers x {} wide, {} heads, vocabulary {}: {} parameters{}, {:.3g} MFLOP/token ({}), {} "
        "compute",
        m.family, m.layers, m.hidden, m.heads, m.vocab, all,
        trained == all ? "" : fmt::format(" ({} of them trained)", trained),
        layout::flops_per_token(spec) * 1e-6, layout::flops_formula(spec), name_of(spec.precision.compute));
}

/// Returns the peak rate for the utilisation.
std::string peak_line(const Peak& peak) {
    return peak.flops_of_rank > 0 ? fmt::format("{:.1f} GFLOP/s per rank in matrix products ({}); mfu = {}",
                                                peak.flops_of_rank * 1e-9, peak.source, mfu_formula)
                                  : "unknown, so mfu is not reported";
}

std::string data_line(const spec::RunSpec& spec, const data::Corpus& corpus) {
    const auto wanted = static_cast<double>(spec.train.steps * spec.train.global_batch * spec.data.seq);
    return fmt::format(
        "{} training tokens, {} for validation; {} steps x {} sequences x {} tokens = {:.3g} tokens ({:.2f} "
        "epochs)",
        corpus.num_training_tokens(), corpus.num_validation_tokens(), spec.train.steps,
        spec.train.global_batch, spec.data.seq, wanted,
        wanted / static_cast<double>(corpus.num_training_tokens()));
}

}  // namespace

void print_run_header(const spec::RunSpec& spec,
                      const RunContext& context,
                      const data::Corpus& corpus,
                      const std::optional<TimeLimit>& limit,
                      const comm::Context& world,
                      Console& console) {
    const auto positions = gather_placements(world, {.host = comm::machine_name(),
                                                     .cores = usable_cores(),
                                                     .threads = spec.parallel.threads,
                                                     .core_limit = control_group_core_limit(),
                                                     .job_cores = context.job_cores});
    const auto nodes = comm::find_nodes(world.group(), spec.debug.nodes);
    if (world.rank() != 0) {
        return;
    }
    std::vector<BannerEntry> entries{
        {"ziggurat", context.version + "\n" + context.libraries},
        {"command", context.command},
        {"started", started_line(limit)},
        {"ranks", describe_places(positions)},
        {"layout", layout_line(spec)},
        {"memory", memory_line(spec) + (context.depths.empty() ? "" : "\nahead: " + context.depths)},
        {"model", model_line(spec)},
        {"peak", peak_line(context.peak)},
        {"data", data_line(spec, corpus)},
        {"run", spec.run.dir},
    };
    if (!context.samples.empty()) {
        entries.insert(entries.end() - 1, {"samples", context.samples});
    }
    if (spec.tiers.device == spec::DeviceKind::cuda && world.size() > 1) {
        const auto model = std::ranges::find(entries, "model", &BannerEntry::label);
        entries.insert(model, {"transport", transport_line(spec.parallel.transport)});
    }
    if (auto text = nodes_line(spec, positions, nodes); !text.empty()) {
        const auto layout = std::ranges::find(entries, "layout", &BannerEntry::label);
        entries.insert(layout + 1, {"nodes", std::move(text)});
    }
    if (auto text = spec::objective_text(spec.train.objective); !text.empty()) {
        entries.insert(std::ranges::find(entries, "data", &BannerEntry::label),
                       {"objective", std::move(text)});
    }
    if (const auto throttle = describe(spec.debug.throttle); !throttle.empty()) {
        entries.push_back({"throttle", throttle + " (debug.throttle)"});
    }
    console.print(banner(entries));
    for (const auto& warning : oversubscription_warnings(positions)) {
        console.warn(warning);
    }
    for (const auto& note : context.notes) {
        console.print(message(Severity::note, note));
    }
}

std::string environment_text(const std::string& version,
                             const std::string& libraries,
                             const std::string& command,
                             const Peak& peak) {
    std::string text =
        fmt::format("{}\n{}\ncommand: {}\nhost: {}\nstarted: {}\npeak: {}\n", version, libraries, command,
                    comm::machine_name(), format_calendar(calendar_seconds()), peak_line(peak));
    for (char** variable = environ; *variable != nullptr; ++variable) {
        for (const char* prefix :
             {"OMP_", "OMPI_", "SLURM_", "KOKKOS_", "DNNL_", "ZIGGURAT_", "CUDA_", "CUDNN_", "NCCL_"}) {
            if (std::strncmp(*variable, prefix, std::strlen(prefix)) == 0) {
                text += without_secret(*variable);
                text += '\n';
            }
        }
    }
    return text;
}

RunFacts run_facts(const spec::RunSpec& spec, const std::string& version) {
    RunFacts made;
    made.name = spec.run.name;
    made.version = version;
    made.ranks = spec.parallel.ranks;
    made.threads = spec.parallel.threads;
    made.steps = spec.train.steps;
    made.parameters = layout::count_parameters(spec.model).total;
    made.tokens_per_step = spec.train.global_batch * spec.data.seq;
    made.flops_per_token = layout::flops_per_token(spec);
    made.seed = spec.run.seed;
    made.objective = spec::word_of(spec.train.objective.kind);
    made.budget_bytes = spec::budgets_of_rank(spec);
    return made;
}

}  // namespace ziggurat::train
