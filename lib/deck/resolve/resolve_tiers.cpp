#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "deck/machine/machine.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/values/reader.hpp"
#include "layout/counts.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::deck {
namespace {

/// Bytes of a budget; a share becomes a part of `whole`, which `what` describes.
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

/// Without a described machine, the disks are those of this one, as full as they are.
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

void resolve_home(Resolution& resolution, bool is_open, const std::string& path, spec::Home& home) {
    if (!is_open) {
        return;
    }
    const std::string text = spec::write_home(home);
    const DeckValue value = value_of(*deck_schema().find(path), text);
    home = std::get<spec::Home>(value.data);  // as the effective deck says it
    resolution.values.set_resolved(path, home, text, "device, then host, then nvme, to their budgets");
}

/// Size and number of transfers at a time: what the disks were found to do best, or what most do well.
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

/// Until resolve_depths resolves it. Where homes are open they are cut between chunks, so these are small as
/// the model is.
std::int64_t first_chunk(const Resolution& resolution) {
    const spec::RunSpec& run = resolution.run;
    if (!run.tiers.open.any()) {
        return spec::chunk_at_rest;
    }
    const std::int64_t pieces =
        std::int64_t{run.parallel.tensor} * run.parallel.stages * run.sharding.optimizer;
    return spec::usual_chunk(layout::count_parameters(run.model).total / std::max<std::int64_t>(1, pieces));
}

}  // namespace

void resolve_tiers(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Tiers& tiers = resolution.run.tiers;
    const spec::MachineSpec& machine = resolution.machine;
    const int ranks = resolution.run.parallel.ranks_per_node;
    if (machine.has_device) {
        tiers.device_budget_bytes =
            budget(resolution, "tiers.device.budget", machine.device_bytes, "of a device");
        tiers.host_budget_bytes = budget(resolution, "tiers.host.budget", machine.host_bytes, "of a node");
    } else {
        // Without GPUs one half of the node's memory plays the device tier, shared by its ranks.
        const std::int64_t half = machine.host_bytes / 2;
        tiers.device_budget_bytes =
            budget(resolution, "tiers.device.budget", half / ranks,
                   (ranks == 1 ? std::string{"for the rank"} : fmt::format("for each of {} ranks", ranks)) +
                       ": half of the node's memory is the device tier");
        tiers.host_budget_bytes =
            budget(resolution, "tiers.host.budget", half, "of a node: the other half of its memory");
    }
    tiers.nvme_paths = values.as<std::vector<std::string>>("tiers.nvme.paths");
    resolve_nvme_budget(resolution);
    tiers.nvme_near = values.is_word("tiers.nvme.map", "near");
    resolve_transfers(resolution);
    tiers.nvme_verify = values.truth("tiers.nvme.verify");
    tiers.endurance_bytes =
        values.is_word("tiers.nvme.endurance", "none") ? 0 : values.integer("tiers.nvme.endurance");
    tiers.parameters = home(resolution, "tiers.home.parameters");
    tiers.gradients = home(resolution, "tiers.home.gradients");
    tiers.optimizer = home(resolution, "tiers.home.optimizer");
    tiers.activations = home(resolution, "tiers.home.activations");
    tiers.open.parameters = resolution.is_auto("tiers.home.parameters");
    tiers.open.gradients = resolution.is_auto("tiers.home.gradients");
    tiers.open.optimizer = resolution.is_auto("tiers.home.optimizer");
    tiers.open.activations = resolution.is_auto("tiers.home.activations");
    tiers.movement =
        values.is_word("tiers.movement", "chunks") ? spec::Movement::chunks : spec::Movement::fixed;
    tiers.chunk_elements =
        resolution.is_auto("tiers.chunk") ? first_chunk(resolution) : values.integer("tiers.chunk");
    tiers.tiles = tile_rules(resolution);
    tiers.open.tiles = values.is_word("tiers.tile", "auto");
    tiers.open.prefetch = tiers.open.tiles && resolution.is_auto("overlap.prefetch");
}

void resolve_open_homes(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    if (!(run.tiers.open.any() || run.tiers.open.tiles) || !resolution.options.choose_homes) {
        return;
    }
    const spec::OpenHomes open = run.tiers.open;
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
            "the fewest that fit the budgets, or up to twice as many to fetch ahead");
    }
    if (open.reduce && run.tiers.gradients.device < 1) {
        resolution.values.set_resolved("sharding.reduce", {}, "each_microbatch",
                                       "gradients at home away from the device");
    }
}

}  // namespace ziggurat::deck
