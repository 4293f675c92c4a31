#include "train/ops/bind_transfers.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "comm/node/event_count.hpp"
#include "device/copy.hpp"
#include "storage/direct_file.hpp"
#include "train/ops/actions_in_turn.hpp"

namespace ziggurat::train {
namespace {

using schedule::OpKind;
using storage::FileSegment;
using storage::TransferKind;

const schedule::Buffer& buffer_of(const schedule::Program& program, const schedule::Operand& operand) {
    return program.buffers.at(operand.buffer);
}

/// Appends segments and merges those that are contiguous in the file and in memory.
void append(std::vector<FileSegment>& all, std::vector<FileSegment> more) {
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

/// Whole pages of the NVMe tier and their address in memory.
struct PageRange {
    std::int64_t offset_bytes = 0;
    std::int64_t bytes = 0;
    std::byte* memory = nullptr;
    bool is_moment = false;
};

/// Returns the ranges of a read or a write.
///
/// \param slot  of buffers on NVMe that have two slots
std::vector<PageRange> page_ranges(const schedule::Program& program,
                                   const schedule::Op& op,
                                   const state::TierMemory& memory,
                                   int slot) {
    std::vector<PageRange> found;
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
        const auto& on_disk = op.kind == OpKind::read ? op.reads[i] : op.writes[i];
        const auto& in_memory = op.kind == OpKind::read ? op.writes[i] : op.reads[i];
        const auto& disk = buffer_of(program, on_disk);
        const bool is_moment = layout::is_zero_at_start(disk.state);
        ZG_EXPECTS(on_disk.runs.size() == in_memory.runs.size());
        for (std::size_t r = 0; r < on_disk.runs.size(); ++r) {
            ZG_EXPECTS(on_disk.runs[r].bytes == in_memory.runs[r].bytes);
            found.push_back({offset_of_slot(disk, slot) + on_disk.runs[r].offset,
                             round_up_to_page(on_disk.runs[r].bytes),
                             memory.at(buffer_of(program, in_memory)) + in_memory.runs[r].offset, is_moment});
        }
    }
    return found;
}

/// Returns the priority of a transfer: those for forward and backward passes precede those for updates.
storage::TransferPriority urgency_of(const schedule::Program& program, const schedule::Op& op) {
    const auto& lane = program.lanes[op.lane];
    return lane.serves_updates ? storage::TransferPriority::low : storage::TransferPriority::high;
}

Action action_of(storage::TransferThread& thread, int transfer) {
    return {.start = [&thread, transfer] { thread.start(transfer); },
            .poll = [&thread, transfer] { return thread.is_done(transfer); },
            .bytes_moved = [&thread, transfer] { return thread.bytes_given(transfer); },
            .ended_ns = [&thread, transfer] { return thread.ended_ns(transfer); }};
}

bool has_two_slots(const schedule::Program& program, const schedule::Op& op) {
    const auto& on_disk = op.kind == OpKind::read ? op.reads : op.writes;
    return std::ranges::any_of(on_disk, [&](const schedule::Operand& operand) {
        return buffer_of(program, operand).second_slot >= 0;
    });
}

}  // namespace

/// Read of a chunk that skips its moments until they have been written for the first time.
class NvmeLanes::ReadWithMoments {
  public:
    /// \param whole    the transfer of the whole chunk
    /// \param others   the transfer of all ranges except moments
    /// \param moments  pages of the moments in their home
    ReadWithMoments(const storage::StripedFile& file,
                    storage::TransferThread& thread,
                    int whole,
                    int others,
                    std::vector<PageRange> moments)
        : file_{file}, thread_{thread}, whole_{whole}, others_{others}, moments_{std::move(moments)} {}

    void start() {
        is_written_ = is_written_ || std::ranges::any_of(moments_, [this](const PageRange& moment) {
                          return !file_.is_blank(moment.offset_bytes, moment.bytes);
                      });
        current_ = is_written_ ? whole_ : others_;
        spared_bytes_ += thread_.bytes(whole_) - thread_.bytes(current_);
        thread_.start(current_);
    }
    bool is_done() const { return thread_.is_done(current_); }
    std::int64_t ended_ns() const { return thread_.ended_ns(current_); }
    std::int64_t bytes_moved() const { return thread_.bytes_given(whole_) + thread_.bytes_given(others_); }
    std::int64_t skipped_bytes() const noexcept { return spared_bytes_; }

