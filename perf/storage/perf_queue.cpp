/// The queue that moves state to and from disks, against fio with the same engine, block, depth and
/// file.
///
///   perf_queue [--dir .] [--gib 2] [--rounds 12] [--block-kib 1024] [--depth 32]
///
/// One file, written completely before, is read and written whole alternately: by AioQueue, by a
/// TransferThread without and with checksums, and by `fio --ioengine=libaio --direct=1`. Each has the same
/// memory in flight as fio: `depth` blocks; the threads have twice that. Prints one JSON line per
/// measurement and one with the medians of each method: `ratio` is Ziggurat's over fio's. The data read is
/// compared with the data written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "perf/options.hpp"
#include "storage/aio_queue.hpp"
#include "storage/checksum_table.hpp"
#include "storage/transfer_thread.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ziggurat;
using storage::TransferKind;

struct Choice {
    std::string dir = ".";
    double gib = 2;
    int rounds = 12;
    std::int64_t block_kib = 1024;
    int depth = 32;

    std::int64_t block() const { return block_kib << 10; }
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(gib * static_cast<double>(std::int64_t{1} << 30)) / block() *
               block();
    }
};

Choice parse(int argc, char** argv) {
    Choice choice;
    perf::Options options{"Times the queue of NVMe transfers beside fio."};
    options.add("--dir", choice.dir, {}, "where to write, on the disk to be measured");
    options.add("--gib", choice.gib, perf::between(0.05, 1000.0));
    options.add("--rounds", choice.rounds, perf::between(1, 1000));
    options.add("--block-kib", choice.block_kib, perf::between(4, 1 << 20));
    options.add("--depth", choice.depth, perf::between(1, 1024));
    options.read_or_exit(argc, argv);
    return choice;
}

/// Writes the offset at the begin and the end of a block.
void stamp(std::span<std::byte> block, std::int64_t offset) {
    std::memcpy(block.data(), &offset, sizeof offset);
    std::memcpy(block.data() + block.size() - sizeof offset, &offset, sizeof offset);
}

bool is_stamped(std::span<const std::byte> block, std::int64_t offset) {
    return std::memcmp(block.data(), &offset, sizeof offset) == 0 &&
           std::memcmp(block.data() + block.size() - sizeof offset, &offset, sizeof offset) == 0;
}

class Bench {
  public:
    explicit Bench(const Choice& choice)
        : choice_{choice},
          path_{choice.dir + "/perf-queue." + std::to_string(::getpid())},
          file_{storage::DirectFile::create(path_)},
          memory_{2 * choice.depth * choice.block()},
          records_{choice.bytes(), {}, choice.block()} {
        std::uint64_t state = 1;
        for (std::size_t k = 0; k + 8 <= memory_.bytes().size(); k += 8) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            std::memcpy(memory_.bytes().data() + k, &state, 8);
        }
        file_.reserve(choice.bytes());
        by_queue(TransferKind::write);
        by_thread(TransferKind::write, true);
    }
    ~Bench() { fs::remove(path_); }

    bool is_right() const noexcept { return is_right_; }

    double by_queue(TransferKind kind) {
        storage::AioQueue queue{choice_.depth, storage::AioQueue::QueueUse::many};
        std::vector<std::int64_t> offsets(static_cast<std::size_t>(choice_.depth));
        const auto begin_ns = monotonic_ns();
        const auto end = [&](std::size_t slot) {
            const auto memory = slot_memory(static_cast<std::int64_t>(slot));
            is_right_ = is_right_ && (kind == TransferKind::write || is_stamped(memory, offsets[slot]));
        };
        std::size_t free_slot = 0;
        for (std::int64_t offset = 0; offset < choice_.bytes(); offset += choice_.block()) {
            if (queue.is_full()) {
                free_slot = queue.wait();
                end(free_slot);
            }
            const auto slot = free_slot++;
            const auto memory = slot_memory(static_cast<std::int64_t>(slot));
            offsets[slot] = offset;
            if (kind == TransferKind::read) {
                queue.read(file_, offset, memory, choice_.block(), slot);
            } else {
                stamp(memory, offset);
                queue.write(file_, offset, memory, slot);
            }
        }
        while (!queue.is_idle()) {
            end(queue.wait());
        }
        return seconds_between(begin_ns, monotonic_ns());
    }

    /// Returns the seconds of transfers of `depth` blocks, two in flight, as state moves in a training.
    double by_thread(TransferKind kind, bool is_checked) {
        storage::TransferThread thread{{.depth = choice_.depth, .block_bytes = choice_.block()}};
        const auto of_each = choice_.depth * choice_.block();
        std::vector<int> transfers;
        for (std::int64_t offset = 0; offset < choice_.bytes(); offset += of_each) {
            const auto half = std::ssize(transfers) % 2 * of_each;
            transfers.push_back(thread.add(kind, {{&file_, offset, memory_.bytes().data() + half,
                                                   std::min(of_each, choice_.bytes() - offset),
                                                   is_checked ? &records_ : nullptr, offset}}));
        }
        const auto begin_ns = monotonic_ns();
        for (std::size_t i = 0; i < transfers.size() + 2; ++i) {
            while (i >= 2 && !thread.is_done(transfers[i - 2])) {
                ::usleep(20);
            }
            if (i < transfers.size()) {
                thread.start(transfers[i]);
            }
        }
        return seconds_between(begin_ns, monotonic_ns());
    }

    /// Returns the seconds of fio; empty if fio is not installed.
    std::optional<double> by_fio(TransferKind kind) const {
        const auto command = fmt::format(
            "fio --name=peer --filename='{}' --ioengine=libaio --direct=1 --rw={} --bs={} --iodepth={} "
            "--size={} "
            "--overwrite=1 --output-format=json 2>/dev/null",
            path_, name_of(kind), choice_.block(), choice_.depth, choice_.bytes());
        std::FILE* pipe = ::popen(command.c_str(), "r");
        std::string text;
        for (char part[4096]; pipe != nullptr;) {
            const auto size = std::fread(part, 1, sizeof part, pipe);
            text.append(part, size);
            if (size == 0) {
                break;
            }
        }
        if (pipe == nullptr || ::pclose(pipe) != 0) {
            return std::nullopt;
        }
        const auto job = nlohmann::json::parse(text).at("jobs").at(0).at(name_of(kind));
        return static_cast<double>(choice_.bytes()) / job.at("bw_bytes").get<double>();
    }

    static const char* name_of(TransferKind kind) { return kind == TransferKind::read ? "read" : "write"; }

  private:
    std::span<std::byte> slot_memory(std::int64_t slot) const {
        return memory_.bytes().subspan(static_cast<std::size_t>(slot * choice_.block()),
                                       static_cast<std::size_t>(choice_.block()));
    }

    Choice choice_;
    std::string path_;
    storage::DirectFile file_;
    storage::AlignedBuffer memory_;
    storage::ChecksumTable records_;
    bool is_right_ = true;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

