#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"
#include "deck/machine/machine.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/working_folder.hpp"
#include "device/built_for.hpp"
#include "layout/counts.hpp"
#include "spec/depths.hpp"
#include "spec/fates.hpp"
#include "spec/home_text.hpp"
#include "spec/recompute_text.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::deck {
namespace {

/// Resolves a budget to bytes; a share becomes a part of `whole`, which `what` describes.
std::int64_t budget(Resolution& resolution,
                    const std::string& path,
                    std::int64_t whole,
                    const std::string& what) {
    const Amount amount = resolution.values.as<Amount>(path);
    if (!amount.is_share) {
        return amount.bytes;
    }
    const auto bytes = static_cast<std::int64_t>(amount.share * static_cast<double>(whole));
    resolution.values.set_resolved(
        path, Amount{.bytes = bytes}, fmt::format("{}B", bytes),
        fmt::format("{} of {} {}", write_share(amount.share), format_bytes(whole), what));
    return bytes;
}

spec::Home home(const Resolution& resolution, const std::string& path) {
    const DeckValue* value = resolution.values.find(path);
    const bool is_given = value != nullptr && std::holds_alternative<spec::Home>(value->data);
    return is_given ? std::get<spec::Home>(value->data) : spec::Home{};
}

/// Resolves the home of gradients that reuse the memory of parameters.
void follow_parameters(Resolution& resolution) {
    constexpr const char* key = "tiers.home.gradients";
    auto& tiers = resolution.run.tiers;
    if (resolution.is_auto("tiers.home.parameters")) {
        resolution.values.set_resolved_keyword(key, "auto", "tiers.reuse: as tiers.home.parameters");
    } else {
        tiers.gradients = tiers.parameters;
        resolution.values.set_resolved(key, tiers.gradients, spec::write_home(tiers.gradients),
                                       "tiers.reuse: as tiers.home.parameters");
    }
}

std::vector<spec::TileRule> tile_rules(Resolution& resolution) {
    const Values& values = resolution.values;
    std::vector<spec::TileRule> rules;
    for (std::int64_t i = 0; i < values.count("tiers.tile"); ++i) {
        const auto path = fmt::format("tiers.tile[{}]", i);
        const auto tiles = [&](const char* along) {
            return values.has(path + along) ? static_cast<int>(values.integer(path + along)) : 1;
        };
        resolution.require(path + ".match", "a rule is for some tensors");
        rules.push_back({.match = values.text(path + ".match"), .in = tiles(".in"), .out = tiles(".out")});
    }
    return rules;
}

/// Resolves the NVMe budget.
///
/// Without a machine file, it is based on the free space of this machine's disks.
void resolve_nvme_budget(Resolution& resolution) {
    spec::Tiers& tiers = resolution.run.tiers;
    const bool is_here = !resolution.options.machine && !resolution.options.as_record;
    const bool is_asked = is_here && !tiers.nvme_paths.empty();
    auto& there = resolution.machine.nvme_bytes;
    there = is_asked ? free_bytes(tiers.nvme_paths) : there;
    tiers.nvme_budget_bytes =
        budget(resolution, "tiers.nvme.budget", there == spec::unknown_space ? 0 : there,
               is_asked ? "free in tiers.nvme.paths" : "of a node");
}

void resolve_home(Resolution& resolution, bool is_auto, const std::string& path, spec::Home& home) {
    if (!is_auto) {
        return;
    }
    const std::string text = spec::write_home(home);
    const DeckValue value = value_of(*deck_schema().find(path), text);
    home = std::get<spec::Home>(value.data);  // rounded as in the effective deck
    const bool has_chunks = resolution.run.tiers.movement == spec::Movement::chunks;
    if (has_chunks && path != "tiers.home.activations") {
        // A deck with chunks can have no other value.
        resolution.values.set_resolved_keyword(path, "auto", "chunks are at home on " + text);
        return;
    }
    resolution.values.set_resolved(path, home, text, "device, then host, then nvme, to their budgets");
}

/// Resolves recomputation after it was chosen; `split` follows it if it is auto.
void resolve_chosen_recomputation(Resolution& resolution, bool is_general_auto) {
    constexpr const char* split = "recompute.split";
    auto& recompute = resolution.run.recompute;
    auto& values = resolution.values;
    if (is_general_auto) {
        values.set_resolved("recompute.kind", {}, spec::keyword_of(recompute.kind),
                            "the minimum that fits the budgets, or the fastest if rates are known");
    }
    close_spacing(resolution);
    recompute.split = values.boolean(split);
    const bool is_any_full = spec::is_any_stage(resolution.run, [](const spec::StageState& of) {
        return of.recompute.kind == spec::RecomputeKind::full;
    });
    if (recompute.split && !is_any_full && values.find(split)->origin.kind == OriginKind::automatic) {
        recompute.split = false;
        values.set_resolved(split, false, "false", "recompute.kind is not full");
    }
}

/// Resolves size and number of NVMe transfers: the measured optimum of the disks, or common values.
void resolve_transfers(Resolution& resolution) {
    constexpr std::int64_t usual_block_bytes = 1 << 20;
    constexpr std::int64_t usual_depth = 32;
    const char* const measured = "measured on this machine by `ziggurat bench io`";
    const char* const not_measured = "not measured yet; `ziggurat bench io` does that";
    Values& values = resolution.values;
    const auto& machine = resolution.machine;
    if (resolution.is_auto("tiers.nvme.block")) {
        const bool is_known = machine.nvme_block_bytes > 0;
        const auto bytes = is_known ? machine.nvme_block_bytes : usual_block_bytes;
        values.set_resolved("tiers.nvme.block", bytes, write_bytes(bytes),
                            is_known ? measured : not_measured);
    }
    if (resolution.is_auto("tiers.nvme.queue_depth")) {
        const bool is_known = machine.nvme_queue_depth > 0;
        resolution.set_resolved_integer("tiers.nvme.queue_depth",
                                        is_known ? machine.nvme_queue_depth : usual_depth,
                                        is_known ? measured : not_measured);
    }
    resolution.run.tiers.nvme_block_bytes = values.integer("tiers.nvme.block");
    resolution.run.tiers.nvme_queue_depth = static_cast<int>(values.integer("tiers.nvme.queue_depth"));
}

/// Returns the chunk size to use before resolve_depths.
///
/// Open homes are split between chunks, so the chunks are small in proportion to the model.
std::int64_t first_chunk(const Resolution& resolution) {
    const spec::RunSpec& run = resolution.run;
    if (!spec::has_auto_home(run)) {
        return spec::chunk_at_rest(run.tiers.device);
    }
    const std::int64_t pieces =
        std::int64_t{run.parallel.tensor_ranks()} * run.parallel.stages * run.sharding.optimizer;
    return spec::usual_chunk(layout::count_parameters(run.model).total / std::max<std::int64_t>(1, pieces));
}

/// Resolves the device.
///
/// Without GPUs, or if they are not wanted, the machine is treated as having no device.
void resolve_device(Resolution& resolution) {
    constexpr const char* key = "tiers.device.kind";
    Values& values = resolution.values;
    spec::MachineSpec& machine = resolution.machine;
    const bool is_wanted = !values.is_keyword(key, "host");
    const bool is_checked = !resolution.options.as_record && !machine.has_device;
    const auto reason = machine.no_device_reason.empty() ? fmt::format("{} has no GPUs", machine.name)
                                                         : machine.no_device_reason;
    if (values.is_keyword(key, "auto")) {
        if (is_checked && machine.is_device_broken && device::has_cuda) {
            resolution.found.add_resource_error(
                values.location(key), "this machine lists GPUs that cannot be used", reason,
                "Fix the GPU driver (nvidia-smi shows more), or set tiers.device.kind: "
                "host.");
        } else if (is_checked && !resolution.options.machine &&
                   (machine.is_device_broken || device::has_cuda)) {
            resolution.found.warning(values.location(key), "the host's cores compute, not a GPU", reason,
                                     "Set tiers.device.kind: host if this is intended.");
        }
        values.set_resolved(key, {}, machine.has_device ? "cuda" : "host",
                            machine.has_device ? fmt::format("{} has GPUs", machine.name) : reason);
    } else if (values.is_keyword(key, "cuda") && is_checked) {
        resolution.found.add_resource_error(values.location(key), "there is no GPU to compute with", reason,
                                            "Start on a machine with GPUs, or set tiers.device.kind: host.");
    }
    machine.has_device = machine.has_device && is_wanted;
    resolution.run.tiers.device = machine.has_device ? spec::DeviceKind::cuda : spec::DeviceKind::host;
}

/// Resolves tiers.host.pinned. Without GPUs, pinned memory has no use.
void resolve_pinning(Resolution& resolution) {
    constexpr const char* key = "tiers.host.pinned";
    Values& values = resolution.values;
    const spec::MachineSpec& machine = resolution.machine;
    auto& bytes = resolution.run.tiers.pinned_bytes;
    if (resolution.is_auto(key)) {
        bytes = machine.has_device ? spec::unlimited : 0;
        values.set_resolved(key, {}, machine.has_device ? "all" : "none",
                            machine.has_device ? "GPUs copy it" : "the host's cores compute");
    } else if (values.is_keyword(key, "all") || values.is_keyword(key, "none")) {
        bytes = values.is_keyword(key, "all") ? spec::unlimited : 0;
    } else {
        bytes = budget(resolution, key, machine.host_bytes, "of a node");
    }
}

/// Subtracts the memory of processes from this machine's memory for tiers.
///
/// With a machine file, the deck's shares must leave this memory.
void leave_memory_of_processes(Resolution& resolution, int ranks_on_node) {
    if (!resolution.options.machine && !resolution.options.as_record) {
        auto& machine = resolution.machine;
        // Half of it for a deck that is for more nodes than this one.
        machine.process_bytes =
            std::min(machine.host_bytes / 2, process_bytes(ranks_on_node, machine.host_bytes));
        machine.host_bytes -= machine.process_bytes;
    }
}

}  // namespace

