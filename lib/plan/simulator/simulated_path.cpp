#include "plan/simulator/simulated_path.hpp"

#include <algorithm>
#include <utility>

#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::OpClass;
using schedule::Program;
using schedule::Purpose;

/// Returns the text of a transfer in two parts, between which its content is named.
std::pair<std::string, std::string> link_text(schedule::Link link) {
    switch (link) {
        case schedule::Link::nvme_read:
            return {"reads", " from NVMe"};
        case schedule::Link::nvme_write:
            return {"writes", " to NVMe"};
        case schedule::Link::host_to_device:
            return {"copies", " from host to device"};
        case schedule::Link::device_to_host:
            return {"copies", " from device to host"};
    }
    return {};
}

std::string payload_text(schedule::PayloadKind payload) {
    switch (payload) {
        case schedule::PayloadKind::parameters:
            return "parameters";
        case schedule::PayloadKind::gradients:
            return "gradients";
        case schedule::PayloadKind::optimizer:
            return "optimizer states";
        case schedule::PayloadKind::activations:
            return "activations";
    }
    return {};
}

std::string purpose_text(Purpose purpose) {
    switch (purpose) {
        case Purpose::parameters:
        case Purpose::secondary:
            return "gathers of parameters";
        case Purpose::gradients:
            return "sums of gradients";
        case Purpose::publication:
            return "gathers of updated parameters";
        case Purpose::tensor:
            return "tensor-parallel communication";
        case Purpose::context:
            return "context-parallel communication";
        case Purpose::pipeline:
            return "messages between stages";
        case Purpose::stash:
            return "copies of older weights";
        case Purpose::none:
        case Purpose::control:
        case Purpose::checkpoint:
        case Purpose::state:
            break;
    }
    return "control";
}

std::string transfer_text(const Op& op, const Program& program) {
    const auto link = schedule::link_of(op, program);
    if (!link) {
        return "copies within memory";
    }
    if (!schedule::moves_state(op)) {
        return "control";
    }
    const auto& operands = op.reads.empty() ? op.writes : op.reads;
    const auto payload = schedule::payload_kind_of(program.buffer(operands.front().buffer));
    const auto [transfer, ends] = link_text(*link);
    return transfer + " of " + payload_text(payload) + ends;
}

std::string compute_text(const Op& op) {
    return op.flops > 0 ? "products and attention" : "norms, activations and sums";
}

}  // namespace

std::string work_of(const Op& op, const Program& program) {
    switch (class_of(op.kind)) {
        case OpClass::compute:
            return compute_text(op);
        case OpClass::loss:
        case OpClass::fill:
        case OpClass::add:
        case OpClass::norm:
            return program.lanes.at(op.lane).engine == schedule::Engine::host_optimizer
                       ? "sums on the host"
                       : "norms, activations and sums";
        case OpClass::update:
            return program.lanes.at(op.lane).engine == schedule::Engine::host_optimizer
                       ? "optimizer on the host"
                       : "optimizer";
        case OpClass::step_end:
            return op.kind == schedule::OpKind::unit_clip ? "norms of units" : "norm of all gradients";
        case OpClass::collective:
            return purpose_text(op.purpose);
        case OpClass::copy:
        case OpClass::read:
        case OpClass::write:
            return transfer_text(op, program);
    }
    return {};
}

std::vector<PathPart> critical_path(const std::vector<SimulatedRank>& ranks, const SimulatedSteps& steps) {
    // The op that ends the step: the last one of the compute lanes and step ends.
    OpInstance at;
    double latest = -1;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto& program = *ranks[rank].program;
        for (std::size_t op = 0; op < program.ops.size(); ++op) {
            const auto engine = program.lanes[program.ops[op].lane].engine;
            const bool bounds =
                engine == schedule::Engine::compute || program.ops[op].kind == schedule::OpKind::step_end;
            const OpInstance here{static_cast<int>(rank), steps.step, static_cast<int>(op)};
            if (bounds && steps.of(here).end > latest) {
                latest = steps.of(here).end;
                at = here;
            }
        }
    }
    std::vector<PathPart> path;
    double until = latest;
    while (at.op >= 0 && until > steps.begin) {
        const auto& times = steps.of(at);
        // A rank that others have waited for counts from its own begin. Time between two ops counts with the
        // later one.
        const auto& after = times.after;
        const double before = after.op >= 0 ? steps.of(after).end : times.begin;
        const double begin = std::max(std::min({times.begin, before, until}), steps.begin);
        path.push_back({at, until - begin});
        until = begin;
        at = after;
    }
    return path;
}

}  // namespace ziggurat::plan
