#include "schedule/passes/kv_cache_pass.hpp"

#include <map>
#include <string>
#include <utility>

#include "schedule/residency/move_op.hpp"
#include "schedule/residency/unit_passes.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

class CacheMoves {
  public:
    CacheMoves(Program& program, int prefetch)
        : program_{program}, prefetch_{prefetch}, unit_passes_{program} {}

    void run() {
        for (int i = 0; i < std::ssize(program_.ops); ++i) {
            if (const auto* cache = program_.find_write(program_.ops[i], Role::kv_cache); cache != nullptr) {
                move(i, cache->buffer);
            }
        }
        insert();
    }

  private:
    /// Adds the moves around op `used`, which attends to the cache.
    void move(int used, BufferId home) {
        const BufferId on_device = like(home, Tier::device, " on device");
        const bool is_on_nvme = program_.buffers[home].tier == Tier::nvme;
        const BufferId on_host = is_on_nvme ? like(home, Tier::host, " on host") : home;
        if (is_on_nvme) {
            place(unit_passes_.issued_at(used, 2 * prefetch_), move_op(program_, home, on_host));
        }
        place(unit_passes_.issued_at(used, prefetch_), copy_of_pages(on_host, on_device));
        place(used + 1, copy_of_pages(on_device, on_host));
        if (is_on_nvme) {
            place(used + 1, move_op(program_, on_host, home));
        }
        for (auto* operands : {&program_.ops[used].reads, &program_.ops[used].writes}) {
            for (auto& operand : *operands) {
                operand.buffer = operand.buffer == home ? on_device : operand.buffer;
            }
        }
    }

    Op copy_of_pages(BufferId from, BufferId to) {
        auto op = move_op(program_, from, to);
        op.reads.front().role = op.writes.front().role = Role::kv_cache;
        return op;
    }

    void place(int before, Op op) { in_front_.emplace(before, std::move(op)); }

    BufferId like(BufferId home, Tier tier, const char* what) {
        auto made = program_.buffers[home];
        made.name += what;
        made.tier = tier;
        made.lifetime = Lifetime::transient;
        return program_.add_buffer(std::move(made));
    }

    void insert() {
        std::vector<Op> ops;
        auto next = in_front_.begin();
        for (int i = 0; i <= std::ssize(program_.ops); ++i) {
            for (; next != in_front_.end() && next->first == i; ++next) {
                ops.push_back(std::move(next->second));
            }
            if (i < std::ssize(program_.ops)) {
                ops.push_back(std::move(program_.ops[i]));
            }
        }
        program_.ops = std::move(ops);
    }

    Program& program_;
    int prefetch_;
    UnitPasses unit_passes_;
    std::multimap<int, Op> in_front_;  ///< by the op that they precede; those of one op in their order
};

}  // namespace

void kv_cache_pass(ProgramBuilder& draft, const spec::RunSpec& spec) {
    if (draft.program.variant == Variant::cached && spec.tiers.kv_cache != spec::Tier::device) {
        CacheMoves{draft.program, spec.overlap.prefetch}.run();
    }
}

}  // namespace ziggurat::schedule
