#include "tests/emulated_cuda/block_state.hpp"

#include <mutex>
#include <vector>

namespace emulated_cuda {

constinit thread_local Block* the_block = nullptr;

namespace {

/// Blocks and fibers of threads that have ended, kept for reuse.
struct Spare {
    std::mutex mutex;
    std::vector<Block*> blocks;
};
Spare& spare() {
    static Spare* const blocks = new Spare;
    return *blocks;
}

class TakenBlock {
  public:
    TakenBlock() {
        const Unseen unseen;
        const std::lock_guard lock{spare().mutex};
        if (spare().blocks.empty()) {
            the_block = new Block{};
        } else {
            the_block = spare().blocks.back();
            spare().blocks.pop_back();
        }
        adopt_thread(the_block->own);
    }
    ~TakenBlock() {
        const Unseen unseen;
        const std::lock_guard lock{spare().mutex};
        spare().blocks.push_back(the_block);
        the_block = nullptr;
    }
    TakenBlock(const TakenBlock&) = delete;
    TakenBlock& operator=(const TakenBlock&) = delete;
};

}  // namespace

void take_block() {
    static thread_local const TakenBlock taken;
}

}  // namespace emulated_cuda
