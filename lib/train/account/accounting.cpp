#include "train/account/accounting.hpp"

#include <nlohmann/json.hpp>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

using Json = nlohmann::json;

Json encode(const PathFlow& flow) {
    return {flow.blocks, flow.bytes, flow.busy_seconds};
}

PathFlow decode_flow(const Json& json) {
    return {json.at(0), json.at(1), json.at(2)};
}

std::string encode(const AccountRecord& record) {
    Json activities = Json::array();
    for (const Activity& activity : record.activities) {
        activities.push_back(
            {activity.name, activity.calls, activity.seconds, activity.part == Part::of_steps});
    }
    Json kernels = Json::array();
    for (const KernelTime& kernel : record.kernels) {
        kernels.push_back({kernel.phase, kernel.direction, kernel.calls, kernel.seconds, kernel.flops});
    }
    Json flows = Json::array();
    for (const Flow& flow : record.flows) {
        flows.push_back({flow.kind, flow.purpose, flow.calls, flow.planned_bytes, flow.moved_bytes,
                         flow.steps, flow.seconds, flow.timed_bytes});
    }
    Json links = Json::array();
    for (const LinkUse& use : record.links) {
        links.push_back({use.link, use.calls, use.planned_bytes, use.moved_bytes, use.steps, use.busy_seconds,
                         use.timed_bytes, use.skipped_bytes, use.redone_bytes});
    }
    Json paths = Json::array();
    for (const NvmePathStats& use : record.paths) {
        paths.push_back({use.path, encode(use.read), encode(use.written)});
    }
    Json causes = Json::array();
    for (const StallCause& cause : record.stall_causes) {
        causes.push_back({cause.lane, cause.name, cause.calls, cause.seconds});
    }
    return Json{{"activities", activities},
                {"kernels", kernels},
                {"flows", flows},
                {"links", links},
                {"paths", paths},
                {"idle_disk_seconds", record.idle_disk_seconds},
                {"memory",
                 {record.memory.reserved,
                  record.memory.resident,
                  {record.memory.process_start, record.memory.process_step, record.memory.process_peak}}},
                {"stall_causes", causes},
                {"steps", {record.first_step, record.last_step, record.excluded_steps}},
                {"tokens", record.tokens},
                {"seconds", {record.wall_seconds, record.excluded_seconds}}}
        .dump();
}

AccountRecord decode(const std::string& text) {
    const Json json = Json::parse(text);
    AccountRecord record;
    for (const Json& row : json.at("activities")) {
        record.activities.push_back(
            {row.at(0), row.at(1), row.at(2), row.at(3).get<bool>() ? Part::of_steps : Part::between_steps});
    }
    for (const Json& row : json.at("kernels")) {
        record.kernels.push_back({row.at(0), row.at(1), row.at(2), row.at(3), row.at(4)});
    }
    for (const Json& row : json.at("flows")) {
        record.flows.push_back(
            {row.at(0), row.at(1), row.at(2), row.at(3), row.at(4), row.at(5), row.at(6), row.at(7)});
    }
    for (const Json& row : json.at("links")) {
        record.links.push_back({row.at(0), row.at(1), row.at(2), row.at(3), row.at(4), row.at(5), row.at(6),
                                row.at(7), row.at(8)});
    }
    for (const Json& row : json.at("paths")) {
        record.paths.push_back({row.at(0), decode_flow(row.at(1)), decode_flow(row.at(2))});
    }
    record.idle_disk_seconds = json.at("idle_disk_seconds");
    for (const Json& row : json.at("stall_causes")) {
        record.stall_causes.push_back({row.at(0), row.at(1), row.at(2), row.at(3)});
    }
    for (std::size_t t = 0; t < record.memory.reserved.size(); ++t) {
        record.memory.reserved[t] = json.at("memory").at(0).at(t);
        record.memory.resident[t] = json.at("memory").at(1).at(t);
    }
    record.memory.process_start = json.at("memory").at(2).at(0);
    record.memory.process_step = json.at("memory").at(2).at(1);
    record.memory.process_peak = json.at("memory").at(2).at(2);
    record.first_step = json.at("steps").at(0);
    record.last_step = json.at("steps").at(1);
    record.excluded_steps = json.at("steps").at(2);
    record.tokens = json.at("tokens");
    record.wall_seconds = json.at("seconds").at(0);
    record.excluded_seconds = json.at("seconds").at(1);
    return record;
}

}  // namespace

TimeAccounting::TimeAccounting(std::int64_t first_step, std::int64_t now_ns)
    : first_step_{first_step}, begin_ns_{now_ns} {}

int TimeAccounting::activity(std::string_view name, Part part) {
    for (std::size_t i = 0; i < total_.activities.size(); ++i) {
        if (total_.activities[i].name == name) {
            return static_cast<int>(i);
        }
    }
    total_.activities.push_back({.name = std::string{name}, .part = part});
    return static_cast<int>(total_.activities.size()) - 1;
}

int TimeAccounting::kernel(std::string_view phase, std::string_view direction) {
    for (std::size_t i = 0; i < total_.kernels.size(); ++i) {
        if (total_.kernels[i].phase == phase && total_.kernels[i].direction == direction) {
            return static_cast<int>(i);
        }
    }
    total_.kernels.push_back({.phase = std::string{phase}, .direction = std::string{direction}});
    return static_cast<int>(total_.kernels.size()) - 1;
}

void TimeAccounting::add(int activity, double seconds, std::int64_t calls) noexcept {
    Activity& sum = total_.activities[activity];
    sum.calls += calls;
    sum.seconds += seconds;
}

void TimeAccounting::add_kernel(int kernel, double seconds, double flops, std::int64_t calls) noexcept {
    KernelTime& sum = total_.kernels[kernel];
    sum.calls += calls;
    sum.seconds += seconds;
    sum.flops += flops;
}

void TimeAccounting::end_step(std::int64_t tokens, std::int64_t now_ns) {
    ++steps_;
    total_.tokens += tokens;
    total_.at_ns = now_ns;
    if (steps_ == excluded_steps) {
        excluded_ = total_;
    }
}

AccountRecord TimeAccounting::record(std::int64_t now_ns) const {
    const bool excludes = steps_ > excluded_steps;
    AccountRecord record{.activities = total_.activities, .kernels = total_.kernels, .tokens = total_.tokens};
    record.excluded_steps = excludes ? excluded_steps : 0;
    record.first_step = steps_ == 0 ? 0 : first_step_ + record.excluded_steps;
    record.last_step = steps_ == 0 ? 0 : first_step_ + steps_ - 1;
    record.wall_seconds = seconds_between(excludes ? excluded_.at_ns : begin_ns_, now_ns);
    if (excludes) {
        record.excluded_seconds = seconds_between(begin_ns_, excluded_.at_ns);
        record.tokens -= excluded_.tokens;
        for (std::size_t i = 0; i < excluded_.activities.size(); ++i) {
            record.activities[i].calls -= excluded_.activities[i].calls;
            record.activities[i].seconds -= excluded_.activities[i].seconds;
        }
        for (std::size_t i = 0; i < excluded_.kernels.size(); ++i) {
            record.kernels[i].calls -= excluded_.kernels[i].calls;
            record.kernels[i].seconds -= excluded_.kernels[i].seconds;
            record.kernels[i].flops -= excluded_.kernels[i].flops;
        }
    }
    return record;
}

std::vector<AccountRecord> gather_records(const AccountRecord& mine, const Gather& gather) {
    std::vector<AccountRecord> records;
    for (const std::string& text : gather(encode(mine))) {
        records.push_back(decode(text));
    }
    return records;
}

}  // namespace ziggurat::train