  private:
    const storage::StripedFile& file_;
    storage::TransferThread& thread_;
    int whole_, others_;
    int current_ = -1;
    std::vector<PageRange> moments_;
    bool is_written_ = false;
    std::int64_t spared_bytes_ = 0;
};

NvmeLanes::NvmeLanes(const spec::Tiers& tiers, const state::TierMemory& memory, const comm::NodeMemory& node)
    : memory_{memory} {
    if (memory.nvme() == nullptr) {
        return;
    }
    const auto make = [&] {
        return std::make_unique<storage::TransferThread>(storage::TransferThread::Options{
            .depth = tiers.nvme_queue_depth, .block_bytes = tiers.nvme_block_bytes, .when_done = [&node] {
                comm::notify(node.bell());
            }});
    };
    reads_ = make();
    writes_ = make();
}

std::string NvmeLanes::not_asynchronous_reason() const {
    if (reads_ == nullptr) {
        return {};
    }
    const auto reason = reads_->not_asynchronous_reason();
    return reason.empty() ? writes_->not_asynchronous_reason() : reason;
}

int NvmeLanes::depth() const {
    return reads_ == nullptr ? 0 : std::min(reads_->depth(), writes_->depth());
}

NvmeLanes::~NvmeLanes() = default;

std::vector<NvmePathStats> NvmeLanes::path_uses() const {
    std::vector<NvmePathStats> paths;
    const auto add = [&](const storage::TransferThread& thread, PathFlow NvmePathStats::*flow) {
        for (const auto& use : thread.uses()) {
            const auto& folder = memory_.nvme()->folder_of(*use.file);
            auto known = std::ranges::find(paths, folder, &NvmePathStats::path);
            if (known == paths.end()) {
                paths.push_back({folder, {}, {}});
                known = std::prev(paths.end());
            }
            (*known).*flow = {use.blocks, use.bytes, 1e-9 * static_cast<double>(use.busy_ns)};
        }
    };
    if (reads_ != nullptr) {
        add(*reads_, &NvmePathStats::read);
        add(*writes_, &NvmePathStats::written);
    }
    return paths;
}

Action NvmeLanes::bind(const schedule::Program& program, const schedule::Op& op) {
    ZG_EXPECTS(op.reads.size() == op.writes.size());
    const auto in_slot = [&](int slot) {
        return op.kind == OpKind::read ? bind_read(program, op, slot) : bind_write(program, op, slot);
    };
    if (!has_two_slots(program, op)) {
        return in_slot(0);
    }
    const int first = op.kind == OpKind::read ? 0 : 1;
    return in_turn({in_slot(first ^ schedule::slot_read_in(0)), in_slot(first ^ schedule::slot_read_in(1))});
}

Action NvmeLanes::bind_read(const schedule::Program& program, const schedule::Op& op, int slot) {
    std::vector<FileSegment> all, others;
    std::vector<PageRange> moments;
    for (const auto& pages : page_ranges(program, op, memory_, slot)) {
        const auto segments =
            memory_.nvme()->segments(TransferKind::read, pages.offset_bytes, pages.memory, pages.bytes);
        append(all, segments);
        if (pages.is_moment) {
            moments.push_back(pages);
        } else {
            append(others, segments);
        }
    }
    const auto priority = urgency_of(program, op);
    const int whole = reads_->add(TransferKind::read, all, priority);
    if (moments.empty()) {
        return action_of(*reads_, whole);
    }
    const int without = reads_->add(TransferKind::read, others, priority, [moments] {
        for (const auto& moment : moments) {
            std::memset(moment.memory, 0, moment.bytes);
        }
    });
    with_moments_.push_back(
        std::make_unique<ReadWithMoments>(*memory_.nvme(), *reads_, whole, without, std::move(moments)));
    auto* read = with_moments_.back().get();
    return {.start = [read] { read->start(); },
            .poll = [read] { return read->is_done(); },
            .bytes_moved = [read] { return read->bytes_moved(); },
            .skipped_bytes = [read] { return read->skipped_bytes(); },
            .ended_ns = [read] { return read->ended_ns(); }};
}

Action NvmeLanes::bind_write(const schedule::Program& program, const schedule::Op& op, int slot) {
    ZG_EXPECTS(op.kind == OpKind::write);
    std::vector<FileSegment> segments;
    const auto all = page_ranges(program, op, memory_, slot);
    for (const auto& pages : all) {
        append(segments,
               memory_.nvme()->segments(TransferKind::write, pages.offset_bytes, pages.memory, pages.bytes));
    }
    auto& thread = *writes_;
    const int transfer = thread.add(TransferKind::write, segments, urgency_of(program, op));
    auto action = action_of(thread, transfer);
    action.start = [&thread, transfer, &file = *memory_.nvme(), all, is_noted = false]() mutable {
        for (std::size_t i = 0; !is_noted && i < all.size(); ++i) {
            file.note_written(all[i].offset_bytes, all[i].bytes);
        }
        is_noted = true;
        thread.start(transfer);
    };
    return action;
}

Action bind_copy(const schedule::Program& program,
                 const schedule::Op& op,
                 const state::TierMemory& memory,
                 const device::Stream& stream,
                 std::int64_t& copied) {
    ZG_EXPECTS(op.reads.size() == op.writes.size());
    struct Copy {
        const std::byte* from;
        std::byte* to;
        std::int64_t bytes;
    };
    std::vector<Copy> copies;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
        const auto* from = memory.at(buffer_of(program, op.reads[i]));
        auto* to = memory.at(buffer_of(program, op.writes[i]));
        ZG_EXPECTS(op.reads[i].runs.size() == op.writes[i].runs.size());
        for (std::size_t r = 0; r < op.reads[i].runs.size(); ++r) {
            ZG_EXPECTS(op.reads[i].runs[r].bytes == op.writes[i].runs[r].bytes);
            copies.push_back({from + op.reads[i].runs[r].offset, to + op.writes[i].runs[r].offset,
                              op.reads[i].runs[r].bytes});
            total += op.reads[i].runs[r].bytes;
        }
    }
    return {.run =
                [stream, copies = std::move(copies)] {
                    for (const auto& [from, to, bytes] : copies) {
                        device::copy(stream, to, from, bytes);
                    }
                },
            .when_done = [total, &copied] { copied += total; },
            .bytes_moved = [&copied] { return copied; }};
}

}  // namespace ziggurat::train
