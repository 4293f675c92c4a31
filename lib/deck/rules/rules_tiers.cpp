#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "deck/messages/missing_path.hpp"
#include "deck/rules/rules.hpp"
#include "spec/depths.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the keys of homes, general and per stage.
std::vector<std::string> home_keys(const Values& values) {
    std::vector<std::string> keys;
    const auto add = [&](const std::string& map) {
        for (const char* kind : {".parameters", ".gradients", ".optimizer", ".activations"}) {
            keys.push_back(map + kind);
        }
    };
    add("tiers.home");
    for (std::int64_t stage = 0; stage < values.count("parallel.pipeline.each"); ++stage) {
        add(fmt::format("parallel.pipeline.each[{}].home", stage));
    }
    return keys;
}

void nvme_homes_have_folders(const Resolution& at) {
    for (const auto& key : home_keys(at.values)) {
        const auto* value = at.values.find(key);
        const auto* home = value == nullptr ? nullptr : std::get_if<spec::Home>(&value->data);
        if (home != nullptr && home->nvme > 0 && at.run.tiers.nvme_paths.empty()) {
            at.found.error(at.values.location(key), fmt::format("{} is on nvme", key),
                           "tiers.nvme.paths names no folder", "Name one for each disk.");
        }
    }
    if (at.run.tiers.kv_cache == spec::Tier::nvme && at.run.tiers.nvme_paths.empty()) {
        at.found.error(at.values.location("tiers.home.kv_cache"), "tiers.home.kv_cache is on nvme",
                       "tiers.nvme.paths names no folder", "Name one for each disk.");
    }
}

void chunks_choose_their_homes(const Resolution& at) {
    if (at.run.tiers.movement != spec::Movement::chunks) {
        return;
    }
    for (const auto& key : home_keys(at.values)) {
        const bool moves_by_chunk = !key.ends_with(".activations");
        if (moves_by_chunk && at.values.is_written(key) && !at.is_auto(key)) {
            at.found.error(at.values.location(key), fmt::format("{} is not auto", key),
                           "tiers.movement: chunks chooses the tier of each chunk",
                           "Remove it, or set tiers.movement: static.");
        }
    }
}

/// True if a tier of the run is on NVMe, for its state or for its KV cache.
bool uses_nvme(const spec::RunSpec& run) {
    return spec::is_any_state_on_nvme(run) || run.tiers.kv_cache == spec::Tier::nvme;
}

void warn_of_no_effect(const Resolution& at, const std::string& key, const char* reason) {
    at.found.warning(at.values.location(key), fmt::format("{} has no effect", key), reason,
                     "Remove it, or set a key of tiers.home.");
}

void folders_have_residents(const Resolution& at) {
    if (!at.run.tiers.nvme_paths.empty() && !uses_nvme(at.run) && !spec::has_auto_home(at.run)) {
        warn_of_no_effect(at, "tiers.nvme.paths", "no state is at home on nvme");
    }
}

/// Warns about NVMe settings without NVMe state.
///
/// Only values other than defaults count: effective decks have all keys.
void disks_have_residents(const Resolution& at) {
    const auto& tiers = at.run.tiers;
    const auto& throttle = at.run.debug.throttle;
    if (uses_nvme(at.run) || spec::has_auto_home(at.run)) {
        return;
    }
    const spec::Tiers usual;
    const auto& machine = at.machine;
    const auto usual_block = machine.nvme_block_bytes > 0 ? machine.nvme_block_bytes : usual.nvme_block_bytes;
    const auto usual_depth = machine.nvme_queue_depth > 0 ? machine.nvme_queue_depth : usual.nvme_queue_depth;
    const auto usual_budget = static_cast<std::int64_t>(0.9 * static_cast<double>(machine.nvme_bytes));
    const std::array<std::pair<const char*, bool>, 8> settings{
        {{"tiers.nvme.budget", at.values.is_written("tiers.nvme.budget") && tiers.nvme_budget_bytes > 0 &&
                                   tiers.nvme_budget_bytes != usual_budget},
         {"tiers.nvme.map", tiers.nvme_near},
         {"tiers.nvme.verify", !tiers.nvme_verify},
         {"tiers.nvme.endurance", tiers.endurance_bytes > 0},
         {"tiers.nvme.block",
          at.values.is_written("tiers.nvme.block") && tiers.nvme_block_bytes != usual_block},
         {"tiers.nvme.queue_depth",
          at.values.is_written("tiers.nvme.queue_depth") && tiers.nvme_queue_depth != usual_depth},
         {"debug.throttle.nvme_read", throttle.nvme_read > 0},
         {"debug.throttle.nvme_write", throttle.nvme_write > 0}}};
    for (const auto& [key, is_set] : settings) {
        if (is_set) {
            warn_of_no_effect(at, key, "no state is at home on nvme");
        }
    }
}

