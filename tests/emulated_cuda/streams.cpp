#include "tests/emulated_cuda/streams.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/memory.hpp"
#include "tests/emulated_cuda/work.hpp"

namespace emulated_cuda {
namespace {

/// Scope in which host threads can access GPU memory.
class Opened {
  public:
    Opened() { open_memory(true); }
    ~Opened() { open_memory(false); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
};

template <class Condition>
void go_on_until(Lock& lock, const Condition& is_enough) {
    if (is_enough()) {
        return;
    }
    if (has_threads()) {
        lock.wait(is_enough);
        return;
    }
    const Opened opened;
    while (!is_enough()) {
        if (!run_some(lock)) {
            std::fputs("emulated CUDA: streams wait for each other\n", stderr);
            std::abort();
        }
    }
}

void append(cudaStream_t stream, Piece piece) {
    stream->pieces.push_back(std::move(piece));
    all().message.notify_all();
}

/// Runs a few pieces if streams have no threads, until `is_enough`.
template <class Condition>
bool poll(Lock& lock, const Condition& is_enough) {
    if (!has_threads() && !is_enough()) {
        const Opened opened;
        for (auto left = all().random() % 4; left > 0 && !is_enough() && run_some(lock); --left) {}
    }
    return is_enough();
}

}  // namespace

Failure error_of(int device) {
    const Lock lock;
    const auto at = all().errors.find(device);
    return at == all().errors.end() ? Failure{} : at->second;
}

void set_error(int device, Failure failure) {
    const Lock lock;
    keep_error(device, std::move(failure));
}

cudaStream_t make_stream(int device) {
    auto* const stream = new CUstream_st{.device = device};
    const Lock lock;
    all().streams.push_back(stream);
    if (has_threads()) {
        std::thread{run_stream, stream}.detach();
    }
    return stream;
}

void end_stream(cudaStream_t stream) {
    const Lock lock;
    stream->is_ending = true;
    if (!has_threads() && stream->pieces.empty()) {
        forget(stream);
    }
    all().message.notify_all();
}

bool is_stream(cudaStream_t stream) {
    const Lock lock;
    return std::ranges::count(all().streams, stream) > 0 && !stream->is_ending;
}

void push(cudaStream_t stream, std::function<Failure()> work) {
    auto given = std::make_unique<char>();
    order(given.get());
    const Lock lock;
    append(stream, {.kind = Piece::Kind::work, .run = std::move(work), .given = std::move(given)});
}

void push_outside(cudaStream_t stream, std::function<bool()> advance) {
    auto given = std::make_unique<char>();
    order(given.get());
    const Lock lock;
    append(stream, {.kind = Piece::Kind::outside, .advance = std::move(advance), .given = std::move(given)});
}

void record(cudaStream_t stream, const std::shared_ptr<EmulatedEvent>& milestone) {
    const Lock lock;
    append(stream, {.kind = Piece::Kind::record, .milestone = milestone, .number = ++milestone->recorded});
}

void wait_for(cudaStream_t stream, const std::shared_ptr<EmulatedEvent>& milestone) {
    const Lock lock;
    append(stream, {.kind = Piece::Kind::wait, .milestone = milestone, .number = milestone->recorded});
}

bool is_done(const EmulatedEvent& milestone) {
    bool is_it = false;
    {
        Lock lock;
        is_it = poll(lock, [&] { return is_complete(milestone); });
    }
    if (is_it) {
        follow(const_cast<EmulatedEvent*>(&milestone));
    }
    return is_it;
}

bool is_done(cudaStream_t stream) {
    bool is_it = false;
    {
        Lock lock;
        is_it = poll(lock, [&] { return stream->pieces.empty(); });
    }
    if (is_it) {
        follow(stream);
    }
    return is_it;
}

bool is_recorded(const EmulatedEvent& milestone) {
    const Lock lock;
    return milestone.recorded > 0;
}

std::int64_t time_ns(const EmulatedEvent& milestone) {
    const Lock lock;
    return milestone.time_ns;
}

void finish(const EmulatedEvent& milestone) {
    {
        Lock lock;
        go_on_until(lock, [&] { return is_complete(milestone); });
    }
    follow(const_cast<EmulatedEvent*>(&milestone));
}

void finish(cudaStream_t stream) {
    {
        Lock lock;
        go_on_until(lock, [&] { return stream->pieces.empty(); });
    }
    follow(stream);
}

void finish_all(int device) {
    Lock lock;
    go_on_until(lock, [device] {
        return std::ranges::all_of(all().streams, [device](const CUstream_st* stream) {
            return stream->device != device || stream->pieces.empty();
        });
    });
    // With the lock held: an ending stream is destroyed when its thread gets the lock.
    for (auto* const stream : all().streams) {
        if (stream->device == device) {
            lock.seen([stream] { follow(stream); });
        }
    }
}

void reset(int device) {
    finish_all(device);
    const Lock lock;
    all().errors.erase(device);
}

}  // namespace emulated_cuda
