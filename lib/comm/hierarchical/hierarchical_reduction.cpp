#include "comm/hierarchical/hierarchical_reduction.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "comm/in_pieces.hpp"

namespace ziggurat::comm {
namespace {

constexpr spec::DType partial_type = spec::DType::f32;
/// Elements of a piece per thread: large enough to be worth starting a thread.
constexpr std::int64_t elements_of_thread = 16 * 1024;
constexpr int ring_pieces = static_cast<int>(HierarchicalPlan::depth);

}  // namespace

HierarchicalReduction::HierarchicalReduction(const HierarchicalTask& task,
                                             std::byte* to,
                                             MessageStreams& streams)
    : streams_{&streams},
      type_{task.call.type},
      threads_{task.threads},
      stores_{task.stores},
      piece_elements_{task.plan->piece_elements()},
      piece_bytes_{piece_elements_ * element_bytes(type_)},
      to_{to},
      own_bytes_{task.block_of(task.rank).bytes},
      num_neighbours_{std::ssize(task.neighbours()) - 1},
      num_pieces_{(own_bytes_ + piece_bytes_ - 1) / piece_bytes_} {
    add_departures(task);
    if (own_bytes_ > 0) {
        add_own_addends(task);
    }
}

void HierarchicalReduction::add_departures(const HierarchicalTask& task) {
    const SumPart& part = task.plan->part_of(task.rank);
    for (int i = 1; i < task.plan->size(); ++i) {
        const int owner = (task.rank + i) % task.plan->size();
        const Block& block = task.block_of(owner);
        if (task.is_neighbour(owner) || block.bytes == 0 || task.plan->summer(part, owner) != task.rank) {
            continue;
        }
        RemoteAddend departure{.owner = owner, .stream = 0, .inputs = {}, .made = 0};
        MessageStream stream{.peer = owner, .tag = task.tag, .is_send = true};
        if (part.count == 1) {
            stream.base = MessageStreams::without_const(task.in() + block.offset_bytes);
            stream.bytes = block.bytes;
            stream.piece_bytes = piece_bytes_;
            stream.window = direct_window;
        } else {
            for (int m = part.first; m < part.first + part.count; ++m) {
                departure.inputs.push_back({.at = task.input_of(m) + block.offset_bytes,
                                            .type = type_,
                                            .begins_run = m == part.first});
            }
            stream.is_staged = true;
            stream.bytes = block.bytes / element_bytes(type_) * element_bytes(partial_type);
            stream.piece_bytes = piece_elements_ * element_bytes(partial_type);
            stream.window = ring_pieces;
            stream.bytes_per_counted = element_bytes(partial_type) / element_bytes(type_);
            addends_.reserve(departure.inputs.size());
        }
        departure.stream = streams_->add(stream);
        departures_.push_back(std::move(departure));
    }
}

void HierarchicalReduction::add_own_addends(const HierarchicalTask& task) {
    int run = -1;
    for (const auto& part : task.plan->parts()) {
        const bool begins_run = part.run != run;
        run = part.run;
        if (part.node == task.node()) {
            for (int m = part.first; m < part.first + part.count; ++m) {
                const std::byte* at = task.input_of(m) + task.block_of(task.rank).offset_bytes;
                own_addends_.push_back(
                    {.addend = {.at = at, .type = type_, .begins_run = begins_run && m == part.first}});
            }
        } else {
            const auto type = part.count == 1 ? type_ : partial_type;
            const auto stream =
                streams_->add({.peer = task.plan->summer(part, task.rank),
                               .tag = task.tag,
                               .is_staged = true,
                               .bytes = own_bytes_ / element_bytes(type_) * element_bytes(type),
                               .piece_bytes = piece_elements_ * element_bytes(type),
                               .window = ring_pieces});
            arriving_.push_back(stream);
            own_addends_.push_back({.addend = {.at = nullptr, .type = type, .begins_run = begins_run},
                                    .arrives = true,
                                    .stream = stream});
        }
    }
    addends_.reserve(own_addends_.size());
}

std::int64_t HierarchicalReduction::staging_bytes() const noexcept {
    std::int64_t bytes = 0;
    for (const auto stream : arriving_) {
        bytes += ring_pieces * (*streams_)[stream].piece_bytes;
    }
    for (const auto& departure : departures_) {
        bytes += departure.inputs.empty() ? 0 : ring_pieces * (*streams_)[departure.stream].piece_bytes;
    }
    return bytes;
}

void HierarchicalReduction::stage_at(std::byte* area) {
    const auto lend = [&](MessageStream& stream) {
        stream.base = area;
        area += ring_pieces * stream.piece_bytes;
    };
    for (const auto stream : arriving_) {
        lend((*streams_)[stream]);
    }
    for (const auto& departure : departures_) {
        if (!departure.inputs.empty()) {
            lend((*streams_)[departure.stream]);
        }
    }
    has_staging_ = true;
}

void HierarchicalReduction::rewind() {
    has_staging_ = staging_bytes() == 0;
    summed_ = 0;
    for (auto& departure : departures_) {
        departure.made = 0;
    }
}

Addend HierarchicalReduction::piece_of(Addend addend, std::int64_t piece) const {
    addend.at += piece * piece_elements_ * element_bytes(addend.type);
    return addend;
}

void HierarchicalReduction::sum(std::byte* output,
                                std::int64_t elements,
                                spec::DType type,
                                Stores stores) const {
    in_pieces(threads_, elements, elements_of_thread, [&](std::int64_t begin, std::int64_t end) {
        sum_runs(addends_, output, type, begin, end, stores);
    });
}

bool HierarchicalReduction::make_piece(RemoteAddend& departure, std::int64_t& bytes_moved) {
    const MessageStream& stream = (*streams_)[departure.stream];
    if (departure.inputs.empty() || departure.made == stream.num_pieces() ||
        departure.made == stream.done + stream.window) {
        return false;
    }
    addends_.clear();
    for (const auto& input : departure.inputs) {
        addends_.push_back(piece_of(input, departure.made));
    }
    const std::int64_t elements = stream.bytes_of(departure.made) / element_bytes(partial_type);
    sum(stream.at(departure.made), elements, partial_type, Stores::ordinary);
    bytes_moved += (std::ssize(addends_) - 1) * elements * element_bytes(type_);
    ++departure.made;
    return true;
}

bool HierarchicalReduction::add_piece(std::int64_t& bytes_moved) {
    const auto has_arrived = [&](std::size_t s) { return (*streams_)[s].done > summed_; };
    if (has_sums() || !std::all_of(arriving_.begin(), arriving_.end(), has_arrived)) {
        return false;
    }
    addends_.clear();
    for (const auto& own : own_addends_) {
        addends_.push_back(own.arrives ? Addend{.at = (*streams_)[own.stream].at(summed_),
                                                .type = own.addend.type,
                                                .begins_run = own.addend.begins_run}
                                       : piece_of(own.addend, summed_));
    }
    const std::int64_t offset = summed_ * piece_bytes_;
    const std::int64_t bytes = std::min(piece_bytes_, own_bytes_ - offset);
    sum(to_ + offset, bytes / element_bytes(type_), type_, stores_);
    bytes_moved += num_neighbours_ * bytes;
    ++summed_;
    return true;
}

bool HierarchicalReduction::sum_some(std::int64_t& bytes_moved) {
    if (!has_staging_) {
        return false;
    }
    bool has_summed = false;
    for (auto& departure : departures_) {
        has_summed = make_piece(departure, bytes_moved) || has_summed;
    }
    return add_piece(bytes_moved) || has_summed;
}

void HierarchicalReduction::allow() {
    for (const auto s : arriving_) {
        MessageStream& stream = (*streams_)[s];
        stream.allowed = has_staging_ ? summed_ + stream.window : 0;
    }
    for (const auto& departure : departures_) {
        if (!departure.inputs.empty()) {
            (*streams_)[departure.stream].allowed = departure.made;
        }
    }
}

std::int64_t HierarchicalReduction::pieces_used(int owner) const {
    for (const auto& departure : departures_) {
        if (departure.owner == owner) {
            return departure.inputs.empty() ? (*streams_)[departure.stream].done : departure.made;
        }
    }
    return std::numeric_limits<std::int64_t>::max() / piece_bytes_;
}

bool HierarchicalReduction::has_read_inputs() const noexcept {
    return has_sums() && std::all_of(departures_.begin(), departures_.end(), [this](const RemoteAddend& d) {
               return d.inputs.empty() || d.made == (*streams_)[d.stream].num_pieces();
           });
}

}  // namespace ziggurat::comm