void links_have_something_to_carry(const Resolution& at) {
    if (spec::has_auto_home(at.run)) {
        return;
    }
    if (!spec::is_any_state_away(at.run)) {
        for (const char* key : {"debug.throttle.host_to_device", "debug.throttle.device_to_host"}) {
            if (at.values.real(key) > 0) {
                warn_of_no_effect(at, key, "all state is at home on the device");
            }
        }
    }
    constexpr const char* ahead = "overlap.optimizer_prefetch";
    if (!spec::are_optimizer_states_on_nvme(at.run) && at.values.is_written(ahead) &&
        at.values.integer(ahead) > 0) {
        warn_of_no_effect(at, ahead, "no optimizer state is at home on nvme");
    }
}

/// Checks that folders exist. With a machine file, this machine is not checked.
void folders_are_there(const Resolution& at) {
    if (at.options.machine) {
        return;
    }
    for (const std::string& path : at.run.tiers.nvme_paths) {
        std::error_code error;
        const bool is_folder = std::filesystem::is_directory(path, error);
        if (!is_folder || ::access(path.c_str(), W_OK) != 0) {
            at.found.add_resource_error(at.values.location("tiers.nvme.paths"),
                                        fmt::format("cannot use {}", in_quotes(path)),
                                        error       ? error.message()
                                        : is_folder ? "it is not writable"
                                                    : "it is not a folder",
                                        "Mount a disk there, or check the path.");
            if (error == std::errc::no_such_file_or_directory) {
                note_where_looked(at.found, at.values.location("tiers.nvme.paths"), path);
            }
        }
    }
}

void folders_differ(const Resolution& at) {
    if (at.options.machine) {
        return;
    }
    std::set<std::filesystem::path> met;
    for (const std::string& path : at.run.tiers.nvme_paths) {
        std::error_code error;
        if (!met.insert(std::filesystem::weakly_canonical(path, error)).second) {
            at.found.error(at.values.location("tiers.nvme.paths"),
                           fmt::format("tiers.nvme.paths names {} twice", in_quotes(path)),
                           "it is one disk, and would get the load of two", "Name it once.");
        }
    }
}

void pinning_has_copies(const Resolution& at) {
    constexpr const char* key = "tiers.host.pinned";
    if (at.run.tiers.device == spec::DeviceKind::host && at.values.is_written(key) &&
        !at.values.is_keyword(key, "none") && !at.values.is_keyword(key, "auto")) {
        at.found.warning(at.values.location(key), fmt::format("{} has no effect", key),
                         "the host's cores compute, and copy nothing to GPUs", "Remove it.");
    }
}

void blocks_are_whole_pages(const Resolution& at) {
    if (at.run.tiers.nvme_block_bytes % 4096 != 0) {
        at.found.error(at.values.location("tiers.nvme.block"),
                       fmt::format("tiers.nvme.block = {} bytes", at.run.tiers.nvme_block_bytes),
                       "disks move multiples of 4 KiB", "Use 1MiB.");
    }
}

void chunks_are_aligned(const Resolution& at) {
    if (at.run.tiers.chunk_elements % 256 != 0) {
        at.found.error(at.values.location("tiers.chunk"),
                       fmt::format("tiers.chunk = {}", at.run.tiers.chunk_elements),
                       "shards begin at multiples of 256 elements", "Use a multiple of 256.");
    }
}

