/// Layers of a model that stand for all of them: some of each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Layers are of one kind where the same of their tensors are trained and cut by the same rules, and where
/// both or neither lie below all that is trained; with pipelines, of one virtual stage. They are taken in
/// groups, as many at a time as recomputation takes, which are of one kind where all their layers are.
///
/// The first and the last of each kind are kept: what lies in the middle is like its neighbours.
class LayerSample {
  public:
    /// Keeps all layers.
    explicit LayerSample(const spec::RunSpec& spec);

    /// Keeps `most` layers, or a few more where there are many kinds: two groups of each. Of pipelines whose
    /// layers are not alike, all are kept.
    LayerSample(const spec::RunSpec& spec, std::int64_t most);

    /// One group of each kind.
    static LayerSample one_of_each(const spec::RunSpec& spec);

    bool is_whole() const noexcept { return is_whole_; }
    /// Whether patterns tell no layers apart.
    bool are_alike() const noexcept { return are_alike_; }
    std::int64_t size() const noexcept { return std::ssize(layers_); }

    /// `whole` with these layers alone: patterns that tell layers apart then name those that are kept.
    spec::RunSpec of(const spec::RunSpec& whole) const;

    /// Of a layer that is kept: the same number in all samples of a run.
    int kind(std::int64_t layer) const { return kinds_.at(static_cast<std::size_t>(layer)); }

    /// Layers of the whole for each that is kept of the kind of this one.
    double stands_for(std::int64_t layer) const { return stands_for_.at(static_cast<std::size_t>(layer)); }

    /// Layers of the whole for this one, where the first half of a kind stands for all that is left out, and
    /// the others for themselves.
    double first_half_stands_for(std::int64_t layer) const {
        return first_half_stands_for_.at(static_cast<std::size_t>(layer));
    }

  private:
    struct Group {
        std::int64_t first = 0;
        std::int64_t size = 0;
        int kind = 0;          ///< of its first layer; the others have the numbers behind it
        bool is_full = false;  ///< as large as recomputation takes them
    };
    struct Count {
        std::int64_t all = 0;
        std::int64_t kept = 0;
        bool can_shrink = false;
    };

    LayerSample() = default;
    void find_groups(const spec::RunSpec& spec);
    /// \param most  groups, of all kinds of one stage
    void keep(std::int64_t most, std::int64_t stages);

    std::vector<Group> groups_;  ///< of the whole
    int num_kinds_ = 0;
    bool are_alike_ = true;
    bool is_whole_ = true;
    std::vector<std::int64_t> layers_;  ///< of the whole: those that are kept
    std::vector<int> kinds_;            ///< by layer that is kept; so the others
    std::vector<double> stands_for_;
    std::vector<double> first_half_stands_for_;
};

/// How many layers without tiles have as many ops as the one with most.
std::int64_t weight_of_layer(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
