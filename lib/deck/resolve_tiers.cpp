#include <fmt/format.h>

#include "base/units.hpp"
#include "deck/resolve.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::int64_t default_chunk_elements = 4 << 20;

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
    resolution.values.settle(
        path, Amount{.bytes = bytes}, fmt::format("{}B", bytes),
        fmt::format("{} of {} {}", write_share(amount.share), format_bytes(whole), what));
    return bytes;
}

spec::Home home(const Resolution& resolution, const std::string& path) {
    const Value* value = resolution.values.find(path);
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
                   fmt::format("for each of {} ranks: half of the node's memory is the device tier", ranks));
        tiers.host_budget_bytes =
            budget(resolution, "tiers.host.budget", half, "of a node: the other half of its memory");
    }
    tiers.nvme_budget_bytes = budget(resolution, "tiers.nvme.budget", machine.nvme_bytes, "of a node");
    tiers.nvme_paths = values.as<std::vector<std::string>>("tiers.nvme.paths");
    tiers.nvme_near = values.is_word("tiers.nvme.map", "near");
    tiers.nvme_block_bytes = values.integer("tiers.nvme.block");
    tiers.nvme_queue_depth = static_cast<int>(values.integer("tiers.nvme.queue_depth"));
    tiers.nvme_verify = values.truth("tiers.nvme.verify");
    tiers.parameters = home(resolution, "tiers.home.parameters");
    tiers.gradients = home(resolution, "tiers.home.gradients");
    tiers.optimizer = home(resolution, "tiers.home.optimizer");
    tiers.activations = home(resolution, "tiers.home.activations");
    tiers.movement =
        values.is_word("tiers.movement", "chunks") ? spec::Movement::chunks : spec::Movement::fixed;
    if (resolution.is_auto("tiers.chunk")) {
        resolution.settle_integer("tiers.chunk", default_chunk_elements, "16 MiB of fp32");
    }
    tiers.chunk_elements = values.integer("tiers.chunk");
    tiers.tiles = tile_rules(resolution);
}

}  // namespace ziggurat::deck