void budgets_hold_something(const Resolution& at) {
    if (at.run.tiers.device_budget_bytes <= 0) {
        at.found.error(at.values.location("tiers.device.budget"), "an empty device budget",
                       "every rank computes in it", "Use a share such as 94%.");
    }
}

/// Returns the reason why gradients cannot reuse the memory of parameters, and the remedy.
///
/// Empty if they can.
std::pair<std::string, const char*> reuse_obstacle(const spec::RunSpec& run) {
    const auto& sharding = run.sharding;
    if (run.precision.compute != spec::DType::bf16 || run.precision.gradient != spec::DType::bf16) {
        return {"reduced gradients are as large as parameters only if both are bf16",
                "Set precision.compute and precision.gradient to bf16, or leave it out."};
    }
    if (run.train.micro_batches > 1) {
        return {fmt::format("a step has {} micro-batches, and each needs the parameters",
                            run.train.micro_batches),
                "Use one micro-batch (train.micro_batch, train.global_batch), or leave it out."};
    }
    const int of_gradients = sharding.reduce == spec::ReducePlan::at_end            ? 1
                             : sharding.reduce == spec::ReducePlan::each_microbatch ? sharding.optimizer
                                                                                    : sharding.gradients;
    if (of_gradients != sharding.parameters) {
        return {fmt::format("the shard degree of parameters is {}, that of reduced gradients {}",
                            sharding.parameters, of_gradients),
                "Use sharding.zero: 3 with sharding.reduce: auto, or leave it out."};
    }
    if (run.overlap.optimizer_with_backward || run.overlap.delayed_update) {
        return {"updates in backward and delayed updates need both at a time",
                "Leave out overlap.optimizer_with_backward and overlap.delayed_update."};
    }
    if (!run.tiers.tiles.empty() || run.tiers.open.tiles) {
        return {"a tile of a gradient is reduced while other tiles of the parameters are in use",
                "Leave out tiers.tile or tiers.reuse."};
    }
    if (run.tiers.parameters.nvme > 0) {
        return {"parameters are at home on nvme, where whole pages are written",
                "Set tiers.home.parameters to device or host, or leave it out."};
    }
    if (run.parallel.stages > 1) {
        return {"the stages of a pipeline have homes of their own", "Use one stage, or leave it out."};
    }
    return {};
}

void reused_memory_can_be(const Resolution& at) {
    if (!at.run.tiers.reuse) {
        return;
    }
    if (const auto [reason, remedy] = reuse_obstacle(at.run); !reason.empty()) {
        at.found.error(at.values.location("tiers.reuse"), "tiers.reuse: true", reason, remedy);
    }
    constexpr const char* key = "tiers.home.gradients";
    if (at.run.tiers.gradients != at.run.tiers.parameters ||
        at.is_auto(key) != at.is_auto("tiers.home.parameters")) {
        at.found.error(at.values.location(key), fmt::format("{} differs from that of parameters", key),
                       "tiers.reuse: true keeps gradients in the memory of parameters", "Remove it.");
    }
}

constexpr std::array rules = {
    Rule{reused_memory_can_be,
         "tiers.reuse tiers.home precision sharding overlap train parallel.pipeline.stages"},
    Rule{chunks_choose_their_homes, "tiers.movement tiers.home"},
    Rule{nvme_homes_have_folders, "tiers.home tiers.nvme.paths parallel.pipeline"},
    Rule{folders_have_residents, "tiers.home tiers.nvme.paths parallel.pipeline"},
    Rule{disks_have_residents, "tiers.home tiers.nvme debug.throttle parallel.pipeline"},
    Rule{links_have_something_to_carry,
         "tiers.home debug.throttle overlap.optimizer_prefetch parallel.pipeline"},
    Rule{folders_are_there, "tiers.nvme.paths"},
    Rule{folders_differ, "tiers.nvme.paths"},
    Rule{pinning_has_copies, "tiers.host.pinned tiers.device.kind"},
    Rule{blocks_are_whole_pages, "tiers.nvme.block"},
    Rule{chunks_are_aligned, "tiers.chunk"},
    Rule{budgets_hold_something, "tiers.device.budget"},
};

}  // namespace

std::span<const Rule> tier_rules() {
    return rules;
}

}  // namespace ziggurat::deck
