/// Representative layers of a model: some of each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Sample of a model's layers.
///
/// Two layers are of one kind if the same tensors are trained and tiled by the same rules, if their
/// activations have the same fates, and if both or neither are below all trained tensors; in pipelines, also
/// only within one virtual stage. Layers are taken in groups of the size of recomputation. Groups are of one
/// kind if all their layers are. If only some layers have a window, all layers are kept, because a layer's
/// number determines its window.
///
/// The first and the last groups of each kind are kept, because those in the middle equal their neighbours.
class RepresentativeLayers {
  public:
    /// Keeps all layers.
    explicit RepresentativeLayers(const spec::RunSpec& spec);

    /// Keeps `max` layers, or slightly more if there are many kinds: two groups of each.
    ///
    /// Keeps all layers of a pipeline whose layers are not equal.
    RepresentativeLayers(const spec::RunSpec& spec, std::int64_t max);

    /// Returns a sample with one group of each kind.
    static RepresentativeLayers one_of_each(const spec::RunSpec& spec);

    bool is_whole() const noexcept { return is_whole_; }
    /// True if all layers are equal: for the deck's patterns, and in their windows.
    bool are_identical() const noexcept { return are_identical_; }
    std::int64_t size() const noexcept { return std::ssize(layers_); }

    /// Returns `whole` with these layers only; patterns that select layers then name the kept ones.
    spec::RunSpec of(const spec::RunSpec& whole) const;

    /// Returns the kind of a kept layer: the same number in all samples of a run.
    int kind(std::int64_t layer) const { return kinds_.at(layer); }

    /// Returns the number of layers of the whole for each kept layer of this layer's kind.
    double represents(std::int64_t layer) const { return stands_for_.at(layer); }

    /// Returns the layers of the whole that this layer represents, if the first half of a kind represents
    /// all omitted layers, and the other layers represent only themselves.
    double first_half_stands_for(std::int64_t layer) const { return first_half_stands_for_.at(layer); }

  private:
    struct Group {
        std::int64_t first = 0;
        std::int64_t size = 0;
        int kind = 0;          ///< of its first layer; the others have the following numbers
        bool is_full = false;  ///< has the full size of a group of recomputation
    };
    struct Count {
        std::int64_t all = 0;
        std::int64_t kept = 0;
        bool can_shrink = false;
    };

    RepresentativeLayers() = default;
    void find_groups(const spec::RunSpec& spec);
    void renumber_fates(spec::RunSpec& made, const spec::RunSpec& whole) const;
    /// \param max  number of groups, of all kinds of one stage
    void keep(std::int64_t max, std::int64_t stages);

    std::vector<Group> groups_;  ///< of the whole
    int num_kinds_ = 0;
    bool are_identical_ = true;
    bool has_unequal_layers_ = false;
    bool is_whole_ = true;
    std::vector<std::int64_t> layers_;  ///< kept layers, as indices in the whole
    std::vector<int> kinds_;            ///< by kept layer, as the vectors below
    std::vector<double> stands_for_;
    std::vector<double> first_half_stands_for_;
};

/// Returns the ops of the layer with most ops, as a multiple of the ops of an untiled layer.
std::int64_t weight_of_layer(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
