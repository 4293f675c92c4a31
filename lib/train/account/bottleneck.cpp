#include "train/account/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/units.hpp"
#include "spec/budgets.hpp"
#include "spec/home_text.hpp"
#include "train/account/accounting_links.hpp"
#include "train/account/step_report.hpp"

namespace ziggurat::train {
namespace {

using schedule::Link;
using schedule::PayloadKind;
using spec::Tier;

constexpr double min_share_named = 0.15;    ///< of the time in steps: less is not worth acting on
constexpr double min_home_worth_it = 0.02;  ///< of a state kind: less is not suggested
constexpr double busy_all_the_time = 0.8;
constexpr double seconds_per_day = 86400;

/// Mean times of one step over the ranks.
struct StepTimes {
    double step = 0;
    double compute = 0;
    EnumArray<Stall, double, num_stalls> stall{};
};

std::optional<Stall> stall_of(std::string_view activity) {
    for (int stall = 0; stall < num_stalls; ++stall) {
        if (activity == names_of(static_cast<Stall>(stall)).activity) {
            return static_cast<Stall>(stall);
        }
    }
    return std::nullopt;
}

bool is_computing(std::string_view activity) {
    constexpr std::array<std::string_view, 7> names{
        "Forward", "Backward", "Recompute", "Loss", "Optimizer", "Gradient norm", "Zero-fill and accumulate"};
    return std::ranges::find(names, activity) != names.end();
}

StepTimes step_times(std::span<const AccountRecord> ranks) {
    StepTimes times;
    const auto scale = 1 / (static_cast<double>(ranks.size()) *
                            static_cast<double>(std::max<std::int64_t>(ranks.front().steps(), 1)));
    for (const auto& record : ranks) {
        times.step += scale * record.wall_seconds;
        for (const auto& activity : record.activities) {
            if (activity.part == Part::between_steps) {
                times.step -= scale * activity.seconds;
            } else if (const auto stall = stall_of(activity.name)) {
                times.stall[*stall] += scale * activity.seconds;
            } else if (is_computing(activity.name)) {
                times.compute += scale * activity.seconds;
            }
        }
    }
    return times;
}

const char* name_of_limit(Stall stall) {
    constexpr EnumArray<Stall, const char*, num_stalls> names{
        "reading the batch",          "collectives", "the pipeline", "copies from host to device",
        "copies from device to host", "NVMe reads",  "NVMe writes",  "the optimizer on the host"};
    return names[stall];
}

bool is_of_disk(Link link) {
    return link == Link::nvme_read || link == Link::nvme_write;
}

double throttle_of(const spec::Throttle& throttle, Link link) {
    const EnumArray<Link, double> rates{throttle.nvme_read, throttle.nvme_write, throttle.host_to_device,
                                        throttle.device_to_host};
    return rates[link];
}

/// Returns a text such as `{device: 12%, host: 30%, nvme: rest}`.
std::string home_text(const spec::ByTier<double>& shares) {
    std::string text;
    for (std::size_t tier = 0; tier < 3; ++tier) {
        const int percent = static_cast<int>(100 * shares[tier] + 1e-9);
        if (shares[tier] <= 0 || (percent == 0 && tier < 2)) {
            continue;
        }
        const bool is_last = std::all_of(shares.begin() + static_cast<std::ptrdiff_t>(tier) + 1, shares.end(),
                                         [](double share) { return share <= 0; });
        if (is_last && text.empty()) {
            return spec::tier_names[tier];
        }
        text += fmt::format("{}{}: {}", text.empty() ? "{" : ", ", spec::tier_names[tier],
                            is_last ? "rest" : fmt::format("{}%", percent));
    }
    return text + "}";
}

/// Returns the cargo with the most traffic over `link`, of those at home in a tier slower than `to`.
PayloadKind heaviest(const BottleneckFacts& facts, Link link, Tier to) {
    const auto away = [&](std::size_t payload) {
        const auto& home = facts.at_home[payload];
        return home[2] + (to == Tier::device ? home[1] : 0);
    };
    std::size_t max = 0;
    for (std::size_t payload = 1; payload < facts.moved.size(); ++payload) {
        const bool moves_more = facts.moved[payload][link] > facts.moved[max][link];
        max = away(payload) > 0 && (away(max) == 0 || moves_more) ? payload : max;
    }
    return static_cast<PayloadKind>(max);
}

/// Suggests a larger share of that cargo in the next faster tier, within the budget of that tier.
std::string nearer_home(const BottleneckFacts& facts, Link link, double bytes_per_second, double waited) {
    const auto to = is_of_disk(link) ? Tier::host : Tier::device;
    const auto payload = heaviest(facts, link, to);
    const auto& home = facts.at_home[payload];
    const auto t = static_cast<std::size_t>(to);
    const auto away = home[2] + (to == Tier::device ? home[1] : 0);
    if (away <= 0) {
        return {};
    }
    const char* tier = to == Tier::device ? "device" : "host";
    const auto all = static_cast<double>(home[0] + home[1] + home[2]);
    const auto room = std::clamp<std::int64_t>(facts.budget_bytes[t] - facts.reserved_bytes[t], 0, away);
    const double gained = static_cast<double>(room) / all;
    if (gained < min_home_worth_it) {
        return fmt::format("the {} budget has no room for more of tiers.home.{}", tier, to_string(payload));
    }
    spec::ByTier<double> shares{};
    auto taken = room;
    for (std::size_t from = t + 1; from < 3; ++from) {
        const auto unchanged = std::min(taken, home[from]);
        shares[from] = static_cast<double>(home[from] - unchanged) / all;
        taken -= unchanged;
    }
    shares[0] = static_cast<double>(home[0]) / all;
    shares[t] = static_cast<double>(home[t]) / all + gained;
    auto text =
        fmt::format("tiers.home.{}: {} fits the {} budget", to_string(payload), home_text(shares), tier);
    if (bytes_per_second > 0) {
        const auto moved = facts.moved[payload][link];
        const double bytes =
            static_cast<double>(room) / static_cast<double>(away) * static_cast<double>(moved);
        text += fmt::format(" and saves up to {} per step",
                            format_duration(std::min(waited, bytes / bytes_per_second)));
    }
    return text;
}

/// Returns suggestions for a run that a link limits.
std::string relief_of_link(const BottleneckFacts& facts, Link link, const LinkSum& use, double waited) {
    if (const double rate = throttle_of(facts.throttle, link); rate > 0) {
        return fmt::format("debug.throttle limits it to {}/s", format_bytes(static_cast<std::int64_t>(rate)));
    }
    std::string text = nearer_home(facts, link, use.bytes_per_second, waited);
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
    if (use.busy_share < busy_all_the_time && link != Link::nvme_write) {
        add(fmt::format("the lane is busy {:.0f}% of the time, so overlap.prefetch above {} may help",
                        100 * use.busy_share, facts.prefetch));
    }
    const auto parameters = facts.moved[PayloadKind::parameters][link];
    if (facts.microbatches > 1 && parameters > 0 && link != Link::nvme_write) {
        if (facts.may_run_by_layer) {
            add(fmt::format("train.accumulate: by_layer moves parameters for all {} micro-batches at once",
                            facts.microbatches));
        }
        add("half the micro-batches at twice the size move parameters half as often");
    }
    add(is_of_disk(link) ? "more nodes, more disks in tiers.nvme.paths or faster disks shorten the rest"
                         : "more ranks shorten the rest");
    return text;
}

std::string relief_of(Stall stall, const BottleneckFacts& facts) {
    switch (stall) {
        case data_stall:
            return "put the data on a faster file system";
        case Stall::collective:
            return fmt::format(
                "a larger train.global_batch per exchange, {}or ranks of equal speed",
                facts.gathers_parameters ? "a lower sharding.zero where memory allows it, " : "");
        case Stall::channel:
            return "more micro-batches fill the pipeline";
        case Stall::host_optimizer:
        case Stall::host_to_device:
        case Stall::device_to_host:
        case Stall::nvme_read:
        case Stall::nvme_write:
        case Stall::step_end:
            break;
    }
    return "more cores for it, more ranks, or a larger share of tiers.home.optimizer on the device";
}

}  // namespace

BottleneckFacts bottleneck_facts(const spec::RunSpec& spec, const schedule::Program& program) {
    BottleneckFacts facts;
    facts.budget_bytes = spec::budgets_of_rank(spec);
    for (const auto tier : {Tier::device, Tier::host, Tier::nvme}) {
        facts.reserved_bytes[tier] = program.tier_bytes(tier);
    }
    facts.moved = schedule::bytes_by_payload(program);
    facts.at_home = schedule::bytes_at_home(program);
    facts.microbatches = spec.train.is_by_layer() ? 1 : spec.train.micro_batches;
    facts.may_run_by_layer =
        facts.microbatches > 1 && spec.parallel.stages * spec.parallel.chunks_per_stage == 1;
    facts.gathers_parameters = spec.sharding.parameters > 1;
    facts.prefetch = spec.overlap.prefetch;
    facts.num_paths = static_cast<int>(spec.tiers.nvme_paths.size());
    facts.nodes = std::max(1, spec.parallel.ranks / std::max(spec.parallel.ranks_per_node, 1));
    facts.endurance_bytes = spec.tiers.endurance_bytes;
    facts.throttle = spec.debug.throttle;
    return facts;
}

std::string bottleneck_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts) {
    if (ranks.empty() || ranks.front().steps() == 0) {
        return {};
    }
    const auto times = step_times(ranks);
    const auto longest = std::ranges::max_element(times.stall);
    const auto share = [&](double seconds) { return times.step > 0 ? 100 * seconds / times.step : 0; };
    if (*longest < min_share_named * times.step) {
        return fmt::format(
            "Compute-bound: {} of {} ({:.0f}%); longest stall {} ({}). More ranks or faster cores help; "
            "faster links do not.",
            format_duration(times.compute), format_duration(times.step), share(times.compute),
            format_duration(*longest), names_of(static_cast<Stall>(longest - times.stall.begin())).activity);
    }
    const auto stall = static_cast<Stall>(longest - times.stall.begin());
    auto text = fmt::format("Bound by {}: {} of {} ({:.0f}%) stalled", name_of_limit(stall),
                            format_duration(*longest), format_duration(times.step), share(*longest));
    const auto link = link_of(stall);
    const auto sums = link_sums(ranks);
    const auto use = std::ranges::find_if(
        sums, [&](const LinkSum& sum) { return link && sum.worst.link == to_string(*link); });
    if (use == sums.end()) {
        return text + ". Suggestions: " + relief_of(stall, facts) + ".";
    }
    text += fmt::format(", {} per step and rank at {}/s",
                        format_bytes(use->worst.planned_bytes / use->worst.steps),
                        format_bytes(static_cast<std::int64_t>(use->bytes_per_second)));
    return text + ". Suggestions: " + relief_of_link(facts, *link, *use, *longest) + ".";
}

std::string wear_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts) {
    double bytes = 0, seconds = 0;
    for (const auto& record : ranks) {
        seconds = std::max(seconds, record.wall_seconds);
        for (const auto& use : record.links) {
            bytes += use.link == to_string(Link::nvme_write) ? static_cast<double>(use.timed_bytes) : 0;
        }
    }
    if (bytes <= 0 || seconds <= 0 || facts.num_paths == 0) {
        return {};
    }
    const double per_day = bytes / seconds * seconds_per_day / (facts.nodes * facts.num_paths);
    auto text = fmt::format("NVMe wear: {} per day written to each path",
                            format_bytes(static_cast<std::int64_t>(per_day)));
    if (facts.endurance_bytes > 0) {
        text +=
            fmt::format("; tiers.nvme.endurance of {} lasts {:.1f} days", format_bytes(facts.endurance_bytes),
                        static_cast<double>(facts.endurance_bytes) / per_day);
    }
    return text;
}

}  // namespace ziggurat::train
