#include "train/ops/throttle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;

bool is_any_link(const spec::Throttle& rates) {
    return rates.nvme_read > 0 || rates.nvme_write > 0 || rates.host_to_device > 0 ||
           rates.device_to_host > 0 || rates.tensor > 0;
}

/// Returns the bytes that this rank receives in a collective.
std::int64_t received_bytes(const schedule::Program& program, const schedule::Op& op) {
    const auto& group = program.groups.at(op.group);
    std::int64_t all = 0;
    for (const auto& block : op.blocks) {
        all += block.bytes;
    }
    const auto own = op.blocks.at(group.my_index).bytes;
    const auto summands = is_sum(op.kind) ? own * (group.size() - 1) : 0;
    return writes_own_block(op.kind) ? summands : summands + all - own;
}

std::int64_t bytes_of(const schedule::Program& program, const schedule::Op& op) {
    if (schedule::is_collective(op.kind)) {
        return received_bytes(program, op);
    }
    std::int64_t bytes = 0;
    for (const auto& operand : op.writes) {
        bytes += operand.bytes();
    }
    return bytes;
}

}  // namespace

LinkThrottle::LinkThrottle(const spec::Throttle& rates, const comm::NodeMemory& node)
    : nvme_read_{.bytes_per_second = rates.nvme_read},
      nvme_write_{.bytes_per_second = rates.nvme_write},
      host_to_device_{.bytes_per_second = rates.host_to_device},
      device_to_host_{.bytes_per_second = rates.device_to_host},
      tensor_{.bytes_per_second = rates.tensor} {
    if (is_any_link(rates)) {
        alarm_ = std::make_unique<comm::WakeupTimer>(node);
    }
}

LinkThrottle::Link* LinkThrottle::link_of(const schedule::Program& program, const schedule::Op& op) {
    switch (program.lanes.at(op.lane).engine) {
        case Engine::nvme_read:
            return &nvme_read_;
        case Engine::nvme_write:
            return &nvme_write_;
        case Engine::host_to_device:
            return &host_to_device_;
        case Engine::device_to_host:
            return &device_to_host_;
        case Engine::collective:
            return op.purpose == schedule::Purpose::tensor ? &tensor_ : nullptr;
        case Engine::compute:
        case Engine::channel:
        case Engine::host_optimizer:
        case Engine::step_end:
            break;
    }
    return nullptr;
}

void LinkThrottle::end_at(Stay& stay, std::int64_t time_ns) {
    stay.ends_ns = time_ns;
    alarm_->wake_at(time_ns);
}

void LinkThrottle::begin(Stay& stay) {
    const auto now = monotonic_ns();
    auto& link = *stay.link;
    std::erase_if(link.updates, [&](const Stay* update) { return update->ends_ns <= now; });
    const auto free_from_ns = std::max(now, link.busy_until_ns);
    if (stay.is_for_updates) {
        end_at(stay, (link.updates.empty() ? free_from_ns : link.updates.back()->ends_ns) + stay.duration_ns);
        link.updates.push_back(&stay);
        return;
    }
    link.busy_until_ns = free_from_ns + stay.duration_ns;
    end_at(stay, link.busy_until_ns);
    for (auto* update : link.updates) {
        end_at(*update, update->ends_ns + stay.duration_ns);
    }
}

Action LinkThrottle::applied_to(const schedule::Program& program,
                                const schedule::Op& op,
                                const device::Stream& stream,
                                Action action) {
    const auto& lane = program.lanes.at(op.lane);
    auto* link = link_of(program, op);
    if (link == nullptr || link->bytes_per_second <= 0 || !schedule::moves_state(op)) {
        return action;
    }
    const double seconds = static_cast<double>(bytes_of(program, op)) / link->bytes_per_second;
    stays_.push_back({.link = link,
                      .is_for_updates = lane.serves_updates,
                      .duration_ns = static_cast<std::int64_t>(seconds * 1e9),
                      .moved = device::Event{stream}});
    Stay* stay = &stays_.back();
    auto throttled = action;
    // A stream moves the bytes in order without further calls, so the next op may start early.
    throttled.max_running_before =
        action.is_asynchronous() ? action.max_running_before : schedule::max_in_flight;
    auto move = action.is_asynchronous() ? std::move(action.start) : std::move(action.run);
    throttled.run = {};
    throttled.is_enqueued = {};  // `poll` also returns false before that
    throttled.abort = {};
    throttled.start = [this, stay, stream, move = std::move(move)] {
        begin(*stay);
        move();
        stay->moved.record(stream);
    };
    throttled.poll = [stay, has_moved = std::move(action.poll)] {
        return stay->moved.is_done() && (!has_moved || has_moved()) && monotonic_ns() >= stay->ends_ns;
    };
    throttled.ended_ns = [stay, moved_ns = std::move(action.ended_ns)] {
        return std::max({stay->ends_ns, stay->moved.time_ns(), moved_ns ? moved_ns() : 0});
    };
    return throttled;
}

std::string describe(const spec::Throttle& rates) {
    std::string text;
    for (const auto& [name, rate] : {std::pair{"nvme_read", rates.nvme_read},
                                     {"nvme_write", rates.nvme_write},
                                     {"host_to_device", rates.host_to_device},
                                     {"device_to_host", rates.device_to_host},
                                     {"tensor", rates.tensor}}) {
        if (rate > 0) {
            text += fmt::format("{}{} {:.4g} MB/s", text.empty() ? "" : ", ", name, rate * 1e-6);
        }
    }
    if (rates.compute > 0) {
        text += fmt::format("{}compute {:.4g} ms", text.empty() ? "" : ", ", rates.compute * 1e3);
    }
    return text;
}

}  // namespace ziggurat::train
