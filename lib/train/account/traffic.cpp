#include "train/account/traffic.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "schedule/volumes/volumes.hpp"
#include "train/account/accounting.hpp"
#include "train/ops/bind_collectives.hpp"

namespace ziggurat::train {
namespace {

/// Returns the kind under which a flow is summed.
///
/// A message is planned at its sender. It is counted by the rank that copies it: the receiver within a node,
/// the sender between nodes. So send and receive are summed as one flow.
schedule::OpKind flow_kind(schedule::OpKind kind) {
    return kind == schedule::OpKind::receive ? schedule::OpKind::send : kind;
}

std::string name_of(schedule::OpKind kind) {
    return kind == schedule::OpKind::send ? "send and receive" : to_string(kind);
}

}  // namespace

void add_up(std::span<const Flow> flows, schedule::BytesByPurpose& moved, schedule::BytesByPurpose& planned) {
    for (const auto& flow : flows) {
        for (int purpose = 0; purpose < schedule::num_purposes; ++purpose) {
            if (flow.purpose == to_string(static_cast<schedule::Purpose>(purpose))) {
                moved[purpose] += flow.moved_bytes;
                planned[purpose] += flow.planned_bytes;
            }
        }
    }
}

Traffic::Traffic(const schedule::Program& program, BytesMoved bytes_moved)
    : program_{program}, bytes_moved_{std::move(bytes_moved)}, sum_of_op_(program.ops.size(), -1) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        if (!is_collective(op.kind)) {
            continue;
        }
        auto sum = std::ranges::find_if(
            sums_, [&](const Sum& s) { return s.kind == flow_kind(op.kind) && s.purpose == op.purpose; });
        if (sum == sums_.end()) {
            sums_.push_back({.kind = flow_kind(op.kind), .purpose = op.purpose});
            sum = sums_.end() - 1;
        }
        const auto bytes = schedule::bytes_sent(op, program);
        sum->planned_bytes_per_step += bytes;
        planned_[op.purpose] += bytes;
        const auto index = sum - sums_.begin();
        sum_of_op_[i] = static_cast<int>(index);
        sources_.push_back({static_cast<int>(i), static_cast<std::size_t>(index), 0});
    }
}

void Traffic::count(std::span<const LaneRecord> records, bool is_step) {
    if (is_step && steps_++ == TimeAccounting::excluded_steps) {
        for (auto& sum : sums_) {
            sum.excluded_seconds = sum.seconds;
            sum.excluded_bytes = sum.moved_bytes;
        }
    }
    for (auto& source : sources_) {
        const auto now = bytes_moved_(source.op);
        sums_[source.sum].moved_bytes += now - source.seen;
        source.seen = now;
    }
    for (const auto& record : records) {
        const int index = record.cause >= 0 ? -1 : sum_of_op_[record.op];
        if (index >= 0) {
            auto& sum = sums_[index];
            ++sum.calls;
            sum.seconds += seconds_between(record.begin_ns, record.end_ns);
        }
    }
}

std::vector<Flow> Traffic::flows() const {
    std::vector<Flow> made;
    for (const auto& sum : sums_) {
        made.push_back({name_of(sum.kind), to_string(sum.purpose), sum.calls,
                        sum.planned_bytes_per_step * steps_, sum.moved_bytes, steps_,
                        sum.seconds - sum.excluded_seconds, sum.moved_bytes - sum.excluded_bytes});
    }
    return made;
}

}  // namespace ziggurat::train