using Times = std::map<std::string, std::vector<double>>;

/// Runs one round of one kind with all methods, starting with a different one each round.
void measure(Bench& bench, TransferKind kind, int round, Times& times) {
    const std::vector<std::pair<std::string, std::function<std::optional<double>()>>> ways{
        {"queue", [&] { return std::optional{bench.by_queue(kind)}; }},
        {"fio", [&] { return bench.by_fio(kind); }},
        {"thread", [&] { return std::optional{bench.by_thread(kind, false)}; }},
        {"checked", [&] { return std::optional{bench.by_thread(kind, true)}; }}};
    for (std::size_t k = 0; k < ways.size(); ++k) {
        const auto& [name, run] = ways[(k + static_cast<std::size_t>(round)) % ways.size()];
        if (kind == TransferKind::read) {
            // Each method reads data written just before, with stamps or checksums.
            name == "checked" ? bench.by_thread(TransferKind::write, true)
                              : bench.by_queue(TransferKind::write);
        }
        if (const auto seconds = run()) {
            times[name].push_back(*seconds);
        }
    }
}

void print(const Choice& choice, TransferKind kind, const Times& times, bool is_right) {
    const auto rate = [&](const std::string& direction) {
        return times.contains(direction)
                   ? static_cast<double>(choice.bytes()) / median(times.at(direction)) * 1e-9
                   : 0.0;
    };
    for (const auto& [direction, seconds] : times) {
        nlohmann::json line{{"measurement", "nvme_queue"},
                            {"kind", Bench::name_of(kind)},
                            {"way", direction},
                            {"block_bytes", choice.block()},
                            {"depth", choice.depth},
                            {"bytes", choice.bytes()},
                            {"rounds", seconds.size()},
                            {"seconds", median(seconds)},
                            {"least", *std::ranges::min_element(seconds)},
                            {"gb_per_s", rate(direction)},
                            {"is_right", is_right}};
        if (direction != "fio" && times.contains("fio")) {
            line["fio_gb_per_s"] = rate("fio");
            line["ratio"] = rate(direction) / rate("fio");
        }
        fmt::print("{}\n", line.dump());
    }
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const Choice choice = parse(argc, argv);
    try {
        Bench bench{choice};
        for (const auto kind : {TransferKind::read, TransferKind::write}) {
            Times times;
            for (int round = 0; round < choice.rounds; ++round) {
                measure(bench, kind, round, times);
            }
            if (!times.contains("fio")) {
                fmt::print(stderr, "perf_queue: there is no fio to compare with (apt-get install fio).\n");
            }
            print(choice, kind, times, bench.is_right());
        }
        return bench.is_right() ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "perf_queue: {}\n", error.what());
        return 1;
    }
}
