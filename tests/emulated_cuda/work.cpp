#include "tests/emulated_cuda/work.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <utility>

#include "tests/emulated_cuda/settings.hpp"

namespace emulated_cuda {
namespace {

using Kind = Piece::Kind;

std::int64_t now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

std::chrono::nanoseconds draw_delay() {
    const auto kind = all().random() % 512;
    const auto max = kind == 0 ? 5'000'000u : kind < 64 ? 400'000u : kind < 256 ? 60'000u : 1u;
    return std::chrono::nanoseconds{all().random() % max};
}

bool can_begin(const CUstream_st& stream) {
    if (stream.pieces.empty()) {
        return false;
    }
    const auto& first = stream.pieces.front();
    return first.kind != Kind::wait || first.milestone->reached >= first.number;
}

void run_work(cudaStream_t stream, Piece& piece, Lock& lock) {
    Failure failure;
    const auto work = std::move(piece.run);
    const auto given = std::move(piece.given);
    const auto delay = stream->is_ending || !has_threads() ? std::chrono::nanoseconds{0} : draw_delay();
    const auto run = [&] {
        if (delay.count() > 0) {
            std::this_thread::sleep_for(delay);
        }
        follow(given.get());
        failure = work();
        order(stream);
    };
    if (has_threads()) {
        lock.without(run);
    } else {
        lock.seen(run);
    }
    keep_error(stream->device, std::move(failure));
}

/// Attempts once to advance work that depends on other processes. Returns true if it is complete.
bool advance(cudaStream_t stream, Piece& piece, Lock& lock) {
    constexpr std::chrono::microseconds between_attempts{50};
    bool is_over = false;
    auto work = std::move(piece.advance);  // `pieces` must only be accessed with the lock held
    auto given = std::move(piece.given);
    const auto attempt = [&] {
        follow(given.get());
        is_over = work();
        order(stream);
        if (!is_over) {
            std::this_thread::sleep_for(between_attempts);
        }
    };
    has_threads() ? lock.without(attempt) : lock.seen(attempt);
    piece.advance = std::move(work);
    piece.given = std::move(given);
    return is_over;
}

/// Runs the first piece, or as much of it as other processes allow. Skips work if the GPU has an error.
///
/// \pre the piece can begin
void run_first(cudaStream_t stream, Lock& lock) {
    auto& piece = stream->pieces.front();
    auto* const milestone = piece.milestone.get();
    switch (piece.kind) {
        case Kind::record:
            lock.seen([&] { order(milestone); });
            if (piece.number > milestone->reached) {
                milestone->time_ns = now_ns();
                milestone->reached = piece.number;
            }
            break;
        case Kind::wait:
            lock.seen([&] { follow(milestone); });
            break;
        case Kind::work:
            if (!all().errors.contains(stream->device)) {
                run_work(stream, piece, lock);
            }
            break;
        case Kind::outside:
            if (!all().errors.contains(stream->device) && !advance(stream, piece, lock)) {
                return;
            }
            break;
    }
    stream->pieces.pop_front();
    all().message.notify_all();
}

}  // namespace

Work& all() {
    static Work* const work = new Work;
    return *work;
}

bool has_threads() {
    return settings().mode == Mode::threads;
}

bool is_complete(const EmulatedEvent& milestone) {
    return milestone.reached >= milestone.recorded;
}

void keep_error(int device, Failure failure) {
    if (failure.error != cudaSuccess) {
        std::fprintf(stderr, "emulated CUDA: GPU %d: %s\n", device, failure.what.c_str());
        all().errors.emplace(device, std::move(failure));
    }
}

void forget(cudaStream_t stream) {
    std::erase(all().streams, stream);
    delete stream;
}

void run_stream(cudaStream_t stream) {
    Lock lock;
    while (true) {
        lock.wait([&] { return stream->pieces.empty() ? stream->is_ending : can_begin(*stream); });
        if (stream->pieces.empty()) {
            forget(stream);
            return;
        }
        run_first(stream, lock);
    }
}

bool run_some(Lock& lock) {
    std::vector<cudaStream_t> able;
    std::ranges::copy_if(all().streams, std::back_inserter(able),
                         [](cudaStream_t stream) { return can_begin(*stream); });
    if (able.empty()) {
        return false;
    }
    auto* const stream = able[all().random() % able.size()];
    run_first(stream, lock);
    if (stream->is_ending && stream->pieces.empty()) {
        forget(stream);
    }
    return true;
}

}  // namespace emulated_cuda
