#include "comm/watch/node_status_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::comm {
namespace {

/// Number of polls for the text of a verdict after its author has claimed it.
constexpr int verdict_tries = 100;
constexpr auto verdict_pause = std::chrono::milliseconds{1};

std::size_t bytes_of(int num_lines) {
    return sizeof(BoardHeader) + static_cast<std::size_t>(num_lines) * sizeof(RankStatus);
}

}  // namespace

NodeStatusBoard::NodeStatusBoard(FileHandle descriptor, void* memory, int num_lines) noexcept
    : descriptor_{std::move(descriptor)}, memory_{memory}, num_lines_{num_lines} {}

NodeStatusBoard::NodeStatusBoard(NodeStatusBoard&& other) noexcept
    : descriptor_{std::move(other.descriptor_)},
      memory_{std::exchange(other.memory_, nullptr)},
      num_lines_{other.num_lines_} {}

NodeStatusBoard::~NodeStatusBoard() {
    if (memory_ != nullptr) {
        munmap(memory_, bytes_of(num_lines_));
    }
}

NodeStatusBoard NodeStatusBoard::create(int num_lines) {
    ZG_EXPECTS(num_lines >= 1);
    const std::size_t bytes = bytes_of(num_lines);
    FileHandle descriptor{memfd_create("ziggurat-board", MFD_CLOEXEC)};
    if (descriptor && ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) {
        descriptor = {};
    }
    // New memory is zeroed, which is a valid initial board: every rank works and none waits.
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        descriptor ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, descriptor.get(), 0);
    if (memory == MAP_FAILED) {
        throw Error{ErrorKind::resource,
                    "cannot map " + std::to_string(bytes) + " bytes shared by the ranks of this node (" +
                        std::strerror(errno) + "). Free memory, or start fewer ranks here."};
    }
    return {std::move(descriptor), memory, num_lines};
}

std::optional<NodeStatusBoard> NodeStatusBoard::open(pid_t pid, int descriptor, int num_lines) {
    const auto path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
    const FileHandle theirs{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    if (!theirs) {
        return std::nullopt;
    }
    void* memory = mmap(nullptr, bytes_of(num_lines), PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0);
    if (memory == MAP_FAILED) {
        return std::nullopt;
    }
    return NodeStatusBoard{FileHandle{}, memory, num_lines};
}

bool NodeStatusBoard::claim_verdict(const AbortReason& verdict) const {
    auto& shared = head().verdict;
    std::int32_t nobody = 0;
    if (!shared.author.compare_exchange_strong(nobody, verdict.author + 1)) {
        return false;
    }
    shared.culprit = verdict.culprit + 1;
    shared.exit_code = verdict.exit_code;
    shared.reason.store(verdict.reason);
    shared.is_written.store(1, std::memory_order_release);
    return true;
}

std::optional<AbortReason> NodeStatusBoard::verdict() const {
    const auto& shared = head().verdict;
    for (int i = 0; i < verdict_tries && shared.author.load() != 0; ++i) {
        if (shared.is_written.load(std::memory_order_acquire) != 0) {
            return AbortReason{shared.author - 1, shared.culprit - 1, shared.exit_code, shared.reason.load()};
        }
        std::this_thread::sleep_for(verdict_pause);
    }
    return std::nullopt;
}

RankStatus& NodeStatusBoard::line(int index) const noexcept {
    auto* const lines = reinterpret_cast<RankStatus*>(static_cast<char*>(memory_) + sizeof(BoardHeader));
    return lines[index];
}

}  // namespace ziggurat::comm
