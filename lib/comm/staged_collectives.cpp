#include "comm/staged_collectives.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "comm/call_shape.hpp"
#include "comm/node/node_memory.hpp"
#include "device/copy.hpp"

namespace ziggurat::comm {

StagedCollectives::StagedCollectives(std::unique_ptr<Collectives> on_host,
                                     std::span<const device::Arena> arenas,
                                     device::Stream stream,
                                     NodeMemory& node)
    : on_host_{std::move(on_host)}, arenas_{arenas}, stream_{std::move(stream)}, node_{node} {}

StagedCollectives::~StagedCollectives() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
        node_.polling_ended();
    }
}

std::byte* StagedCollectives::staging_of(const std::byte* address) const noexcept {
    for (const auto& arena : arenas_) {
        if (arena.is_staged() && address >= arena.data() && address < arena.data() + arena.bytes()) {
            return arena.staging() + (address - arena.data());
        }
    }
    return nullptr;
}

std::vector<StagedCollectives::StagingPair> StagedCollectives::copies_of(
    std::byte* vector, std::span<const Block> blocks) const {
    std::vector<StagingPair> copies;
    auto* const staged = staging_of(vector);
    if (staged == nullptr) {
        return copies;
    }
    for (const auto& block : blocks) {
        if (block.bytes == 0) {
            continue;
        }
        auto* const at = vector + block.offset_bytes;
        if (!copies.empty() && copies.back().on_device + copies.back().bytes == at) {
            copies.back().bytes += block.bytes;
        } else {
            copies.push_back({at, staged + block.offset_bytes, block.bytes});
        }
    }
    return copies;
}

int StagedCollectives::prepare(CollectiveCall call) {
    check_call(call, size(), rank());
    Call made{.in = copies_of(const_cast<std::byte*>(call.input), blocks_read(call, rank())),
              .out = copies_of(call.output, blocks_written(call, rank())),
              .copied_in = device::Event{stream_},
              .copied_out = device::Event{stream_}};
    if (const auto* const staged = staging_of(call.input)) {
        call.input = staged;
    }
    if (auto* const staged = staging_of(call.output)) {
        call.output = staged;
    }
    const int index = on_host_->prepare(std::move(call));
    ZG_EXPECTS(index == static_cast<int>(calls_.size()));
    calls_.push_back(std::move(made));
    waiting_.reserve(calls_.size());
    running_.reserve(calls_.size());
    return index;
}

void StagedCollectives::start(int call) {
    auto& started = calls_[call];
    const bool is_free = poll(call);
    ZG_EXPECTS(is_free);
    for (const auto& copy : started.in) {
        device::copy(stream_, copy.staged, copy.on_device, copy.bytes);
    }
    started.copied_in.record(stream_);
    started.phase = Phase::copying_in;
    started.inputs_are_free = false;
    waiting_.push_back(call);
    running_.push_back(call);
    node_.polling_started();  // copies ring no bell
    progress();
}

void StagedCollectives::progress() {
    while (!waiting_.empty() && calls_[waiting_.front()].copied_in.is_done()) {
        on_host_->start(waiting_.front());
        calls_[waiting_.front()].phase = Phase::on_host;
        waiting_.erase(waiting_.begin());
    }
    std::erase_if(running_, [this](int call) {
        const bool is_done = advance(call);
        if (is_done) {
            node_.polling_ended();
        }
        return is_done;
    });
}

bool StagedCollectives::advance(int index) {
    auto& call = calls_[index];
    if (call.phase == Phase::on_host && on_host_->has_result(index)) {
        for (const auto& copy : call.out) {
            device::copy(stream_, copy.on_device, copy.staged, copy.bytes);
        }
        call.copied_out.record(stream_);
        call.phase = Phase::copying_out;
    }
    if (call.phase == Phase::copying_out && call.copied_out.is_done()) {
        call.phase = Phase::idle;
    }
    if (!call.inputs_are_free && (call.phase == Phase::copying_out || call.phase == Phase::idle)) {
        call.inputs_are_free = on_host_->poll(index);
    }
    return call.phase == Phase::idle && call.inputs_are_free;
}

bool StagedCollectives::poll(int call) {
    progress();
    const auto& asked = calls_[call];
    return asked.phase == Phase::idle && asked.inputs_are_free;
}

bool StagedCollectives::has_result(int call) {
    progress();
    return calls_[call].phase == Phase::idle;
}

}  // namespace ziggurat::comm
