/// Marks of layers: the rules of the deck that apply to their tensors and values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the names of one layer's tensors, without the name of the layer.
std::vector<std::string> names_after_layer(const spec::Model& model);

/// Returns the names of one layer's values, without the name of the layer.
std::vector<std::string> values_after_layer(const spec::Model& model);

/// Returns the names of the tensors outside of layers: of the embedding and of the head.
std::vector<std::string> names_outside_layers(const spec::Model& model);

/// True if a pattern may match tensors of some layers only.
///
/// Names of layers differ only in digits. A pattern without digits and `?` matches the same tensors of all
/// layers.
bool may_distinguish_layers(std::string_view pattern);

/// Results of the patterns for the tensors and values of a layer.
class LayerMarks {
  public:
    explicit LayerMarks(const spec::RunSpec& spec);

    /// Returns, by tensor, two times the index of its first rule, plus one if the tensor is trained.
    ///
    /// Two times the number of the fate of each value follows.
    std::vector<int> of(std::int64_t layer) const { return distinguishes_ ? found_for(layer) : of_first_; }

    static bool is_any_trained(const std::vector<int>& marks);

  private:
    std::vector<int> found_for(std::int64_t layer) const;

    const spec::RunSpec& spec_;
    std::vector<std::string> names_;
    std::vector<std::string> values_;
    std::vector<int> of_first_;
    bool distinguishes_ = false;
};

/// Returns the first layer that runs backward: the number of layers if no layer does, 0 if all do.
std::int64_t first_layer_with_backward(const spec::RunSpec& spec, const LayerMarks& marks);

/// Returns a number for each layer; layers of one number have equal marks and equal passes.
///
/// Passes are forward only, or also backward with or without the gradient of the layer's input.
std::vector<int> kinds_of_layers(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