void resolve_tiers(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Tiers& tiers = resolution.run.tiers;
    resolve_device(resolution);
    const int ranks = resolution.run.parallel.ranks_per_node;
    leave_memory_of_processes(resolution, ranks);
    const spec::MachineSpec& machine = resolution.machine;
    if (machine.has_device) {
        const int ranks_on_device = std::max(1, resolution.options.ranks_per_device);
        tiers.device_budget_bytes =
            budget(resolution, "tiers.device.budget", machine.device_bytes / ranks_on_device,
                   ranks_on_device == 1 ? "of a device"
                                        : fmt::format("of a device for each of {} ranks", ranks_on_device));
        tiers.host_budget_bytes = budget(resolution, "tiers.host.budget", machine.host_bytes, "of a node");
    } else {
        // Without GPUs, half of the node's memory serves as device tier, shared by its ranks.
        const std::int64_t half = machine.host_bytes / 2;
        tiers.device_budget_bytes =
            budget(resolution, "tiers.device.budget", half / ranks,
                   (ranks == 1 ? std::string{"for the rank"} : fmt::format("for each of {} ranks", ranks)) +
                       ": half of the node's memory for tiers is the device tier");
        tiers.host_budget_bytes = budget(resolution, "tiers.host.budget", half,
                                         "of a node: the other half of its memory for tiers");
    }
    resolve_pinning(resolution);
    for (const auto& path : resolution.values.as<std::vector<std::string>>("tiers.nvme.paths")) {
        tiers.nvme_paths.push_back(path_from(resolution.values, path));
    }
    resolve_nvme_budget(resolution);
    tiers.nvme_near = values.is_keyword("tiers.nvme.map", "near");
    resolve_transfers(resolution);
    tiers.nvme_verify = values.boolean("tiers.nvme.verify");
    tiers.endurance_bytes =
        values.is_keyword("tiers.nvme.endurance", "none") ? 0 : values.integer("tiers.nvme.endurance");
    tiers.parameters = home(resolution, "tiers.home.parameters");
    tiers.gradients = home(resolution, "tiers.home.gradients");
    tiers.optimizer = home(resolution, "tiers.home.optimizer");
    tiers.reuse = values.boolean("tiers.reuse");
    tiers.activations = home(resolution, "tiers.home.activations");
    // Without a keyword the value is wrong, which is reported.
    tiers.kv_cache = spec::find_tier(values.keyword("tiers.home.kv_cache")).value_or(spec::Tier::device);
    tiers.movement =
        values.is_keyword("tiers.movement", "chunks") ? spec::Movement::chunks : spec::Movement::fixed;
    if (tiers.movement == spec::Movement::chunks) {
        for (const char* key : {"tiers.home.parameters", "tiers.home.gradients", "tiers.home.optimizer"}) {
            if (!values.is_written(key)) {
                values.set_resolved_keyword(key, "auto", "tiers.movement: chunks");
            }
        }
    }
    if (tiers.reuse && !values.is_written("tiers.home.gradients")) {
        follow_parameters(resolution);
    }
    tiers.open.parameters = resolution.is_auto("tiers.home.parameters");
    tiers.open.gradients = resolution.is_auto("tiers.home.gradients");
    tiers.open.optimizer = resolution.is_auto("tiers.home.optimizer");
    tiers.open.activations = resolution.is_auto("tiers.home.activations");
    tiers.chunk_elements =
        resolution.is_auto("tiers.chunk") ? first_chunk(resolution) : values.integer("tiers.chunk");
    tiers.embedding_on_host = values.is_keyword("tiers.operators.embedding", "host");
    tiers.tiles = tile_rules(resolution);
    tiers.sequence_tiles = static_cast<int>(values.integer("tiers.sequence_tiles"));
    tiers.embedding_on_host = values.is_keyword("tiers.operators.embedding", "host");
    tiers.open.tiles = values.is_keyword("tiers.tile", "auto");
    tiers.open.prefetch = tiers.open.tiles && resolution.is_auto("overlap.prefetch");
}

