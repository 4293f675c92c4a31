#include "train/bind_transfers.hpp"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "comm/node/bell.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::train {
namespace {

using schedule::OpKind;
using storage::Segment;

const schedule::Buffer& buffer_of(const schedule::Program& program, const schedule::Operand& operand) {
    return program.buffers.at(static_cast<std::size_t>(operand.buffer));
}

/// Segments that touch in the file and in memory become one.
void append(std::vector<Segment>& all, std::vector<Segment> more) {
    for (const auto& segment : more) {
        const bool goes_on = !all.empty() && all.back().file == segment.file &&
                             all.back().offset_bytes + all.back().bytes == segment.offset_bytes &&
                             all.back().memory + all.back().bytes == segment.memory &&
                             all.back().first_of_records + all.back().bytes == segment.first_of_records;
        if (goes_on) {
            all.back().bytes += segment.bytes;
        } else {
            all.push_back(segment);
        }
    }
}

}  // namespace

NvmeLanes::NvmeLanes(const spec::Tiers& tiers, const state::TierMemory& memory, const comm::NodeMemory& node)
    : memory_{memory} {
    if (memory.nvme() == nullptr) {
        return;
    }
    const auto make = [&] {
        return std::make_unique<storage::TransferThread>(storage::TransferThread::Options{
            .depth = tiers.nvme_queue_depth, .block_bytes = tiers.nvme_block_bytes, .when_done = [&node] {
                comm::ring(node.bell());
            }});
    };
    reads_ = make();
    writes_ = make();
}

std::string NvmeLanes::why_not_asynchronous() const {
    if (reads_ == nullptr) {
        return {};
    }
    const auto reason = reads_->why_not_asynchronous();
    return reason.empty() ? writes_->why_not_asynchronous() : reason;
}

Action NvmeLanes::bind(const schedule::Program& program, const schedule::Op& op) {
    const bool is_read = op.kind == OpKind::read;
    ZG_EXPECTS((is_read || op.kind == OpKind::write) && op.reads.size() == op.writes.size());
    const auto kind = is_read ? storage::TransferKind::read : storage::TransferKind::write;
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
        const auto& on_disk = is_read ? op.reads[i] : op.writes[i];
        const auto& in_memory = is_read ? op.writes[i] : op.reads[i];
        const auto& disk = buffer_of(program, on_disk);
        ZG_EXPECTS(on_disk.runs.size() == in_memory.runs.size());
        for (std::size_t r = 0; r < on_disk.runs.size(); ++r) {
            const auto bytes = storage::round_up_to_page(on_disk.runs[r].bytes);
            ZG_EXPECTS(on_disk.runs[r].bytes == in_memory.runs[r].bytes);
            append(segments,
                   memory_.nvme()->segments(
                       kind, disk.offset + on_disk.runs[r].offset,
                       memory_.at(buffer_of(program, in_memory)) + in_memory.runs[r].offset, bytes));
        }
    }
    auto& thread = is_read ? *reads_ : *writes_;
    const int transfer = thread.add(kind, segments);
    return {.start = [&thread, transfer] { thread.start(transfer); },
            .poll = [&thread, transfer] { return thread.is_done(transfer); },
            .bytes_moved = [&thread, transfer] { return thread.bytes_given(transfer); },
            .ended_ns = [&thread, transfer] { return thread.ended_ns(transfer); }};
}

Action bind_copy(const schedule::Program& program,
                 const schedule::Op& op,
                 const state::TierMemory& memory,
                 std::int64_t& copied) {
    ZG_EXPECTS(op.reads.size() == op.writes.size());
    struct Stretch {
        const std::byte* from;
        std::byte* to;
        std::size_t bytes;
    };
    std::vector<Stretch> stretches;
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
        const auto* from = memory.at(buffer_of(program, op.reads[i]));
        auto* to = memory.at(buffer_of(program, op.writes[i]));
        ZG_EXPECTS(op.reads[i].runs.size() == op.writes[i].runs.size());
        for (std::size_t r = 0; r < op.reads[i].runs.size(); ++r) {
            ZG_EXPECTS(op.reads[i].runs[r].bytes == op.writes[i].runs[r].bytes);
            stretches.push_back({from + op.reads[i].runs[r].offset, to + op.writes[i].runs[r].offset,
                                 static_cast<std::size_t>(op.reads[i].runs[r].bytes)});
        }
    }
    return {.run =
                [stretches = std::move(stretches), &copied] {
                    for (const auto& [from, to, bytes] : stretches) {
                        std::memcpy(to, from, bytes);
                        copied += static_cast<std::int64_t>(bytes);
                    }
                },
            .bytes_moved = [&copied] { return copied; }};
}

}  // namespace ziggurat::train
