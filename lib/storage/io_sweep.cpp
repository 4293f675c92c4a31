#include "storage/io_sweep.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "storage/aio_queue.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {
namespace {

/// Size of the memory of all blocks.
///
/// With a few blocks that stay in the processor's caches, disks of virtual machines would appear too fast.
constexpr std::int64_t sweep_memory_bytes = std::int64_t{256} << 20;
/// Limits of a probe, which all ranks of a node run at the same time: memory, and size of a file.
constexpr std::int64_t probe_memory_bytes = std::int64_t{8} << 20;
constexpr std::int64_t probe_file_bytes = std::int64_t{64} << 20;
constexpr double probe_seconds = 0.1;
constexpr std::size_t probe_rounds = 5;
constexpr std::int64_t fill_block_bytes = 1 << 20;
constexpr int fill_depth = 16;
constexpr double good_enough = 0.98;

enum class Direction { read, write };

struct Moved {
    std::int64_t bytes = 0;
    double seconds = 0;

    double rate() const noexcept { return static_cast<double>(bytes) / seconds; }
};

/// One file in each folder, and memory for all their bytes up to a limit, but at least one block.
class Files {
  public:
    Files(const std::vector<std::string>& folders,
          std::int64_t file_bytes,
          std::int64_t largest_block_bytes,
          std::int64_t max_memory_bytes)
        : folders_{folders},
          file_bytes_{round_up_to_page(file_bytes)},
          memory_{
              std::max(std::min(max_memory_bytes, file_bytes_ * std::ssize(folders)), largest_block_bytes)} {
        std::mt19937_64 random{1};
        for (std::size_t at = 0; at + 8 <= memory_.bytes().size(); at += 8) {
            const auto word = random();
            std::memcpy(memory_.bytes().data() + at, &word, 8);
        }
        for (const auto& folder : folders) {
            files_.push_back(DirectFile::create_unnamed(folder));
        }
    }

    /// Returns the folders whose files are not direct, with the reason.
    ///
    /// Some file systems refuse O_DIRECT only at the first transfer; they are included after it.
    std::vector<std::string> notes() const {
        std::vector<std::string> notes;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            if (const auto reason = files_[i].not_direct_reason(); !reason.empty()) {
                notes.push_back("'" + folders_[i] + "': " + reason);
            }
        }
        return notes;
    }

    void reserve() {
        for (auto& file : files_) {
            file.reserve(file_bytes_);
        }
    }
    void fill() { move(Direction::write, fill_block_bytes, fill_depth, without_limit); }

    /// Reads or writes blocks of all files in turn, from their start on.
    ///
    /// It stops after `seconds`, or when `max_bytes` have moved.
    Moved move(Direction direction,
               std::int64_t block_bytes,
               int depth,
               double seconds,
               std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max()) {
        const auto blocks = std::max(file_bytes_ / block_bytes, std::int64_t{1});
        const auto size = std::min(block_bytes, file_bytes_);
        const auto positions = std::ssize(memory_.bytes()) / size;
        AioQueue queue{depth, AioQueue::QueueUse::many};
        std::int64_t moved = 0;
        const auto begin_ns = monotonic_ns();
        for (std::int64_t i = 0; i < blocks * std::ssize(files_) && moved < max_bytes; ++i) {
            if (queue.is_full()) {
                queue.wait();
                if (seconds_between(begin_ns, monotonic_ns()) > seconds) {
                    break;
                }
            }
            auto& file = files_[i % std::ssize(files_)];
            const auto offset = i / std::ssize(files_) * size;
            const auto memory = memory_.bytes().subspan(i % positions * size, size);
            if (direction == Direction::read) {
                queue.read(file, offset, memory, size, 0);
            } else {
                queue.write(file, offset, memory, 0);
            }
            moved += size;
        }
        while (!queue.is_idle()) {
            queue.wait();
        }
        return {moved, seconds_between(begin_ns, monotonic_ns())};
    }

    static constexpr double without_limit = std::numeric_limits<double>::infinity();

  private:
    std::vector<std::string> folders_;
    std::int64_t file_bytes_;
    AlignedBuffer memory_;
    std::vector<DirectFile> files_;
};

double median(std::array<double, probe_rounds> of) {
    std::ranges::sort(of);
    return of[probe_rounds / 2];
}

}  // namespace

Sweep sweep(const SweepOptions& options) {
    ZG_EXPECTS(!options.folders.empty() && !options.block_bytes.empty() && !options.depths.empty());
    Files files{options.folders, options.file_bytes, *std::ranges::max_element(options.block_bytes),
                sweep_memory_bytes};
    files.reserve();
    files.fill();
    Sweep made;
    made.notes = files.notes();
    const auto all = static_cast<int>(options.block_bytes.size() * options.depths.size()) + 1;
    const auto tell = [&] {
        if (options.progress) {
            options.progress(static_cast<int>(made.points.size()), all);
        }
    };
    for (const auto block : options.block_bytes) {
        for (const int depth : options.depths) {
            tell();
            made.points.push_back({block, depth,
                                   files.move(Direction::read, block, depth, options.seconds).rate(),
                                   files.move(Direction::write, block, depth, options.seconds).rate()});
        }
    }
    tell();
    made.best = choose_point(made.points);
    const auto whole = [&](Direction direction) {
        return files.move(direction, made.best.block_bytes, made.best.depth, Files::without_limit).rate();
    };
    made.best.read_rate = whole(Direction::read);
    made.best.write_rate = whole(Direction::write);
    return made;
}

SweepPoint probe(const std::vector<std::string>& folders, std::int64_t block_bytes, int depth) {
    ZG_EXPECTS(!folders.empty());
    SweepPoint found{.block_bytes = std::min(block_bytes, probe_memory_bytes)};
    found.depth = static_cast<int>(std::min<std::int64_t>(depth, probe_memory_bytes / found.block_bytes));
    Files files{folders, probe_file_bytes, found.block_bytes, probe_memory_bytes};
    if (!files.notes().empty()) {
        return found;
    }
    files.reserve();
    std::array<double, probe_rounds> read_rates{}, write_rates{};
    for (std::size_t i = 0; i < probe_rounds; ++i) {
        const auto written = files.move(Direction::write, found.block_bytes, found.depth, probe_seconds);
        write_rates[i] = written.rate();
        read_rates[i] =
            files.move(Direction::read, found.block_bytes, found.depth, probe_seconds, written.bytes).rate();
    }
    if (files.notes().empty()) {
        found.read_rate = median(read_rates);
        found.write_rate = median(write_rates);
    }
    return found;
}

SweepPoint choose_point(const std::vector<SweepPoint>& points) {
    ZG_EXPECTS(!points.empty());
    double best_read = 0;
    double best_write = 0;
    for (const auto& point : points) {
        best_read = std::max(best_read, point.read_rate);
        best_write = std::max(best_write, point.write_rate);
    }
    const auto share = [&](const SweepPoint& point) {
        return std::min(point.read_rate / best_read, point.write_rate / best_write);
    };
    const auto effort = [](const SweepPoint& point) {
        return std::tuple{point.block_bytes * point.depth, point.block_bytes};
    };
    const SweepPoint* chosen = &points.front();
    for (const auto& point : points) {
        const bool is_good = share(point) >= good_enough;
        const bool was_good = share(*chosen) >= good_enough;
        const bool is_better =
            is_good && was_good ? effort(point) < effort(*chosen) : share(point) > share(*chosen);
        chosen = is_better ? &point : chosen;
    }
    return *chosen;
}

}  // namespace ziggurat::storage