void resolve_auto_homes(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    const bool has_auto =
        spec::has_auto_home(run) || spec::has_auto_recomputation(run) || run.tiers.open.tiles;
    if (!has_auto || !resolution.options.choose_homes) {
        return;
    }
    const spec::AutoHomes open = run.tiers.open;
    const bool is_recomputation_auto = resolution.is_auto("recompute.kind");
    const bool are_fates_auto = resolution.is_auto("recompute.fates");
    run = resolution.options.choose_homes(run, resolution.machine);
    resolve_home(resolution, open.parameters, "tiers.home.parameters", run.tiers.parameters);
    resolve_home(resolution, open.gradients, "tiers.home.gradients", run.tiers.gradients);
    resolve_home(resolution, open.optimizer, "tiers.home.optimizer", run.tiers.optimizer);
    resolve_home(resolution, open.activations, "tiers.home.activations", run.tiers.activations);
    if (open.tiles) {
        std::string text;
        for (const auto& rule : run.tiers.tiles) {
            text += fmt::format("{}{{match: '{}', out: {}}}", text.empty() ? "" : ", ", rule.match, rule.out);
        }
        resolution.values.set_resolved(
            "tiers.tile", {}, text.empty() ? "off" : "[" + text + "]",
            "the minimum that fits the budgets, or up to twice that number for prefetching");
    }
    resolve_chosen_recomputation(resolution, is_recomputation_auto);
    if (are_fates_auto) {
        const bool is_any = !run.recompute.fates.empty();
        resolution.values.set_resolved("recompute.fates", {}, spec::write_fates(run.recompute.fates),
                                       is_any ? "the fastest choice within the budgets"
                                              : "no fates of single activations are known to be faster");
    }
    resolve_chosen_stages(resolution);
    const bool gradients_leave =
        spec::is_any_stage(run, [](const spec::StageState& of) { return of.gradients.device < 1; });
    if (open.reduce && gradients_leave) {
        resolution.values.set_resolved("sharding.reduce", {}, "each_microbatch",
                                       "gradients at home away from the device");
    }
}

}  // namespace ziggurat::deck
